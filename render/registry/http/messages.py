"""Requests, and the responses to them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO

from render.references import Digest

REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request to one host."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    method: str = "GET"
    # A body of several pieces can be sent once only: see `send_once`.
    body: bytes | Iterable[bytes] | None = field(default=None, repr=False)
    # The name of the limit on the response's size, and the exact size if a descriptor has it.
    limit: str = "manifest_bytes"
    size: int | None = None
    # The redirects that are followed; any other one is an answer.
    followed: frozenset[int] = REDIRECTS
    # The seconds that sending a large body may take.
    seconds: float = 0.0
    # A name for requests that hosts limit apart from all others: they wait for each other, and delay nothing else.
    apart: str = ""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response whose body was read to its end; the digest is that of the body."""

    status: int
    headers: Mapping[str, str]
    body: IO[bytes]
    digest: Digest

    def read(self) -> bytes:
        """Return the whole body and close it."""
        with self.body:
            return self.body.read()


@dataclass(frozen=True, slots=True)
class HttpStream:
    """A response whose body is read piece by piece, or the whole response if it is no success."""

    chunks: Iterator[bytes]
    other: HttpResponse | None = None
