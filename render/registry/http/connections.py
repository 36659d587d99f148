"""Connections: TLS, proxies, and a watchdog for servers that never finish their headers."""

import os
import socket
import ssl
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # missing in its stubs

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from render.errors import InvalidInput
from render.limits import Limits
from render.registry.access import RegistrySettings
from render.registry.http.addresses import host_of
from render.registry.http.private_networks import connect_to_public
from render.system.deadline import Deadline
from render.texts import redact

_WATCH_SECONDS = 0.1


class AnswerTooSlow(Exception):
    """The headers of an answer did not arrive in time."""


class Connections:
    """Open connections by host, directly or through the proxy of the environment."""

    def __init__(self, settings: RegistrySettings, limits: Limits, deadline: Deadline) -> None:
        self._settings = settings
        self._limits = limits
        self._deadline = deadline
        self._watchdog = _Watchdog(deadline)
        self._proxies = read_proxies(settings.environ)
        self._lock = threading.Lock()
        self._managers: dict[tuple[str, str], urllib3.PoolManager] = {}

    @contextmanager
    def open(
        self,
        method: str,
        parts: SplitResult,
        headers: Mapping[str, str],
        body: bytes | Iterable[bytes] | None,
        *,
        seconds: float = 0.0,
    ) -> Iterator[urllib3.BaseHTTPResponse]:
        """Send a request and yield the response when its headers are complete; the body is not read yet.

        `seconds` are those that sending the body may take.
        """
        manager = self._manager_for(parts)
        seconds = min(self._limits.request_seconds + seconds, self._deadline.remaining())
        with self._watchdog.guard(seconds) as guard:
            _current.must_be_public = self._settings.must_be_public(host_of(parts))
            try:
                response = self._send(manager, method, parts, headers, body)
            except Exception:
                # A connection that is cut under a reader fails in many ways.
                if guard.fired:
                    raise AnswerTooSlow from None
                raise
            with closing(response):
                # The reader of the body checks the deadline between reads; a single read could outlast it.
                self._watchdog.extend(guard, self._deadline.remaining())
                yield response

    def _send(
        self,
        manager: urllib3.PoolManager,
        method: str,
        parts: SplitResult,
        headers: Mapping[str, str],
        body: bytes | Iterable[bytes] | None,
    ) -> urllib3.BaseHTTPResponse:
        # To urllib3, zero would mean no timeout.
        connect = max(min(self._limits.connect_seconds, self._deadline.remaining()), 0.01)
        return manager.urlopen(
            method,
            parts.geturl(),
            body=body,
            headers=dict(headers),
            timeout=urllib3.Timeout(connect=connect, read=self._limits.idle_seconds),
            redirect=False,
            retries=False,
            preload_content=False,
            decode_content=False,
        )

    def _manager_for(self, parts: SplitResult) -> urllib3.PoolManager:
        host = f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname or ""
        proxy = "" if proxy_bypass_environment(host, self._proxies) else self._proxies.get(parts.scheme, "")
        with self._lock:
            key = (parts.scheme, proxy)
            if key not in self._managers:
                self._managers[key] = self._make_manager(*key)
            return self._managers[key]

    def _make_manager(self, scheme: str, proxy: str) -> urllib3.PoolManager:
        secure = "https" in (scheme, proxy.partition(":")[0])
        options: dict[str, Any] = {
            "num_pools": 64,
            # Blobs that are read while they are sent on take no slot, but a connection.
            "maxsize": self._limits.parallel + self._limits.parallel_per_host,
            # Made only if needed: reading the authorities takes longer than many requests.
            "ssl_context": tls_context(self._settings) if secure else None,
        }
        manager = _proxy_manager(proxy, options) if proxy else urllib3.PoolManager(**options)
        manager.pool_classes_by_scheme = {"http": _HTTPPool, "https": _HTTPSPool}
        return manager


