"""Open connections: TLS, proxies, and a watchdog for servers that never finish their headers."""

import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # missing in its stubs

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from render.errors import InvalidInput
from render.limits import Limits
from render.registry.deadline import Deadline
from render.registry.settings import RegistrySettings
from render.texts import redact

_WATCH_SECONDS = 0.1


class HeadersTooSlow(Exception):
    """The headers of an answer did not arrive in time."""


class Connections:
    """Connections kept open per host, directly or through the proxy that the environment names."""

    def __init__(self, settings: RegistrySettings, limits: Limits, deadline: Deadline) -> None:
        self._settings = settings
        self._limits = limits
        self._deadline = deadline
        self._watchdog = _Watchdog(deadline)
        self._proxies = read_proxies(settings.environ)
        self._lock = threading.Lock()
        self._managers: dict[str, urllib3.PoolManager] = {}

    def open(
        self, method: str, parts: SplitResult, headers: Mapping[str, str], body: bytes | None
    ) -> urllib3.BaseHTTPResponse:
        """Send a request and return as soon as the headers are there; the body is still to be read."""
        manager = self._manager_for(parts)
        with self._watchdog.guard(min(self._limits.request_seconds, self._deadline.remaining())) as guard:
            try:
                return manager.urlopen(
                    method,
                    parts.geturl(),
                    body=body,
                    headers=dict(headers),
                    redirect=False,
                    retries=False,
                    preload_content=False,
                    decode_content=False,
                )
            except Exception:
                # A connection that is cut under a reader fails in many ways.
                if guard.fired:
                    raise HeadersTooSlow from None
                raise

    def _manager_for(self, parts: SplitResult) -> urllib3.PoolManager:
        host = f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname or ""
        proxy = "" if proxy_bypass_environment(host, self._proxies) else self._proxies.get(parts.scheme, "")
        with self._lock:
            if proxy not in self._managers:
                self._managers[proxy] = self._make_manager(proxy)
            return self._managers[proxy]

    def _make_manager(self, proxy: str) -> urllib3.PoolManager:
        options: dict[str, Any] = {
            "num_pools": 64,
            "maxsize": self._limits.parallel_per_host,
            "timeout": urllib3.Timeout(connect=self._limits.connect_seconds, read=self._limits.idle_seconds),
            "ssl_context": tls_context(self._settings),
        }
        manager = _proxy_manager(proxy, options) if proxy else urllib3.PoolManager(**options)
        manager.pool_classes_by_scheme = {"http": _HTTPPool, "https": _HTTPSPool}
        return manager


class _Watchdog:
    """Cuts connections whose headers take too long: a timeout bounds only each single read."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._guards: set[_Guard] = set()
        self._lock = threading.Condition()
        self._thread: threading.Thread | None = None

    @contextmanager
    def guard(self, seconds: float) -> Iterator["_Guard"]:
        guard = _current.guard = _Guard(self._deadline.now() + seconds)
        with self._lock:
            self._guards.add(guard)
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="xplock-watchdog", daemon=True)
                self._thread.start()
        try:
            yield guard
        finally:
            with self._lock:
                self._guards.discard(guard)

    def _watch(self) -> None:
        while due := self._due_guards():
            for guard in due[1:]:
                guard.cut()

    def _due_guards(self) -> "list[_Guard]":
        """Wait a moment; return nothing once nobody is watched, else a first guard and those to cut."""
        with self._lock:
            self._lock.wait(_WATCH_SECONDS)
            if not self._guards:
                self._thread = None
                return []
            now = self._deadline.now()
            return [next(iter(self._guards)), *(guard for guard in self._guards if guard.end <= now)]


class _Guard:
    """One request that is being watched."""

    def __init__(self, end: float) -> None:
        self.end = end
        self.fired = False
        self.connection: HTTPConnection | None = None

    def cut(self) -> None:
        self.fired = True
        sock = self.connection.sock if self.connection else None
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


class _Current(threading.local):
    guard: _Guard


_current = _Current()


class _WatchedHTTP(HTTPConnection):
    def request(self, *args: Any, **kwargs: Any) -> None:
        _current.guard.connection = self
        super().request(*args, **kwargs)


class _WatchedHTTPS(HTTPSConnection):
    def request(self, *args: Any, **kwargs: Any) -> None:
        _current.guard.connection = self
        super().request(*args, **kwargs)


class _HTTPPool(HTTPConnectionPool):
    ConnectionCls = _WatchedHTTP


class _HTTPSPool(HTTPSConnectionPool):
    ConnectionCls = _WatchedHTTPS


def read_proxies(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the proxy for each scheme that the environment names."""
    # As everywhere, the lower-case spelling wins.
    names = sorted((name for name in environ if name.lower().endswith("_proxy")), key=str.islower)
    proxies = {name.lower().removesuffix("_proxy"): environ[name] for name in names}
    return {scheme: proxy for scheme, proxy in proxies.items() if proxy}


def _proxy_manager(proxy: str, options: dict[str, Any]) -> urllib3.PoolManager:
    try:
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        user = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else None
        headers = urllib3.make_headers(proxy_basic_auth=user) if user else None
        address = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        return urllib3.ProxyManager(address, proxy_headers=headers, **options)
    except (urllib3.exceptions.HTTPError, ValueError):
        raise InvalidInput(
            f"the proxy {redact(proxy)} cannot be used",
            why="a proxy is given as http://host:port",
            next="correct HTTPS_PROXY or HTTP_PROXY",
        ) from None


def tls_context(settings: RegistrySettings) -> ssl.SSLContext:
    """Return whom we trust: the system's authorities and the operator's."""
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
