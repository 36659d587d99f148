"""A token for one server: sent in a header that git has from its environment, and seen by nobody else."""

import base64
import re
import ssl
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from render.errors import InvalidInput
from render.git.failures import GitFailed
from render.git.repository import Repository, list_configuration, read_configuration
from render.limits import LimitExceeded, Limits
from render.system.files import InvalidFile, read_mounted, read_plain
from render.system.scratch import writing
from render.texts import hides_something

_FILE = "XPLOCK_GIT_TOKEN_FILE"
_HEADER = "XPLOCK_GIT_HEADER"
# Whoever has a token is let in by it or not at all: nobody else is asked, and nobody else sees the header.
_NOBODY_ELSE = ("-c", "credential.helper=", "-c", "http.followRedirects=false")


class NoToken(InvalidInput):
    """A file that should hold a token and does not."""

    def __init__(self) -> None:
        super().__init__(
            f"the file that {_FILE} names holds no token",
            why="it is missing or empty, or holds more than one line of text",
            next=f"put the token there; or unset {_FILE}, where git's own configuration lets it in",
        )


@dataclass(frozen=True, slots=True)
class Token:
    """What a server lets in over https, for one user name; those who take tokens mostly accept any."""

    secret: str = field(repr=False)
    user: str = "x-access-token"

    @property
    def header(self) -> str:
        """The header that carries it."""
        return "Authorization: Basic " + base64.b64encode(f"{self.user}:{self.secret}".encode()).decode()


def read_token(environ: Mapping[str, str], urls: Sequence[str], limits: Limits) -> Token | None:
    """Return the operator's token, if all URLs are one https server's; elsewhere git's own configuration lets us in."""
    servers = {_server(url) for url in urls}
    if not environ.get(_FILE) or len(servers) != 1 or not servers.pop().startswith("https://"):
        return None
    try:
        text = read_mounted(environ, _FILE, "git_token_bytes", limits).decode().strip()
    except ValueError:
        text = ""
    if not text or hides_something(text):
        raise NoToken
    return Token(text)


def with_token(repository: Repository, url: str, token: Token) -> Repository:
    """Let git send the token to the server of a URL alone, and never to where that might send us."""
    return replace(
        repository,
        options=(
            *repository.options,
            f"--config-env=http.{_server(url)}/.extraHeader={_HEADER}",
            *_NOBODY_ELSE,
        ),
        secrets={**repository.secrets, _HEADER: token.header, "GIT_ASKPASS": ""},
        hidden=(*repository.hidden, token.secret, token.header.rpartition(" ")[2]),
    )


def _server(url: str) -> str:
    """Return the scheme and the host of a URL, without a user's name; nothing, if it is not one."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


# What scratch folders for git hold.
FILES = "git's files"

_VARIABLE = "XPLOCK_CA_BUNDLE"
_AUTHORITIES_FILE = "xplock-authorities.pem"
_CERTIFICATE = b"-----BEGIN CERTIFICATE-----"


class NoCertificates(InvalidInput):
    """A file that should hold certificates and does not."""

    def __init__(self) -> None:
        super().__init__(
            f"the file that {_VARIABLE} names holds no certificates",
            why="it is missing, or not in the form that begins with -----BEGIN CERTIFICATE-----",
            next=f"put them there; or unset {_VARIABLE}, where the usual authorities are enough",
        )


def read_authorities(environ: Mapping[str, str], limits: Limits) -> bytes | None:
    """Return the operator's certificate authorities, if there are any."""
    if not environ.get(_VARIABLE):
        return None
    data = read_mounted(environ, _VARIABLE, "authorities_bytes", limits)
    if _CERTIFICATE not in data:
        raise NoCertificates
    return data


def with_authorities(
    repository: Repository,
    authorities: bytes,
    folder: Path,
    environment: Mapping[str, str] | None = None,
) -> Repository:
    """Let git trust authorities besides the usual ones, by a file in a folder that is gone later."""
    if "http.sslcainfo" in read_configuration(repository, environment):
        return repository
    known = ssl.get_default_verify_paths()
    usual = [_read_usual(Path(known.cafile), repository)] if known.cafile else []
    file = folder / _AUTHORITIES_FILE
    with writing(FILES):
        file.write_bytes(b"\n".join([*usual, authorities]))
    more = ("-c", f"http.sslCAPath={known.capath}") if known.capath else ()
    return replace(repository, options=(*repository.options, "-c", f"http.sslCAInfo={file}", *more))


def _read_usual(file: Path, repository: Repository) -> bytes:
    """Return the certificate authorities that Python trusts: those in SSL_CERT_FILE, or else the machine's."""
    limits = repository.limits
    try:
        data = read_plain(file.resolve(), limits.authorities_bytes)
    except InvalidFile as error:
        why = f"the usual certificate authorities cannot be read: {error.why[0]}"
        raise GitFailed(repository.where, why, next="check SSL_CERT_FILE") from None
    if data is None:
        raise LimitExceeded("the usual certificate authorities are too large", "authorities_bytes", limits)
    return data


# As in `render.texts`, which stars what is written as a URL.
_URL = re.compile(r"(?i)\b([a-z][a-z0-9+.-]{0,30})://(?:([^\s/?#]*)@)?[^\s?#]*(?:\?(\S*))?")
# Shorter ones would be found everywhere, and protect nothing; nor would a header's words like Bearer.
_SHORTEST, _SHORTEST_WORD = 4, 8


def hide_secrets(repository: Repository, *, environment: Mapping[str, str] | None = None) -> Repository:
    """Return the repository with everything in its configuration marked that nobody may see."""
    settings = list_configuration(repository, environment)
    found = {secret for key, value in settings for secret in _find(key, value)}
    every = found | {unquote(secret) for secret in found}
    # The longest first: one may be a part of another.
    hidden = sorted(
        (secret for secret in every if len(secret) >= _SHORTEST), key=lambda text: (-len(text), text)
    )
    return replace(repository, hidden=(*repository.hidden, *hidden))


def _find(key: str, value: str) -> Iterator[str]:
    if key.endswith(".extraheader"):
        yield from _find_in_header(value)
    for scheme, user, query in _URL.findall(f"{key}\n{value}"):
        name, _, password = user.partition(":")
        yield password
        # A token may stand in the user's place, but for ssh, where that is a name. The server sees both encoded.
        if name and scheme.lower() == "https":
            yield from (name, b64encode(f"{unquote(name)}:{unquote(password)}".encode()).decode())
        yield from (part.partition("=")[2] for part in query.split("&"))


def _find_in_header(header: str) -> Iterator[str]:
    name, colon, value = header.partition(":")
    said = (value if colon else name).strip()
    *others, last = said.split() or [""]
    yield from (said, last, *(word for word in others if len(word) >= _SHORTEST_WORD))
    # A server knows what is meant, and may say that.
    user, _, password = _decode(last).partition(":")
    yield from (f"{user}:{password}", password) if password else ()


def _decode(word: str) -> str:
    try:
        return b64decode(word, validate=True).decode()
    except ValueError:
        return ""