class _Watchdog:
    """Cuts connections whose responses take too long; a socket timeout limits only single reads."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._guards: set[_Guard] = set()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    @contextmanager
    def guard(self, seconds: float) -> Iterator["_Guard"]:
        guard = _current.guard = _Guard(self._deadline.now() + seconds)
        with self._changed:
            self._guards.add(guard)
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="xplock-watchdog", daemon=True)
                self._thread.start()
        try:
            yield guard
        finally:
            with self._changed:
                self._guards.discard(guard)
                guard.close()

    def extend(self, guard: "_Guard", seconds: float) -> None:
        """Give a request more time; raise if it was cut, which can look like the end of its headers."""
        with self._changed:
            guard.end = self._deadline.now() + seconds
            if guard.fired:
                raise AnswerTooSlow

    def _watch(self) -> None:
        while self._cut_late_ones():
            pass

    def _cut_late_ones(self) -> bool:
        """Wait a moment, cut late connections, and return whether any are left to watch."""
        with self._changed:
            self._changed.wait(_WATCH_SECONDS)
            for guard in self._guards:
                if guard.end <= self._deadline.now():
                    guard.cut()
            if not self._guards:
                self._thread = None
            return bool(self._guards)


class _Guard:
    """One request that is being watched."""

    def __init__(self, end: float) -> None:
        self.end = end
        self.fired = False
        self._socket: socket.socket | None = None

    def watch(self, sock: socket.socket) -> None:
        # A duplicate of the socket: a TLS handshake detaches the original one, and a TLS socket that is shut down
        # would go on to read without decryption.
        self.close()
        self._socket = socket.socket(fileno=os.dup(sock.fileno()))

    def cut(self) -> None:
        self.fired = True
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()


class _Current(threading.local):
    guard: _Guard
    must_be_public: bool


_current = _Current()


class _Watched(HTTPConnection):
    """A connection that is watched from its first byte on, also when it is reused."""

    def _new_conn(self) -> socket.socket:
        # A proxy is the operator's, and resolves the names of hosts by itself.
        if _current.must_be_public and self.proxy is None:
            sock = connect_to_public(self, self.host, self.port)
        else:
            sock = super()._new_conn()
        _current.guard.watch(sock)
        return sock

    def request(self, *args: Any, **kwargs: Any) -> None:
        if self.sock is not None:
            _current.guard.watch(self.sock)
        super().request(*args, **kwargs)


class _WatchedTLS(_Watched, HTTPSConnection):
    """The same with TLS."""


class _HTTPPool(HTTPConnectionPool):
    ConnectionCls = _Watched


class _HTTPSPool(HTTPSConnectionPool):
    ConnectionCls = _WatchedTLS


def read_proxies(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the proxy for each scheme that the environment names."""
    # As in other programs, the lower-case spelling wins.
    names = sorted((name for name in environ if name.lower().endswith("_proxy")), key=str.islower)
    proxies = {name.lower().removesuffix("_proxy"): environ[name] for name in names}
    return {scheme: proxy for scheme, proxy in proxies.items() if proxy}


def _proxy_manager(proxy: str, options: dict[str, Any]) -> urllib3.PoolManager:
    address = proxy if "://" in proxy else f"http://{proxy}"
    try:
        parts = urlsplit(address)
        user = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else None
        headers = urllib3.make_headers(proxy_basic_auth=user) if user else None
        plain = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        return urllib3.ProxyManager(plain, proxy_headers=headers, **options)
    except (urllib3.exceptions.HTTPError, ValueError):
        raise InvalidInput(
            f"the proxy {redact(address)} cannot be used",
            why="a proxy is given as http://host:port",
            next="correct HTTPS_PROXY or HTTP_PROXY",
        ) from None


def tls_context(settings: RegistrySettings) -> ssl.SSLContext:
    """Return a TLS context that trusts the system's certificate authorities and the operator's."""
    context = ssl.create_default_context()
    if settings.ca_bundle is not None:
        try:
            context.load_verify_locations(cafile=settings.ca_bundle)
        except OSError as error:
            raise InvalidInput(
                f"the certificates in {settings.ca_bundle} cannot be read",
                why=str(error),
                next="point XPLOCK_CA_BUNDLE to a file of PEM certificates",
            ) from None
    return context
