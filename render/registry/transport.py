"""HTTP as a registry client needs it: bounded in bytes, time, hops and tries, and silent about who we are."""

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

from render.deadline import Deadline, DeadlineExceeded
from render.errors import RenderError, UnusableContent
from render.limits import MIB, LimitExceeded, Limits
from render.references import Digest
from render.registry.access import RegistrySettings
from render.registry.addresses import RequestRefused, follow_url, host_of, is_private, split_url
from render.registry.connections import AnswerTooSlow, Connections
from render.texts import redact

_CHUNK = 64 << 10
_KEPT_IN_MEMORY = 8 * MIB
_RETRIED = frozenset({408, 429, 499, 500, 502, 503, 504, 522})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_FIRST_WAIT, _LONGEST_WAIT = 0.25, 2.0


class RegistryUnreachable(RenderError):
    """A host that did not answer, or not in a way that can be used."""


class SizeMismatch(UnusableContent):
    """Content that is longer or shorter than its descriptor says."""

    def __init__(self, what: str, *, said: int, sent: str) -> None:
        super().__init__(
            what,
            why=f"its descriptor says {said:,} bytes, the registry sent {sent}",
            next="do not use this package; tell whoever runs the registry",
        )


class _Transient(Exception):
    """Trouble that another try may not have."""

    def __init__(self, problem: str, *, answered: bool, retry_after: float = 0.0) -> None:
        super().__init__(problem)
        self.problem = problem
        self.answered = answered
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Request:
    """One question to one host."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    method: str = "GET"
    body: bytes | None = field(default=None, repr=False)
    # The name of the limit on the answer's size, and the size itself where a descriptor tells it.
    limit: str = "manifest_bytes"
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; the body was read to its end, and the digest is of what was read."""

    status: int
    headers: Mapping[str, str]
    body: IO[bytes]
    digest: Digest

    def read(self) -> bytes:
        """Return the whole body and let go of it."""
        with self.body:
            return self.body.read()


class Transport:
    """Asks hosts; safe to use from many threads, which share its connections and its limits."""

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
        self._turns = threading.BoundedSemaphore(limits.parallel)
        self._hosts: dict[str, _Host] = {}

    def scheme(self, host: str) -> str:
        """Return how a host is spoken to: without TLS only where the operator said so."""
        return "http" if host in self._settings.plain_http else "https"

    def ask(self, request: Request) -> Answer:
        """Send a request until it is answered, or until trying again makes no sense."""
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
                next="try again later, or check the name, the network and the proxy settings",
            )
        backoff = min(_FIRST_WAIT * 2 ** (tries - 1), _LONGEST_WAIT)
        # Spread, so that many clients do not come back in one wave.
        spread = random.uniform(0, backoff)  # noqa: S311 - nothing secret depends on it
        wait = max(spread, min(trouble.retry_after, self.limits.retry_after_seconds))
        self.deadline.wait(wait, f"{name}: {trouble.problem}")

    def _follow(self, request: Request) -> Answer:
        first = split_url(request.url)
        for _ in range(self.limits.redirects):
            answer = self._exchange(request, first)
            if answer.status not in _REDIRECTS:
                return answer
            request = _redirected(request, answer.headers.get("location", ""), first)
        raise LimitExceeded(f"{host_of(first)} redirects too often", "redirects", self.limits)

    def _exchange(self, request: Request, first: SplitResult) -> Answer:
        parts = split_url(request.url)
        self._check_allowed(parts)
        try:
            with self._turn(self._host(host_of(parts)).turns, parts), self._turn(self._turns, parts):
                return self._send(request, parts)
        except _Transient as trouble:
            if host_of(parts) != host_of(first):
                trouble.problem = f"it redirects to {host_of(parts)}, where: {trouble.problem}"
            raise

    def _send(self, request: Request, parts: SplitResult) -> Answer:
        try:
            with self._connections.open(request.method, parts, _headers(request), request.body) as response:
                self.trace(f"{request.method} {redact(request.url)}: {response.status}")
                return self._read(request, response)
        except AnswerTooSlow:
            raise _Transient("its answer takes too long", answered=False) from None
        except urllib3.exceptions.HTTPError as error:
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

    @contextmanager
    def _turn(self, turns: threading.BoundedSemaphore, parts: SplitResult) -> Iterator[None]:
        if not turns.acquire(timeout=self.deadline.remaining()):
            raise DeadlineExceeded(self.deadline.seconds, host_of(parts))
        try:
            yield
        finally:
            turns.release()

    def _host(self, name: str) -> "_Host":
        return self._hosts.setdefault(name, _Host(self.limits))

    def _read(self, request: Request, response: urllib3.BaseHTTPResponse) -> Answer:
        # What is sent in several lines, as challenges and links may be, is one text.
        headers = {name.lower(): response.headers[name] for name in response.headers}
        if response.status in _RETRIED:
            problem = f"it answered with status {response.status}"
            raise _Transient(problem, answered=True, retry_after=_retry_after(headers))
        if response.status in _REDIRECTS:
            return Answer(response.status, headers, BytesIO(), Digest(""))
        return self._read_body(request, response, headers)

    def _read_body(
        self, request: Request, response: urllib3.BaseHTTPResponse, headers: Mapping[str, str]
    ) -> Answer:
        host = host_of(split_url(request.url))
        encoding = headers.get("content-encoding", "identity")
        if encoding.lower() != "identity":
            raise RequestRefused(
                host,
                f"it compresses its answers (Content-Encoding: {encoding}), though asked not to",
                next="ask whoever runs the registry, or the proxy in front of it, to switch that off",
            )
        # Of an error only the beginning matters; of everything else all, or nothing.
        failed = response.status >= 400
        bound = _Bound(
            host, self.limits, "error_bytes" if failed else request.limit, None if failed else request.size
        )
        if not failed:
            bound.check_announced(headers)
        body, hashed, total = _spool(), hashlib.sha256(), 0
        with ExitStack() as unless_returned:
            unless_returned.callback(body.close)
            for chunk in self._chunks(response, bound.bytes, host):
                total += len(chunk)
                if total > bound.bytes:
                    if failed:
                        break
                    bound.raise_too_much()
                hashed.update(chunk)
                _write(body, chunk)
            if not failed and request.size is not None and total < request.size:
                # The connection may have broken where no length was announced.
                problem = f"the answer is incomplete: {total:,} of {request.size:,} bytes"
                raise _Transient(problem, answered=True)
            body.seek(0)
            unless_returned.pop_all()
        return Answer(response.status, headers, body, Digest("sha256:" + hashed.hexdigest()))

    def _chunks(self, response: urllib3.BaseHTTPResponse, most: int, host: str) -> Iterator[bytes]:
        seconds = self.limits.request_seconds + most / MIB
        started = self.deadline.now()
        # read1 returns what has arrived, so that a server which drips cannot hold us past the deadline.
        while chunk := response.read1(_CHUNK, decode_content=False):
            yield chunk
            self.deadline.check(host)
            if self.deadline.now() - started > seconds:
                raise _Transient(f"its answer takes longer than {seconds:.0f} seconds", answered=True)
        # A connection that is cut because the time is up looks like the end of a body without a length.
        self.deadline.check(host)


