"""A server's branch without a clone: a temporary bare repository, a URL, and credentials that nobody else sees."""

import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from render.deadline import Deadline
from render.errors import InvalidInput
from render.files import InvalidFile, read_plain
from render.git.failures import GitFailed
from render.git.remotes import Remote, list_refs
from render.git.repository import Repository, read_configuration
from render.git.secrets import hide_secrets
from render.git.tokens import Token, with_token
from render.limits import LimitExceeded, Limits
from render.scratch import scratch_folder, writing
from render.texts import hides_something

# The name under which the temporary repository knows the server.
REMOTE = "xplock-server"

_FILES = "git's files"
_AUTHORITIES = "xplock-authorities.pem"
# As https://, ssh:// and file:// are written, and the short form of ssh; `ext::` and the like are programs.
_URL = re.compile(r"(?:https|ssh|file)://[^\s?#]+|(?!-)[\w.-]+(?:@[\w.-]+)?:(?!:|//)[^\s?#]+")
_SHA256_DIGITS = 64


class InvalidUrl(InvalidInput):
    """A URL that no repository is fetched from."""

    def __init__(self, url: str, why: str) -> None:
        super().__init__(
            f"{url} is not used", why=why, next="write it like https://git.example.org/team/platform.git"
        )


class Server(NamedTuple):
    """A repository that stands between us and a server, and the branch there."""

    repository: Repository
    remote: Remote


@contextmanager
def open_server(
    url: str,
    branch: str,
    *,
    limits: Limits,
    token: Token | None = None,
    authorities: bytes | None = None,
    deadline: Deadline | None = None,
) -> Iterator[Server]:
    """Make a repository that holds nothing yet and knows one server; it is gone afterwards."""
    check_url(url)
    with scratch_folder(_FILES) as folder:
        made = Repository(folder, limits, url, ("-c", f"remote.{REMOTE}.url={url}"), deadline=deadline)
        made = made if authorities is None else _with_authorities(made, authorities)
        made = _with_token(made, url, token) if token else made
        # Before the first word of the server's, which may repeat what it was told.
        made = hide_secrets(made, environment=_no_repository_above(made))
        _initialise(made, branch)
        yield Server(made, Remote(REMOTE, branch))


def check_url(url: str) -> None:
    """Refuse a URL that is not one, or that has a secret in it: commands and errors would show it."""
    if hides_something(url) or not _URL.fullmatch(url):
        raise InvalidUrl(url, "it is not an https, ssh or file URL without a query")
    if "://" in url and urlsplit(url).password is not None:
        raise InvalidUrl(url, "it holds a password, which others could see")


def _with_token(repository: Repository, url: str, token: Token) -> Repository:
    if urlsplit(url).scheme != "https":
        raise InvalidUrl(url, "a token is sent over https only")
    return with_token(repository, url, token)


def _with_authorities(repository: Repository, authorities: bytes) -> Repository:
    """Trust the operator's certificate authorities besides the machine's, unless git is told whom to trust."""
    if "http.sslcainfo" in read_configuration(repository, environment=_no_repository_above(repository)):
        return repository
    known = ssl.get_default_verify_paths()
    usual = [_read_usual(Path(known.cafile), repository)] if known.cafile else []
    file = repository.root / _AUTHORITIES
    with writing(_FILES):
        file.write_bytes(b"\n".join([*usual, authorities]))
    folder = ("-c", f"http.sslCAPath={known.capath}") if known.capath else ()
    return replace(repository, options=(*repository.options, "-c", f"http.sslCAInfo={file}", *folder))


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


def _no_repository_above(repository: Repository) -> dict[str, str]:
    """Return what keeps git from looking for a repository above one that is not there yet."""
    return {"GIT_CEILING_DIRECTORIES": str(repository.root.parent)}


def _initialise(repository: Repository, branch: str) -> None:
    """Make the repository, with the hash that the server uses."""
    alone = _no_repository_above(repository)
    ids = list_refs(repository, REMOTE, "HEAD", f"refs/heads/{branch}", environment=alone).values()
    form = "sha256" if any(len(commit) == _SHA256_DIGITS for commit in ids) else "sha1"
    repository.run("init", "--quiet", "--bare", "--template=", f"--object-format={form}", environment=alone)
