"""An HTTP server for tests: it remembers every request, and misbehaves in the ways a registry can."""

import base64
import binascii
import ipaddress
import os
import socket
import socketserver
import ssl
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.message import Message
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias
from urllib.parse import unquote_plus

# Far more than anything takes on a busy machine.
WAIT_SECONDS = 120.0

_BLOCK = bytes(64 * 1024)
_CERTIFICATE_SETTINGS = """\
[req]
distinguished_name = subject
prompt = no
[subject]
CN = xplock test
[ca]
default_ca = authority
[authority]
database = {folder}/issued.txt
new_certs_dir = {folder}
rand_serial = yes
default_md = sha256
policy = policy
x509_extensions = extensions
[policy]
commonName = supplied
[extensions]
basicConstraints = critical, CA:TRUE
keyUsage = critical, digitalSignature, keyCertSign
subjectKeyIdentifier = hash
subjectAltName = {kind}:{name}
"""


@dataclass(frozen=True, slots=True)
class Request:
    """What one client asked, as it arrived."""

    method: str
    target: str  # the path with its query
    headers: Message
    body: bytes

    @property
    def path(self) -> str:
        """The path without its query."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """The query without its question mark."""
        return self.target.partition("?")[2]

    @property
    def credentials(self) -> str:
        """The user and password of Basic authentication, joined by a colon; empty without any."""
        scheme, _, encoded = self.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "basic":
            return ""
        try:
            return base64.b64decode(encoded).decode()
        except (binascii.Error, UnicodeDecodeError):
            return ""

    def mentions(self, text: str) -> bool:
        """Return whether a text is anywhere in the request, plain or encoded in the usual ways."""
        plain = [self.target, self.body.decode("latin-1"), *map(str, self.headers.values())]
        return any(text in place for place in [*plain, *map(unquote_plus, plain), self.credentials])


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to a client, right or wrong: `write` sends it."""

    write: Callable[["Wire"], None]


Handler: TypeAlias = Callable[[Request], Answer | None]
Route: TypeAlias = Handler | Answer
Headers: TypeAlias = Mapping[str, str] | Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Certificate:
    """A self-signed certificate; a client that trusts `file` trusts the server."""

    file: Path
    key: Path


