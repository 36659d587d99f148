"""A server's branch without a clone: a temporary bare repository, a URL, and credentials that nobody else sees."""

import base64
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from urllib.parse import urlsplit

from render.errors import InvalidInput
from render.git.objects import temporary_folder
from render.git.remotes import Remote, list_refs
from render.git.repository import Repository
from render.limits import Limits
from render.registry.deadline import Deadline
from render.texts import hides_something

# The name under which the temporary repository knows the server.
REMOTE = "xplock-server"

_HEADER = "XPLOCK_GIT_HEADER"
# As https://, ssh:// and file:// are written, and the short form of ssh; `ext::` and the like are programs.
_URL = re.compile(r"(?:https|ssh|file)://[^\s?#]+|(?!-)[\w.-]+(?:@[\w.-]+)?:(?!:|//)[^\s?#]+")
_SHA256_DIGITS = 64


class InvalidUrl(InvalidInput):
    """A URL that no repository is fetched from."""

    def __init__(self, url: str, why: str) -> None:
        super().__init__(
            f"{url} is not used", why=why, next="write it like https://git.example.org/team/platform.git"
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


class Server(NamedTuple):
    """A repository that stands between us and a server, and the branch there."""

    repository: Repository
    remote: Remote


@contextmanager
def open_server(
    url: str, branch: str, *, limits: Limits, token: Token | None = None, deadline: Deadline | None = None
) -> Iterator[Server]:
    """Make a repository that holds nothing yet and knows one server; it is gone afterwards."""
    check_url(url)
    with temporary_folder() as folder:
        made = Repository(folder, limits, url, ("-c", f"remote.{REMOTE}.url={url}"), deadline=deadline)
        made = _with_token(made, url, token) if token else made
        _initialise(made, branch)
        yield Server(made, Remote(REMOTE, branch))


def check_url(url: str) -> None:
    """Refuse a URL that is not one, or that has a secret in it: commands and errors would show it."""
    if hides_something(url) or not _URL.fullmatch(url):
        raise InvalidUrl(url, "it is not an https, ssh or file URL without a query")
    if "://" in url and urlsplit(url).password is not None:
        raise InvalidUrl(url, "it holds a password, which others could see")


def _with_token(repository: Repository, url: str, token: Token) -> Repository:
    parts = urlsplit(url)
    if parts.scheme != "https":
        raise InvalidUrl(url, "a token is sent over https only")
    # For this server alone, and never to where it might send us.
    key = f"http.https://{parts.netloc.rpartition('@')[2]}/.extraHeader"
    options = (f"--config-env={key}={_HEADER}", "-c", "http.followRedirects=false")
    return replace(
        repository,
        options=(*repository.options, *options),
        secrets={_HEADER: token.header},
        hidden=(token.secret, token.header.rpartition(" ")[2]),
    )


def _initialise(repository: Repository, branch: str) -> None:
    """Make the repository, with the hash that the server uses."""
    above = {"GIT_CEILING_DIRECTORIES": str(repository.root.parent)}
    ids = list_refs(repository, REMOTE, "HEAD", f"refs/heads/{branch}", environment=above).values()
    form = "sha256" if any(len(commit) == _SHA256_DIGITS for commit in ids) else "sha1"
    repository.run("init", "--quiet", "--bare", "--template=", f"--object-format={form}", environment=above)
