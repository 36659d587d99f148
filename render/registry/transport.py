"""HTTP for registries, with limits on bytes, time, redirects and attempts, and credentials for one host only."""

import hashlib
import random
import ssl
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from io import BytesIO
from typing import IO
from urllib.parse import SplitResult

import urllib3

from render.errors import RenderError, Unavailable, UnusableContent
from render.limits import MIB, LimitExceeded, Limits
from render.references import Digest
from render.registry.access import RegistrySettings
from render.registry.addresses import RequestRefused, follow_url, host_of, is_private, split_url
from render.registry.connections import AnswerTooSlow, Connections
from render.system.deadline import Deadline, DeadlineExceeded
from render.system.faults import find_fault
from render.texts import redact

_CHUNK = 64 << 10
_KEPT_IN_MEMORY = 8 * MIB
_RETRIED = frozenset({408, 429, 499, 500, 502, 503, 504, 522})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_FIRST_WAIT, _LONGEST_WAIT = 0.25, 2.0


class RegistryUnreachable(Unavailable):
    """A host that gave no usable response."""


class SizeMismatch(UnusableContent):
    """Content that is longer or shorter than its descriptor says."""

    def __init__(self, what: str, *, said: int, sent: str) -> None:
        super().__init__(
            what,
            why=f"its descriptor says {said:,} bytes, the registry sent {sent}",
            next="do not use this package; tell the operators of the registry",
        )


class _Transient(Exception):
    """A failure that may not occur in another attempt."""

    def __init__(self, problem: str, *, answered: bool, retry_after: float = 0.0) -> None:
        super().__init__(problem)
        self.problem = problem
        self.answered = answered
        self.retry_after = retry_after
        self.advice = ""


class _NoPublicAddress(_Transient):
    """A name without a public address: the same for a name that does not exist and for one inside a network."""

    def __init__(self, host: str) -> None:
        super().__init__("its name has no public address, and the operator has not listed it", answered=False)
        self.advice = (
            f"check the name; if you are the operator, add {host} to XPLOCK_ALLOWED_REGISTRIES "
            "if it is inside your network"
        )


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request to one host."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    method: str = "GET"
    body: bytes | None = field(default=None, repr=False)
    # The name of the limit on the response's size, and the exact size if a descriptor has it.
    limit: str = "manifest_bytes"
    size: int | None = None


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