@dataclass(slots=True)
class _Host:
    """How a host has been doing, over all threads."""

    limits: Limits
    turns: threading.BoundedSemaphore = field(init=False)
    failures: int = 0
    ever_answered: bool = False

    def __post_init__(self) -> None:
        self.turns = threading.BoundedSemaphore(self.limits.parallel_per_host)

    def note_success(self) -> None:
        self.failures, self.ever_answered = 0, True

    def note_failure(self, *, answered: bool) -> None:
        self.failures += 1
        self.ever_answered = self.ever_answered or answered

    def tries_allowed(self) -> int:
        if self.failures >= self.limits.failures_in_a_row:
            return 0
        return self.limits.attempts if self.ever_answered else self.limits.attempts_unanswered


class _Bound:
    """How many bytes of an answer are accepted, and the error for one more."""

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


def _headers(request: Request) -> dict[str, str]:
    return {"Accept-Encoding": "identity", "User-Agent": "xplock", **request.headers}


def _redirected(request: Request, location: str, first: SplitResult) -> Request:
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
    # Without a port in sight the scheme tells it, and the port counts.
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
        # A read-only container: then memory has to do.
        return BytesIO()
    return tempfile.SpooledTemporaryFile(max_size=_KEPT_IN_MEMORY)


def _write(body: IO[bytes], chunk: bytes) -> None:
    try:
        body.write(chunk)
    except OSError as error:
        raise RenderError(
            f"an answer cannot be kept in {tempfile.gettempdir()}",
            why=(error.strerror or str(error)).lower(),
            next="make room there, or set TMPDIR to another folder",
        ) from None


def _translate(error: urllib3.exceptions.HTTPError, parts: SplitResult) -> Exception:
    cause = error.__cause__ or error
    if isinstance(error, urllib3.exceptions.SSLError) or isinstance(cause, ssl.SSLError):
        return _translate_tls(cause, parts)
    problems: list[tuple[type[Exception], str, bool]] = [
        (urllib3.exceptions.NameResolutionError, "its name cannot be resolved", False),
        (urllib3.exceptions.NewConnectionError, "it does not accept connections", False),
        (urllib3.exceptions.ConnectTimeoutError, "it does not accept connections in time", False),
        (urllib3.exceptions.ReadTimeoutError, "it stopped answering", False),
        (urllib3.exceptions.ProxyError, "the proxy does not lead to it", False),
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
