"""Reading the body of a response: bounded in bytes and time, hashed on the way, and never held in memory if it is large."""

import hashlib
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from io import BytesIO
from typing import IO

import urllib3

from render.errors import RenderError, UnusableContent
from render.limits import MIB, LimitExceeded, Limits
from render.references import Digest
from render.registry.http.addresses import RequestRefused, host_of, split_url
from render.registry.http.messages import HttpRequest, HttpResponse
from render.registry.http.troubles import Transient
from render.system.deadline import Deadline

_CHUNK = 64 << 10
_KEPT_IN_MEMORY = 8 * MIB


class SizeMismatch(UnusableContent):
    """Content that is longer or shorter than its descriptor says."""

    def __init__(self, what: str, *, said: int, sent: str) -> None:
        super().__init__(
            what,
            why=f"its descriptor says {said:,} bytes, the registry sent {sent}",
            next="do not use this package; tell the operators of the registry",
        )


@dataclass(frozen=True, slots=True)
class BodyReader:
    """Reads the bodies of responses within the limits of a run."""

    limits: Limits
    deadline: Deadline

    def read(
        self, request: HttpRequest, response: urllib3.BaseHTTPResponse, headers: Mapping[str, str]
    ) -> HttpResponse:
        """Return a response with its body, read to the end; of an error only the beginning."""
        host = host_of(split_url(request.url))
        encoding = headers.get("content-encoding", "identity")
        if encoding.lower() != "identity":
            raise RequestRefused(
                host,
                f"it compresses its responses (Content-Encoding: {encoding}) against our request",
                next="ask the operators of the registry, or of the proxy in front of it, to turn that off",
            )
        failed = response.status >= 400
        limit = _SizeLimit(
            host, self.limits, "error_bytes" if failed else request.limit, None if failed else request.size
        )
        if not failed:
            limit.check_announced(headers)
        body, hashed, total = _spool(), hashlib.sha256(), 0
        with ExitStack() as unless_returned:
            unless_returned.callback(body.close)
            for chunk in self.chunks(response, limit.bytes, host):
                total += len(chunk)
                if total > limit.bytes:
                    if failed:
                        break
                    limit.raise_too_much()
                hashed.update(chunk)
                _write(body, chunk)
            if not failed and request.size is not None and total < request.size:
                # The connection may have broken where no length was announced.
                problem = f"the answer is incomplete: {total:,} of {request.size:,} bytes"
                raise Transient(problem, answered=True)
            body.seek(0)
            unless_returned.pop_all()
        return HttpResponse(response.status, headers, body, Digest("sha256:" + hashed.hexdigest()))

    def chunks(self, response: urllib3.BaseHTTPResponse, most: int, host: str) -> Iterator[bytes]:
        """Yield a body piece by piece; `most` bytes decide how long that may take."""
        seconds = self.limits.request_seconds + most / MIB
        started = self.deadline.now()
        # read1 returns the bytes that have arrived, so a slow server cannot hold us past the deadline.
        while chunk := response.read1(_CHUNK, decode_content=False):
            yield chunk
            self.deadline.check(host)
            if self.deadline.now() - started > seconds:
                raise Transient(f"its answer takes longer than {seconds:.0f} seconds", answered=True)
        # A connection that was cut at the deadline looks like the end of a body without a length.
        self.deadline.check(host)


class _SizeLimit:
    """The number of bytes that are accepted, and the errors for more or fewer."""

    def __init__(self, host: str, limits: Limits, limit: str, size: int | None) -> None:
        self._host = host
        self._limits = limits
        self._limit = limit
        self._size = size
        most: int = getattr(limits, limit)
        self.bytes = most if size is None else min(most, size)

    def check_announced(self, headers: Mapping[str, str]) -> None:
        text = headers.get("content-length", "")
        announced = int(text) if text.isdecimal() and len(text) < 20 else None
        if announced is not None and announced > self.bytes:
            self.raise_too_much(f"{announced:,} bytes")
        if announced is not None and self._size is not None and announced < self._size:
            raise SizeMismatch(f"{self._host} sent too little", said=self._size, sent=f"{announced:,} bytes")

    def raise_too_much(self, sent: str = "") -> None:
        what = f"{self._host} sent too much"
        if self._size is not None and self.bytes == self._size:
            raise SizeMismatch(what, said=self._size, sent=sent or "more")
        raise LimitExceeded(what, self._limit, self._limits, found=sent)


def _spool() -> IO[bytes]:
    try:
        tempfile.gettempdir()
    except FileNotFoundError:
        # A read-only container has no temporary folder, so the body stays in memory.
        return BytesIO()
    return tempfile.SpooledTemporaryFile(max_size=_KEPT_IN_MEMORY)


def _write(body: IO[bytes], chunk: bytes) -> None:
    try:
        body.write(chunk)
    except OSError as error:
        raise RenderError(
            f"a response cannot be written to {tempfile.gettempdir()}",
            why=(error.strerror or str(error)).lower(),
            next="free some space there, or set TMPDIR to another folder",
        ) from None