class Wire(BaseHTTPRequestHandler):
    """One client's connection, as an answer writes to it."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: "RecordingServer"
    _body_wanted = True

    def start(self, status: int, headers: Headers = (), *, close: bool = False) -> None:
        """Send the status line and the headers."""
        self.send_response_only(status)
        for name, value in headers.items() if isinstance(headers, Mapping) else headers:
            self.send_header(name, value)
        if close:
            self.send_header("Connection", "close")
        self.end_headers()
        self._body_wanted = self.command != "HEAD"

    def send(self, data: bytes) -> None:
        """Send bytes as they are; after the headers of an answer to HEAD, nothing."""
        if self._body_wanted:
            self.wfile.write(data)

    def pause(self, seconds: float | None) -> None:
        """Do nothing for a while, or for ever; the end of the server ends it."""
        if self.server.stopping.wait(seconds):
            raise ConnectionAbortedError("the server stops")

    def reset(self) -> None:
        """Break the connection so that the client sees a reset instead of an end."""
        self.close_connection = True
        # Lingering for zero seconds is what turns a close into a reset. The file objects of this
        # class keep the socket open, so the descriptor itself is closed.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())

    @property
    def open(self) -> bool:
        """Whether more of the body is worth sending."""
        return self._body_wanted and not self.server.stopping.is_set()

    def log_message(self, format: str, *args: Any) -> None:
        """Stay quiet; the record says it all."""

    def _serve(self) -> None:
        self._body_wanted = True
        request = Request(self.command, self.path, self.headers, self._read_body())
        self.server.record(request)
        self.server.choose(request).write(self)

    def _read_body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            return b"".join(self._read_chunks())
        length = int(self.headers.get("Content-Length", "0"))
        body = self.rfile.read(length)
        if len(body) < length:
            raise ConnectionAbortedError("the client left in the middle of a request")
        return body

    def _read_chunks(self) -> Iterator[bytes]:
        while length := int(self._read_line().partition(b";")[0], 16):
            yield self.rfile.read(length)
            self._read_line()
        while self._read_line().strip():
            pass

    def _read_line(self) -> bytes:
        line = self.rfile.readline()
        if not line:
            raise ConnectionAbortedError("the client left in the middle of a request")
        return line

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815 - http.server asks for these


class RecordingServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """A server on a free loopback port; answers by path, or by one handler for everything.

    A route is looked up by the path with its query first, then by the path alone.
    """

    allow_reuse_address = True
    request_queue_size = 128

    def __init__(
        self,
        routes: Mapping[str, Route] | Route | None = None,
        *,
        address: str = "127.0.0.1",
        certificate: Certificate | None = None,
    ) -> None:
        self.routes = dict(routes) if isinstance(routes, Mapping) else {}
        self.stopping = threading.Event()
        self._otherwise = answer(404) if routes is None or isinstance(routes, Mapping) else routes
        self._tls = None if certificate is None else _server_context(certificate)
        self._changed = threading.Condition()
        self._requests: list[Request] = []
        self._connections = 0
        self._clients: dict[Any, threading.Thread] = {}
        self._failures: list[BaseException] = []
        self._loop = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        super().__init__((address, 0), Wire)

    @property
    def host(self) -> str:
        """The address and port, as a reference spells them."""
        address, port = self.socket.getsockname()[:2]
        return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"

    @property
    def url(self) -> str:
        """The address with its scheme and no slash at the end."""
        return f"{'https' if self._tls else 'http'}://{self.host}"

    @property
    def requests(self) -> tuple[Request, ...]:
        """Everything asked so far, in order."""
        with self._changed:
            return tuple(self._requests)

    @property
    def connections(self) -> int:
        """How many clients connected, even if they asked nothing."""
        with self._changed:
            return self._connections

    def saw(self, text: str) -> bool:
        """Return whether any request contained a text."""
        return any(request.mentions(text) for request in self.requests)

    def wait_for(self, count: int) -> tuple[Request, ...]:
        """Return the requests once there are that many."""
        with self._changed:
            arrived = self._changed.wait_for(lambda: len(self._requests) >= count, WAIT_SECONDS)
            assert arrived, f"{len(self._requests)} requests arrived instead of {count}"
            return tuple(self._requests)

    def forget(self) -> None:
        """Clear the record."""
        with self._changed:
            self._requests.clear()
            self._connections = 0

    def record(self, request: Request) -> None:
        """Keep a request."""
        with self._changed:
            self._requests.append(request)
            self._changed.notify_all()

    def choose(self, request: Request) -> Answer:
        """Return what this request gets; a handler that fails will fail the test when the server stops."""
        route = self.routes.get(request.target) or self.routes.get(request.path) or self._otherwise
        try:
            return _chosen(route, request)
        except Exception as error:
            self._failures.append(error)
            return answer(500)

    def __enter__(self) -> Self:
        self._loop.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop at once, in the middle of any handler, and raise if one of them failed."""
        self.stopping.set()
        self.shutdown()
        self._loop.join(WAIT_SECONDS)
        self.server_close()
        for client, thread in self._open_clients():
            _wake(client)
            thread.join(WAIT_SECONDS)
            assert not thread.is_alive(), "a handler is stuck"
        if self._failures:
            raise AssertionError("a handler of the server failed") from self._failures[0]

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept a client; its TLS handshake waits for its own thread."""
        client, address = super().get_request()
        if self._tls is None:
            return client, address
        try:
            return self._tls.wrap_socket(client, server_side=True, do_handshake_on_connect=False), address
        except OSError:
            client.close()
            raise

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a client in a thread that can be woken."""
        thread = threading.Thread(
            target=self.process_request_thread, args=(request, client_address), daemon=True
        )
        with self._changed:
            self._connections += 1
            self._clients[request] = thread
        thread.start()

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a client until it is done."""
        super().process_request_thread(request, client_address)
        with self._changed:
            del self._clients[request]

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - inherited
        """Take a lost client for granted, and keep anything else for the end of the test."""
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, OSError):
            self._failures.append(error)

    def _open_clients(self) -> list[tuple[Any, threading.Thread]]:
        with self._changed:
            return list(self._clients.items())


def answer(status: int = 200, body: bytes = b"", headers: Headers = ()) -> Answer:
    """Answer properly; a Content-Length among the headers replaces the true one."""
    pairs = list(headers.items() if isinstance(headers, Mapping) else headers)
    if not any(name.lower() == "content-length" for name, _ in pairs):
        pairs.append(("Content-Length", str(len(body))))

    def write(wire: Wire) -> None:
        wire.start(status, pairs)
        wire.send(body)

    return Answer(write)


def redirect(url: str, status: int = 307) -> Answer:
    """Send the client elsewhere."""
    return answer(status, headers={"Location": url})


def in_turn(routes: Sequence[Route]) -> Handler:
    """Answer each request with the next of several; the last one repeats."""
    lock = threading.Lock()
    left = list(routes)

    def handle(request: Request) -> Answer:
        with lock:
            route = left.pop(0) if len(left) > 1 else left[0]
        return _chosen(route, request)

    return handle


def late(route: Route, seconds: float) -> Handler:
    """Answer as another route does, after a while."""

    def handle(request: Request) -> Answer:
        chosen = _chosen(route, request)

        def write(wire: Wire) -> None:
            wire.pause(seconds)
            chosen.write(wire)

        return Answer(write)

    return handle


def short_body(body: bytes, announced_length: int) -> Answer:
    """Announce more than is sent, then close."""
    return _closing(200, {"Content-Length": str(announced_length)}, body)


def no_length_close(body: bytes) -> Answer:
    """Announce no length; the end of the connection is the end of the body."""
    return _closing(200, {}, body)


def garbage_chunking() -> Answer:
    """Promise chunks and send something else."""
    return _closing(200, {"Transfer-Encoding": "chunked"}, b"these are\r\nno chunks\r\n")


def drip(body: bytes, seconds_between_bytes: float) -> Answer:
    """Send the headers at once and the body byte by byte."""

    def write(wire: Wire) -> None:
        wire.start(200, {"Content-Length": str(len(body))})
        _drip(wire, body, seconds_between_bytes)

    return Answer(write)


def drip_headers(body: bytes, seconds_between_bytes: float) -> Answer:
    """Send everything byte by byte, from the status line on."""
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    return Answer(lambda wire: _drip(wire, head + body, seconds_between_bytes))


def silence() -> Answer:
    """Never answer; the connection stays open until the server stops."""
    return Answer(lambda wire: wire.pause(None))


def reset(after: bytes | None = None) -> Answer:
    """Break the connection after a part of the body, or without any answer."""

    def write(wire: Wire) -> None:
        if after is not None:
            wire.start(200, {"Content-Length": str(len(after) + 1)})
            wire.send(after)
        wire.reset()

    return Answer(write)


def endless(chunk: bytes, *, chunked: bool = False) -> Answer:
    """Send the same bytes for ever, in HTTP chunks or up to a close that never comes."""
    piece = b"%x\r\n%b\r\n" % (len(chunk), chunk) if chunked else chunk

    def write(wire: Wire) -> None:
        wire.start(200, {"Transfer-Encoding": "chunked"} if chunked else {}, close=True)
        while wire.open:
            wire.send(piece)

    return Answer(write)


def huge(length: int, *, with_length: bool) -> Answer:
    """Send that many zero bytes, announced or not."""

    def write(wire: Wire) -> None:
        wire.start(200, {"Content-Length": str(length)} if with_length else {}, close=True)
        sent = 0
        while sent < length and wire.open:
            block = _BLOCK[: length - sent]
            wire.send(block)
            sent += len(block)

    return Answer(write)


def make_certificate(folder: Path, *, name: str = "127.0.0.1", days: int = 30) -> Certificate:
    """Make a self-signed certificate for a host name or an IP; negative days make an expired one."""
    folder.mkdir(parents=True, exist_ok=True)
    certificate = Certificate(folder / "certificate.pem", folder / "key.pem")
    kind = "IP" if _is_address(name) else "DNS"
    settings = folder / "certificate.cnf"
    settings.write_text(_CERTIFICATE_SETTINGS.format(folder=folder, kind=kind, name=name))
    (folder / "issued.txt").write_text("")
    request = folder / "request.pem"
    _openssl(
        "req", "-new", "-newkey", "rsa:2048", "-nodes", config=settings, keyout=certificate.key, out=request
    )
    # Only "ca" can date a certificate back; "req" and "x509" refuse or do not, by version.
    end = datetime.now(UTC) + timedelta(days=days)
    dates = {"startdate": _openssl_date(end - timedelta(days=abs(days) + 1)), "enddate": _openssl_date(end)}
    files = {"config": settings, "keyfile": certificate.key, "in": request, "out": certificate.file}
    _openssl("ca", "-batch", "-selfsign", "-notext", **files, **dates)
    return certificate


def _chosen(route: Route, request: Request) -> Answer:
    if isinstance(route, Answer):
        return route
    return route(request) or answer(404)


def _closing(status: int, headers: Headers, body: bytes) -> Answer:
    def write(wire: Wire) -> None:
        wire.start(status, headers, close=True)
        wire.send(body)

    return Answer(write)


def _drip(wire: Wire, data: bytes, seconds: float) -> None:
    for byte in data:
        if not wire.open:
            return
        wire.send(bytes([byte]))
        wire.pause(seconds)


def _server_context(certificate: Certificate) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.file, certificate.key)
    return context


def _openssl(*command: str, **options: str | Path) -> None:
    given = [part for name, value in options.items() for part in (f"-{name}", str(value))]
    done = subprocess.run(["openssl", *command, *given], capture_output=True, text=True, timeout=WAIT_SECONDS)
    assert done.returncode == 0, f"openssl {command[0]} failed: {done.stderr}"


def _openssl_date(moment: datetime) -> str:
    return moment.strftime("%Y%m%d%H%M%SZ")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _wake(client: socket.socket) -> None:
    try:
        # A TLS socket's own way would take its state from under the thread that uses it.
        socket.socket.shutdown(client, socket.SHUT_RDWR)
    except OSError:
        return
