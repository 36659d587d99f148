"""HTTP for registries, with limits on bytes, time, redirects and attempts, and credentials for one host only."""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from io import BytesIO
from typing import TypeVar
from urllib.parse import SplitResult

import urllib3

from render.limits import LimitExceeded, Limits
from render.references import Digest
from render.registry.access import RegistrySettings
from render.registry.http.addresses import RequestRefused, follow_url, host_of, is_private, split_url
from render.registry.http.bodies import BodyReader
from render.registry.http.connections import Connections
from render.registry.http.hosts import Host
from render.registry.http.messages import REDIRECTS, HttpRequest, HttpResponse, HttpStream
from render.registry.http.troubles import (
    RegistryUnreachable,
    Transient,
    find_retry_after,
    is_overload,
    translated,
)
from render.system.deadline import Deadline, DeadlineExceeded
from render.texts import redact

_RETRIED = frozenset({408, 429, 499, 500, 502, 503, 504, 522})
_FIRST_WAIT, _LONGEST_WAIT = 0.25, 2.0

_Result = TypeVar("_Result")


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
        self._bodies = BodyReader(limits, deadline)
        self._slots = threading.BoundedSemaphore(limits.parallel)
        self._hosts: dict[tuple[str, str], Host] = {}

    def scheme(self, host: str) -> str:
        """Return the scheme for a host: http only if the operator listed it."""
        return "http" if host in self._settings.plain_http else "https"

    def host(self, name: str, apart: str = "") -> Host:
        """Return what is known about a host, or about requests that it limits apart."""
        return self._hosts.setdefault((name, apart), Host(self.limits, self.deadline.now))

    @contextmanager
    def slots(self, name: str, apart: str = "") -> Iterator[None]:
        """Hold one of the requests that may run at once, of this host and of all."""
        with ExitStack() as taken:
            # The narrower one first, which nothing else waits for.
            for hosts in dict.fromkeys((apart, "")):
                taken.enter_context(self.host(name, hosts).slots.taken(self.deadline, name))
            if not self._slots.acquire(timeout=self.deadline.remaining()):
                raise DeadlineExceeded(self.deadline.seconds, name)
            try:
                yield
            finally:
                self._slots.release()

    def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request, with retries, and return the response."""
        name = host_of(split_url(request.url))
        return self.retry(name, lambda: self._follow(request), apart=request.apart)

    def send_once(self, request: HttpRequest) -> HttpResponse:
        """Send a request that cannot be repeated as it is; raise Transient if another one may succeed."""
        return self._follow(request)

    @contextmanager
    def stream(self, request: HttpRequest) -> Iterator[HttpStream]:
        """Send a request, with retries up to the first byte of the response, and yield its body piece by piece."""
        with ExitStack() as opened:
            name = host_of(split_url(request.url))
            yield self.retry(name, lambda: self._follow_to_stream(request, opened))

    def retry(self, name: str, attempt: Callable[[], _Result], *, apart: str = "") -> _Result:
        """Try something that needs a host until it succeeds, or there is no sense in going on."""
        tries = 0
        while True:
            self.deadline.check(name)
            try:
                result = attempt()
            except Transient as trouble:
                tries += 1
                blamed = self.host(trouble.host or name, apart if trouble.overloaded else "")
                self._note(blamed, trouble)
                self._wait_or_give_up(trouble.host or name, blamed, tries, trouble)
            else:
                for hosts in dict.fromkeys((apart, "")):
                    self.host(name, hosts).note_success()
                return result

    def _note(self, host: Host, trouble: Transient) -> None:
        if trouble.overloaded:
            host.note_overload(min(trouble.retry_after, self.limits.retry_after_seconds))
        else:
            host.note_failure(answered=trouble.answered)

    def _wait_or_give_up(self, name: str, host: Host, tries: int, trouble: Transient) -> None:
        self.deadline.check(f"{name}: {trouble.problem}")
        if tries >= host.tries_allowed():
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
            if answer.status not in request.followed:
                return answer
            request = _redirected(request, answer.headers.get("location", ""), first)
        raise LimitExceeded(f"{host_of(first)} redirects too often", "redirects", self.limits)

    def _follow_to_stream(self, request: HttpRequest, opened: ExitStack) -> HttpStream:
        first = split_url(request.url)
        for _ in range(self.limits.redirects):
            stream = self._open(request, opened)
            if stream.other is None or stream.other.status not in REDIRECTS:
                return stream
            request = _redirected(request, stream.other.headers.get("location", ""), first)
        raise LimitExceeded(f"{host_of(first)} redirects too often", "redirects", self.limits)

    def _exchange(self, request: HttpRequest, first: SplitResult) -> HttpResponse:
        parts = split_url(request.url)
        self._check_allowed(parts)
        try:
            with self.slots(host_of(parts), request.apart):
                return self._send_once(request, parts)
        except Transient as trouble:
            if host_of(parts) != host_of(first):
                trouble.problem = f"it redirects to {host_of(parts)}, where: {trouble.problem}"
            raise

    def _open(self, request: HttpRequest, opened: ExitStack) -> HttpStream:
        """Open a response. It takes a slot up to its first byte only: its reader may need slots of other hosts."""
        parts = split_url(request.url)
        self._check_allowed(parts)
        with self.slots(host_of(parts)), ExitStack() as unless_streamed, self._translated(parts):
            response = unless_streamed.enter_context(
                self._connections.open(request.method, parts, _headers(request), None)
            )
            self.trace(f"{request.method} {redact(request.url)}: {response.status}")
            if response.status != 200:
                return HttpStream(iter(()), self._read(request, response))
            opened.push(unless_streamed.pop_all())
        return HttpStream(self._pieces(request, response, parts))

    def _pieces(
        self, request: HttpRequest, response: urllib3.BaseHTTPResponse, parts: SplitResult
    ) -> Iterator[bytes]:
        most = getattr(self.limits, request.limit) if request.size is None else request.size
        with self._translated(parts):
            yield from self._bodies.chunks(response, most, host_of(parts))

    def _send_once(self, request: HttpRequest, parts: SplitResult) -> HttpResponse:
        with (
            self._translated(parts),
            self._connections.open(
                request.method, parts, _headers(request), request.body, seconds=request.seconds
            ) as response,
        ):
            self.trace(f"{request.method} {redact(request.url)}: {response.status}")
            return self._read(request, response)

    def _translated(self, parts: SplitResult) -> AbstractContextManager[None]:
        return translated(parts, must_be_public=self._settings.must_be_public(host_of(parts)))

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

    def _read(self, request: HttpRequest, response: urllib3.BaseHTTPResponse) -> HttpResponse:
        # Several lines of one header, as for challenges and links, are joined.
        headers = {name.lower(): response.headers[name] for name in response.headers}
        if response.status in _RETRIED:
            problem = f"it answered with status {response.status}"
            wait = find_retry_after(headers)
            overloaded = is_overload(response.status, wait)
            raise Transient(problem, answered=True, retry_after=wait, overloaded=overloaded)
        if response.status in REDIRECTS:
            return HttpResponse(response.status, headers, BytesIO(), Digest(""))
        return self._bodies.read(request, response, headers)


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