class Transport:
    """Sends requests; safe for many threads, which share its connections and limits."""

    def __init__(
        self,
        settings: RegistrySettings,
        limits: Limits,
        deadline: Deadline,
        trace: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.limits = limits
        self.deadline = deadline
        self.trace = trace
        self._settings = settings
        self._connections = Connections(settings, limits, deadline)
        self._slots = threading.BoundedSemaphore(limits.parallel)
        self._hosts: dict[str, _Host] = {}

    def scheme(self, host: str) -> str:
        """Return the scheme for a host: http only if the operator listed it."""
        return "http" if host in self._settings.plain_http else "https"

    def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request, with retries, and return the response."""
        name = host_of(split_url(request.url))
        host = self._host(name)
        tries = 0
        while True:
            self.deadline.check(name)
            try:
                answer = self._follow(request)
            except _Transient as trouble:
                tries += 1
                host.note_failure(answered=trouble.answered)
                self._wait_or_give_up(name, tries, trouble)
            else:
                host.note_success()
                return answer

    def _wait_or_give_up(self, name: str, tries: int, trouble: _Transient) -> None:
        self.deadline.check(f"{name}: {trouble.problem}")
        if tries >= self._host(name).tries_allowed():
            raise RegistryUnreachable(
                f"{name} gave no usable answer",
                why=f"{trouble.problem} (tried {tries} times)" if tries > 1 else trouble.problem,
                next=trouble.advice
                or "try again later, or check the name, the network and the proxy settings",
            )
        backoff = min(_FIRST_WAIT * 2 ** (tries - 1), _LONGEST_WAIT)
        # Random, so that many clients do not come back at once.
        spread = random.uniform(0, backoff)  # noqa: S311 - nothing secret depends on it
        wait = max(spread, min(trouble.retry_after, self.limits.retry_after_seconds))
        self.deadline.wait(wait, f"{name}: {trouble.problem}")

    def _follow(self, request: HttpRequest) -> HttpResponse:
        first = split_url(request.url)
        for _ in range(self.limits.redirects):
            answer = self._exchange(request, first)
            if answer.status not in _REDIRECTS:
                return answer
            request = _redirected(request, answer.headers.get("location", ""), first)
        raise LimitExceeded(f"{host_of(first)} redirects too often", "redirects", self.limits)

    def _exchange(self, request: HttpRequest, first: SplitResult) -> HttpResponse:
        parts = split_url(request.url)
        self._check_allowed(parts)
        try:
            with self._slot(self._host(host_of(parts)).slots, parts), self._slot(self._slots, parts):
                return self._send_once(request, parts)
        except _Transient as trouble:
            if host_of(parts) != host_of(first):
                trouble.problem = f"it redirects to {host_of(parts)}, where: {trouble.problem}"
            raise

    def _send_once(self, request: HttpRequest, parts: SplitResult) -> HttpResponse:
        try:
            with self._connections.open(request.method, parts, _headers(request), request.body) as response:
                self.trace(f"{request.method} {redact(request.url)}: {response.status}")
                return self._read(request, response)
        except AnswerTooSlow:
            raise _Transient("its answer takes too long", answered=False) from None
        except urllib3.exceptions.HTTPError as error:
            # Our own descriptors or memory may be what is missing, and not the registry.
            fault = find_fault(error, f"{host_of(parts)} cannot be asked")
            if fault:
                raise fault from None
            if _is_unresolved(error) and self._settings.must_be_public(host_of(parts)):
                raise _NoPublicAddress(host_of(parts)) from None
            raise _translate(error, parts) from None

    def _check_allowed(self, parts: SplitResult) -> None:
        host = host_of(parts)
        if self._settings.allowed is not None and host not in self._settings.allowed:
            raise RequestRefused(
                host,
                "it is not in XPLOCK_ALLOWED_REGISTRIES, the only hosts that may be asked",
                next=f"add {host} to XPLOCK_ALLOWED_REGISTRIES, or use a source on an allowed host",
            )
        if parts.scheme == "http" and host not in self._settings.plain_http:
            raise RequestRefused(
                host, "it would be asked without TLS, and is not listed in XPLOCK_PLAIN_HTTP"
            )

        if is_private(parts) and self._settings.must_be_public(host):
            raise RequestRefused(
                host,
                "it is an address inside a network, and the operator has not listed it",
                next=f"if you are the operator, add {host} to XPLOCK_ALLOWED_REGISTRIES, or to XPLOCK_PLAIN_HTTP "
                "if it has no TLS",
            )

    @contextmanager
    def _slot(self, slots: threading.BoundedSemaphore, parts: SplitResult) -> Iterator[None]:
        if not slots.acquire(timeout=self.deadline.remaining()):
            raise DeadlineExceeded(self.deadline.seconds, host_of(parts))
        try:
            yield
        finally:
            slots.release()

    def _host(self, name: str) -> "_Host":
        return self._hosts.setdefault(name, _Host(self.limits))

    def _read(self, request: HttpRequest, response: urllib3.BaseHTTPResponse) -> HttpResponse:
        # Several lines of one header, as for challenges and links, are joined.
        headers = {name.lower(): response.headers[name] for name in response.headers}
        if response.status in _RETRIED:
            problem = f"it answered with status {response.status}"
            raise _Transient(problem, answered=True, retry_after=_retry_after(headers))
        if response.status in _REDIRECTS:
            return HttpResponse(response.status, headers, BytesIO(), Digest(""))
        return self._read_body(request, response, headers)

    def _read_body(
        self, request: HttpRequest, response: urllib3.BaseHTTPResponse, headers: Mapping[str, str]
    ) -> HttpResponse:
        host = host_of(split_url(request.url))
        encoding = headers.get("content-encoding", "identity")
        if encoding.lower() != "identity":
            raise RequestRefused(
                host,
                f"it compresses its responses (Content-Encoding: {encoding}) against our request",
                next="ask the operators of the registry, or of the proxy in front of it, to turn that off",
            )
        # Of an error only the beginning is needed; everything else must be complete.
        failed = response.status >= 400
        limit = _SizeLimit(
            host, self.limits, "error_bytes" if failed else request.limit, None if failed else request.size
        )
        if not failed:
            limit.check_announced(headers)
        body, hashed, total = _spool(), hashlib.sha256(), 0
        with ExitStack() as unless_returned:
            unless_returned.callback(body.close)
            for chunk in self._chunks(response, limit.bytes, host):
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
                raise _Transient(problem, answered=True)
            body.seek(0)
            unless_returned.pop_all()
        return HttpResponse(response.status, headers, body, Digest("sha256:" + hashed.hexdigest()))

    def _chunks(self, response: urllib3.BaseHTTPResponse, most: int, host: str) -> Iterator[bytes]:
        seconds = self.limits.request_seconds + most / MIB
        started = self.deadline.now()
        # read1 returns the bytes that have arrived, so a slow server cannot hold us past the deadline.
        while chunk := response.read1(_CHUNK, decode_content=False):
            yield chunk
            self.deadline.check(host)
            if self.deadline.now() - started > seconds:
                raise _Transient(f"its answer takes longer than {seconds:.0f} seconds", answered=True)
        # A connection that was cut at the deadline looks like the end of a body without a length.
        self.deadline.check(host)


@dataclass(slots=True)
class _Host:
    """The failures and successes of a host, over all threads."""

    limits: Limits
    slots: threading.BoundedSemaphore = field(init=False)
    failures: int = 0
    ever_answered: bool = False

    def __post_init__(self) -> None:
        self.slots = threading.BoundedSemaphore(self.limits.parallel_per_host)

    def note_success(self) -> None:
        self.failures, self.ever_answered = 0, True

    def note_failure(self, *, answered: bool) -> None:
        self.failures += 1
        self.ever_answered = self.ever_answered or answered

    def tries_allowed(self) -> int:
        if self.failures >= self.limits.failures_in_a_row:
            return 0
        return self.limits.attempts if self.ever_answered else self.limits.attempts_unanswered


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


def _headers(request: HttpRequest) -> dict[str, str]:
    return {"Accept-Encoding": "identity", "User-Agent": "xplock", **request.headers}


def _redirected(request: HttpRequest, location: str, first: SplitResult) -> HttpRequest:
    here = split_url(request.url)
    if request.method not in ("GET", "HEAD") or not location:
        raise RequestRefused(
            host_of(here), f"it redirects a {request.method} request to {location or 'nowhere'}"
        )
    target = follow_url(request.url, location)
    if (here.scheme, target.scheme) == ("https", "http"):
        raise RequestRefused(host_of(target), f"{host_of(here)} redirects from https to http")
    if is_private(target) and not is_private(first):
        raise RequestRefused(host_of(target), f"{host_of(first)} redirects to an address inside a network")
    # Hosts are compared with the scheme, since that decides the port where none is written.
    if (target.scheme, host_of(target)) == (here.scheme, host_of(here)):
        return replace(request, url=target.geturl())
    kept = {name: text for name, text in request.headers.items() if name.lower() != "authorization"}
    return replace(request, url=target.geturl(), headers=kept)


def _retry_after(headers: Mapping[str, str]) -> float:
    text = headers.get("retry-after", "").strip()
    if text.isdecimal() and len(text) < 10:
        return float(text)
    try:
        # The server's own clock, since ours may differ.
        wait = parsedate_to_datetime(text) - parsedate_to_datetime(headers.get("date", ""))
        return max(wait.total_seconds(), 0.0)
    except (ValueError, TypeError, IndexError, OverflowError):
        return 0.0


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


def _is_unresolved(error: urllib3.exceptions.HTTPError) -> bool:
    kind = urllib3.exceptions.NameResolutionError
    return isinstance(error, kind) or isinstance(error.__cause__, kind)


def _translate(error: urllib3.exceptions.HTTPError, parts: SplitResult) -> Exception:
    cause = error.__cause__ or error
    if isinstance(error, urllib3.exceptions.SSLError) or isinstance(cause, ssl.SSLError):
        return _translate_tls(cause, parts)
    problems: list[tuple[type[Exception], str, bool]] = [
        (urllib3.exceptions.NameResolutionError, "its name cannot be resolved", False),
        (urllib3.exceptions.NewConnectionError, "it does not accept connections", False),
        (urllib3.exceptions.ConnectTimeoutError, "it does not accept connections in time", False),
        (urllib3.exceptions.ReadTimeoutError, "it stopped answering", False),
        (urllib3.exceptions.ProxyError, "the proxy cannot reach it", False),
        (urllib3.exceptions.IncompleteRead, "the answer is incomplete", True),
    ]
    for kind, problem, answered in problems:
        if isinstance(error, kind) or isinstance(cause, kind):
            return _Transient(problem, answered=answered)
    return _Transient("the connection broke", answered=True)


def _translate_tls(cause: object, parts: SplitResult) -> Exception:
    while (
        isinstance(cause, urllib3.exceptions.SSLError) and cause.args and isinstance(cause.args[0], Exception)
    ):
        cause = cause.args[0]
    if isinstance(cause, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return _Transient("the secure connection broke", answered=True)
    host = host_of(parts)
    if isinstance(cause, ssl.SSLCertVerificationError):
        why, hint = (
            cause.verify_message,
            "if you trust it, name its certificate authority in XPLOCK_CA_BUNDLE",
        )
    else:
        reason = str(getattr(cause, "reason", None) or cause).replace("_", " ").lower()
        why, hint = reason, f"if it speaks plain http and you trust the network, set XPLOCK_PLAIN_HTTP={host}"
    return RegistryUnreachable(f"no secure connection to {host}", why=why, next=hint)
