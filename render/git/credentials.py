"""Credentials for git: the operator's token and certificate authorities, and secrets that errors must not show.

The token goes to one server only, in a header that git reads from its environment.
"""

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
from render.system.boundary import real_path
from render.system.files import InvalidFile, read_mounted, read_plain
from render.system.scratch import writing
from render.texts import hides_something

_FILE = "XPLOCK_GIT_TOKEN_FILE"
_HEADER = "XPLOCK_GIT_HEADER"
# With a token, no credential helper is asked, and no redirect gets the header.
_ONLY_THE_TOKEN = ("-c", "credential.helper=", "-c", "http.followRedirects=false")


class InvalidTokenFile(InvalidInput):
    """A token file without a token."""

    def __init__(self) -> None:
        super().__init__(
            f"the file in {_FILE} contains no token",
            why="it is missing or empty, or has more than one line",
            next=f"put the token there; or unset {_FILE} if git's own configuration has credentials",
        )


@dataclass(frozen=True, slots=True)
class Token:
    """A token for https; most servers accept any user name with it."""

    secret: str = field(repr=False)
    user: str = "x-access-token"

    @property
    def header(self) -> str:
        """The HTTP header with the token."""
        return "Authorization: Basic " + base64.b64encode(f"{self.user}:{self.secret}".encode()).decode()


def read_token(environ: Mapping[str, str], urls: Sequence[str], limits: Limits) -> Token | None:
    """Return the operator's token if all URLs are of one https server; others use git's own configuration."""
    servers = {_server(url) for url in urls}
    if not environ.get(_FILE) or len(servers) != 1 or not servers.pop().startswith("https://"):
        return None
    try:
        text = read_mounted(environ, _FILE, "git_token_bytes", limits).decode().strip()
    except ValueError:
        text = ""
    if not text or hides_something(text):
        raise InvalidTokenFile
    return Token(text)


def with_token(repository: Repository, url: str, token: Token) -> Repository:
    """Make git send the token to the server of a URL, and to no other one."""
    return replace(
        repository,
        options=(
            *repository.options,
            f"--config-env=http.{_server(url)}/.extraHeader={_HEADER}",
            *_ONLY_THE_TOKEN,
        ),
        secrets={**repository.secrets, _HEADER: token.header, "GIT_ASKPASS": ""},
        hidden=(*repository.hidden, token.secret, token.header.rpartition(" ")[2]),
    )


def _server(url: str) -> str:
    """Return scheme and host of a URL without user info, or an empty text for an invalid URL."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


# The content of scratch folders for git, as errors call it.
FILES = "git's files"

_VARIABLE = "XPLOCK_CA_BUNDLE"
_AUTHORITIES_FILE = "xplock-authorities.pem"
_CERTIFICATE = b"-----BEGIN CERTIFICATE-----"


class InvalidAuthoritiesFile(InvalidInput):
    """A certificate file without certificates."""

    def __init__(self) -> None:
        super().__init__(
            f"the file in {_VARIABLE} contains no certificates",
            why="it is missing, or not in PEM format (-----BEGIN CERTIFICATE-----)",
            next=f"put them there; or unset {_VARIABLE} if the system's authorities are enough",
        )


def read_authorities(environ: Mapping[str, str], limits: Limits) -> bytes | None:
    """Return the operator's certificate authorities, or None if none are configured."""
    if not environ.get(_VARIABLE):
        return None
    data = read_mounted(environ, _VARIABLE, "authorities_bytes", limits)
    if _CERTIFICATE not in data:
        raise InvalidAuthoritiesFile
    return data


def with_authorities(
    repository: Repository,
    authorities: bytes,
    folder: Path,
    environment: Mapping[str, str] | None = None,
) -> Repository:
    """Make git trust these authorities besides the system's, by a file in a temporary folder."""
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
    """Return the certificate authorities that Python trusts: those in SSL_CERT_FILE, or the system's."""
    limits = repository.limits
    try:
        data = read_plain(real_path(file), limits.authorities_bytes)
    except InvalidFile as error:
        why = f"the system's certificate authorities cannot be read: {error.why[0]}"
        raise GitFailed(repository.where, why, next="check SSL_CERT_FILE") from None
    if data is None:
        raise LimitExceeded("the system's certificate authorities are too large", "authorities_bytes", limits)
    return data


# As in `render.texts`, which masks credentials in URLs.
_URL = re.compile(r"(?i)\b([a-z][a-z0-9+.-]{0,30})://(?:([^\s/?#]*)@)?[^\s?#]*(?:\?(\S*))?")
# Shorter texts would match everywhere, as would words of a header such as Bearer.
_SHORTEST, _SHORTEST_WORD = 4, 8


def hide_secrets(repository: Repository, *, environment: Mapping[str, str] | None = None) -> Repository:
    """Return the repository with all secrets of its configuration added to the hidden texts."""
    settings = list_configuration(repository, environment)
    found = {secret for key, value in settings for secret in _find_secrets(key, value)}
    every = found | {unquote(secret) for secret in found}
    # The longest first, since one may contain another.
    hidden = sorted(
        (secret for secret in every if len(secret) >= _SHORTEST), key=lambda text: (-len(text), text)
    )
    return replace(repository, hidden=(*repository.hidden, *hidden))


def _find_secrets(key: str, value: str) -> Iterator[str]:
    if key.endswith(".extraheader"):
        yield from _find_secrets_in_header(value)
    for scheme, user, query in _URL.findall(f"{key}\n{value}"):
        name, _, password = user.partition(":")
        yield password
        # The user part may be a token, except with ssh. The server gets both parts base64-encoded.
        if name and scheme.lower() == "https":
            yield from (name, b64encode(f"{unquote(name)}:{unquote(password)}".encode()).decode())
        yield from (part.partition("=")[2] for part in query.split("&"))


def _find_secrets_in_header(header: str) -> Iterator[str]:
    name, colon, value = header.partition(":")
    content = (value if colon else name).strip()
    *others, last = content.split() or [""]
    yield from (content, last, *(word for word in others if len(word) >= _SHORTEST_WORD))
    # The server decodes base64, and may print the result.
    user, _, password = _decode(last).partition(":")
    yield from (f"{user}:{password}", password) if password else ()


def _decode(word: str) -> str:
    try:
        return b64decode(word, validate=True).decode()
    except ValueError:
        return ""
