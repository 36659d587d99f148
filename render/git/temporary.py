"""A temporary bare repository for one branch of a server, with credentials for that server alone."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import urlsplit

from render.errors import InvalidInput
from render.git.credentials import FILES, Token, hide_secrets, with_authorities, with_token
from render.git.remotes import Remote, list_refs
from render.git.repository import Repository
from render.limits import Limits
from render.system.deadline import Deadline
from render.system.scratch import scratch_folder
from render.texts import hides_something

# The name of the server's remote in the temporary repository.
REMOTE = "xplock-server"

# https://, ssh://, file:// and the short form of ssh; `ext::` and the like would run programs.
_URL = re.compile(r"(?:https|ssh|file)://[^\s?#]+|(?!-)[\w.-]+(?:@[\w.-]+)?:(?!:|//)[^\s?#]+")
_SHA256_DIGITS = 64
# Large blobs go through git in small pieces and are never unpacked into loose objects.
_SMALL_MEMORY = ("-c", "core.bigFileThreshold=1m", "-c", "fetch.unpackLimit=1")
# A user's setting may forbid bare repositories, which others could have planted; this one is our own.
_TRUSTED = ("-c", "safe.bareRepository=all")


class InvalidUrl(InvalidInput):
    """A URL that cannot be used for a repository."""

    def __init__(self, url: str, why: str) -> None:
        super().__init__(
            f"{url} is not used", why=why, next="use a URL such as https://git.example.org/team/platform.git"
        )


class Server(NamedTuple):
    """The temporary repository, and the branch on the server."""

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
    """Make an empty repository with one remote, and remove it afterwards."""
    check_url(url)
    with scratch_folder(FILES) as folder:
        options = (*_TRUSTED, *_SMALL_MEMORY, "-c", f"remote.{REMOTE}.url={url}")
        made = Repository(folder, limits, url, options, deadline=deadline, partial=True)
        alone = _no_repository_above(made)
        made = made if authorities is None else with_authorities(made, authorities, folder, alone)
        made = _with_token(made, url, token) if token else made
        # Before the first request: a server may repeat secrets in its errors.
        made = hide_secrets(made, environment=alone)
        _initialise(made, branch)
        yield Server(made, Remote(REMOTE, branch))


def check_url(url: str) -> None:
    """Raise for an invalid URL, and for one with a password, which commands and errors would show."""
    if hides_something(url) or not _URL.fullmatch(url):
        raise InvalidUrl(url, "it is not an https, ssh or file URL without a query")
    try:
        password = urlsplit(url).password if "://" in url else None
    except ValueError:
        raise InvalidUrl(url, "its host is invalid") from None
    if password is not None:
        raise InvalidUrl(url, "it contains a password, which others could see")


def _with_token(repository: Repository, url: str, token: Token) -> Repository:
    if urlsplit(url).scheme != "https":
        raise InvalidUrl(url, "a token is sent over https only")
    return with_token(repository, url, token)


def _no_repository_above(repository: Repository) -> dict[str, str]:
    """Return the environment that keeps git from finding a repository in a folder above."""
    return {"GIT_CEILING_DIRECTORIES": str(repository.root.parent)}


def _initialise(repository: Repository, branch: str) -> None:
    """Make the repository, with the server's hash format."""
    alone = _no_repository_above(repository)
    ids = list_refs(repository, REMOTE, "HEAD", f"refs/heads/{branch}", environment=alone).values()
    form = "sha256" if any(len(commit) == _SHA256_DIGITS for commit in ids) else "sha1"
    repository.run("init", "--quiet", "--bare", "--template=", f"--object-format={form}", environment=alone)
