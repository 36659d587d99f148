"""A token for one server: sent in a header that git has from its environment, and seen by nobody else."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from render.errors import InvalidInput
from render.git.repository import Repository
from render.limits import Limits
from render.mounted import read_mounted
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
