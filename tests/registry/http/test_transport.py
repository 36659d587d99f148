"""HTTP failures: limits on everything, and no credentials for other hosts."""

import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from rig.registry.client import Asker, asker, bounded, logins
from rig.registry.http_server import (
    Answer,
    RecordingServer,
    Route,
    Wire,
    answer,
    drip,
    drip_headers,
    endless,
    garbage_chunking,
    in_turn,
    make_certificate,
    no_length_close,
    redirect,
    reset,
    short_body,
    silence,
)
from rig.registry.package_images import counted
from rig.time_limits import growing

from render.errors import InvalidInput, RenderError
from render.limits import LimitExceeded, Limits
from render.registry.http.addresses import RequestRefused
from render.registry.http.bodies import SizeMismatch
from render.registry.http.connections import read_proxies
from render.registry.http.messages import HttpRequest
from render.registry.http.transport import Transport
from render.registry.http.troubles import RegistryUnreachable, find_retry_after
from render.registry.oci import digest_of
from render.system.deadline import DeadlineExceeded

SECRET = {"Authorization": "Bearer secret"}
PATIENCE = 60.0


def get(world: Asker, url: str, size: int | None = None, headers: dict[str, str] | None = None) -> bytes:
    """Ask for an address and return what came."""
    return world.transport.send(HttpRequest(url, headers or SECRET, size=size)).read()


def test_an_answer_is_read_to_its_end_and_hashed() -> None:
    with RecordingServer(answer(200, b"content", {"X-Some": "header"})) as server:
        found = asker(server.host).transport.send(HttpRequest(server.url))

        assert (found.status, found.headers["x-some"]) == (200, "header")
        assert found.digest == digest_of(b"content")
        assert found.read() == b"content"
        assert found.body.closed


def test_requests_ask_for_plain_bytes_and_have_a_user_agent() -> None:
    with RecordingServer(answer()) as server:
        get(asker(server.host), server.url)

        assert server.requests[0].headers["Accept-Encoding"] == "identity"
        assert server.requests[0].headers["User-Agent"] == "xplock"


def test_a_connection_is_used_again() -> None:
    with RecordingServer(answer(200, b"content")) as server:
        world = asker(server.host)

        for number in range(5):
            get(world, f"{server.url}/{number}")

        assert (len(server.requests), server.connections) == (5, 1)


def test_a_connection_that_was_closed_meanwhile_is_opened_anew() -> None:
    with RecordingServer(no_length_close(b"content")) as server:
        world = asker(server.host)

        assert [get(world, server.url) for _ in range(2)] == [b"content"] * 2
        assert world.waits == []


@pytest.mark.parametrize("encoding", ["gzip", "br", "identity, gzip"])
def test_an_encoded_answer_is_refused_unread(encoding: str) -> None:
    with RecordingServer(answer(200, b"bomb", {"Content-Encoding": encoding})) as server:
        with pytest.raises(RequestRefused, match=encoding):
            get(asker(server.host), server.url)

        assert len(server.requests) == 1


@pytest.mark.parametrize("encoding", ["identity", "Identity"])
def test_a_response_with_identity_encoding_is_accepted(encoding: str) -> None:
    with RecordingServer(answer(200, b"content", {"Content-Encoding": encoding})) as server:
        assert get(asker(server.host), server.url) == b"content"


def test_the_lines_of_one_header_are_one_text() -> None:
    twice = [("Link", "<a>; rel=next"), ("Link", "<b>; rel=last"), ("Link", "")]
    with RecordingServer(answer(200, b"", twice)) as server:
        found = asker(server.host).transport.send(HttpRequest(server.url))
        found.body.close()

        assert found.headers["link"].startswith("<a>; rel=next, <b>; rel=last")


def test_every_request_is_traced_without_secrets(canary: str) -> None:
    with RecordingServer(answer(404)) as server:
        world = asker(server.host)

        get(world, f"{server.url}/v2/?signature={canary}", headers={"Authorization": canary})

        assert world.traces == [f"GET {server.url}/v2/?signature=***: 404"]


# Redirects


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_port_is_followed_without_authorization(status: int, canary: str) -> None:
    secret = {"Authorization": f"Bearer {canary}", "Accept": "x"}
    with (
        RecordingServer(answer(200, b"blob")) as store,
        RecordingServer(redirect(f"{store.url}/blob?x=1", status)) as server,
    ):
        assert get(asker(server.host, store.host), server.url, headers=secret) == b"blob"
        assert store.requests[0].headers["Authorization"] is None
        assert store.requests[0].headers["Accept"] == "x"
        assert store.requests[0].target == "/blob?x=1"
        assert not store.saw(canary)


def test_authorization_does_not_come_back_after_a_visit_elsewhere(canary: str) -> None:
    secret = {"Authorization": f"Bearer {canary}"}
    with RecordingServer() as server, RecordingServer() as store:
        server.routes |= {"/": redirect(f"{store.url}/"), "/back": answer(200, b"blob")}
        store.routes["/"] = redirect(f"{server.url}/back")

        get(asker(server.host, store.host), f"{server.url}/", headers=secret)

        seen = [request.headers["Authorization"] for request in server.requests]
        assert seen == [f"Bearer {canary}", None]


def test_authorization_stays_on_its_own_host(canary: str) -> None:
    with RecordingServer({"/": redirect("/there?a=b"), "/there": answer(200, b"blob")}) as server:
        get(asker(server.host), f"{server.url}/", headers={"Authorization": canary})

        assert [request.target for request in server.requests] == ["/", "/there?a=b"]
        assert [request.headers["Authorization"] for request in server.requests] == [canary, canary]


def test_a_redirect_to_itself_ends_after_five_requests() -> None:
    with RecordingServer(redirect("/")) as server:
        with pytest.raises(LimitExceeded, match="XPLOCK_LIMIT_REDIRECTS") as failure:
            get(asker(server.host), f"{server.url}/")

        assert len(server.requests) == 5
        assert server.host in str(failure.value)


def public(handle: Route, *plain: str) -> tuple[RecordingServer, Callable[[], Asker]]:
    """Return a proxy that plays http://registry.example, and a client that asks through it."""
    proxy = RecordingServer(handle)
    environ = {"HTTP_PROXY": proxy.url, "NO_PROXY": "127.0.0.1,[::1],localhost"}
    return proxy, lambda: asker("registry.example", *plain, environ=environ)


@pytest.mark.parametrize("name", ["127.0.0.1", "127.1", "2130706433", "localhost"])
def test_a_public_registry_cannot_redirect_into_our_network(name: str) -> None:
    with RecordingServer(answer(200, b"inside")) as inside:
        port = inside.host.rpartition(":")[2]
        plain = f"{name}:{port}" if name in ("127.0.0.1", "localhost") else inside.host
        proxy, client = public(redirect(f"http://{name}:{port}/"), plain)
        with proxy:
            with pytest.raises(RequestRefused, match="redirects to an address inside a network"):
                get(client(), "http://registry.example/")

            assert len(proxy.requests) == 1
            assert inside.connections == 0


def test_a_redirect_never_leaves_tls(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    with (
        RecordingServer(answer(200, b"plain")) as plain,
        RecordingServer(redirect(plain.url), certificate=certificate) as server,
    ):
        world = asker(plain.host, environ={"XPLOCK_CA_BUNDLE": str(certificate.file)})

        with pytest.raises(RequestRefused, match="from https to http"):
            get(world, server.url)

        assert plain.connections == 0


def test_a_redirect_to_a_host_without_tls_that_is_not_listed_is_refused() -> None:
    with RecordingServer(answer()) as store, RecordingServer(redirect(store.url)) as server:
        with pytest.raises(RequestRefused, match="XPLOCK_PLAIN_HTTP"):
            get(asker(server.host), server.url)

        assert store.connections == 0


@pytest.mark.parametrize(
    "location", ["", "ftp://elsewhere.example/", "http://robin:pw@127.0.0.1/", "http://[::1", "http://a\\b/"]
)
def test_a_redirect_to_no_address_is_refused(location: str) -> None:
    with RecordingServer(redirect(location)) as server:
        with pytest.raises(RequestRefused) as refusal:
            get(asker(server.host), server.url)

        assert len(server.requests) == 1
        assert "robin:pw" not in str(refusal.value)


def test_only_questions_are_redirected() -> None:
    with RecordingServer(redirect("/there")) as server:
        with pytest.raises(RequestRefused, match="redirects a POST request"):
            asker(server.host).transport.send(HttpRequest(server.url, method="POST", body=b"secret"))

        assert len(server.requests) == 1


def test_hosts_that_are_not_allowed_are_not_asked_even_after_a_redirect() -> None:
    with RecordingServer(answer()) as store, RecordingServer(redirect(store.url)) as server:
        world = asker(server.host, store.host, environ={"XPLOCK_ALLOWED_REGISTRIES": server.host})

        with pytest.raises(RequestRefused, match="XPLOCK_ALLOWED_REGISTRIES"):
            get(world, server.url)
        with pytest.raises(RequestRefused, match="XPLOCK_ALLOWED_REGISTRIES"):
            get(world, store.url)

        assert (len(server.requests), store.connections) == (1, 0)


def test_trouble_behind_a_redirect_names_the_host_that_has_it() -> None:
    with RecordingServer(answer(503)) as store, RecordingServer(redirect(store.url)) as server:
        world = asker(server.host, store.host, limits=bounded(attempts=2))

        with pytest.raises(RegistryUnreachable, match=f"it redirects to {store.host}, where: .*503"):
            get(world, server.url)


# Slow, silent, broken


def test_a_server_that_never_answers_is_given_up() -> None:
    limits = bounded(idle_seconds=0.05, attempts_unanswered=2)
    with RecordingServer(silence()) as server:
        with pytest.raises(RegistryUnreachable, match=r"it stopped answering \(tried 2 times\)") as failure:
            get(asker(server.host, limits=limits), server.url)

        assert len(server.wait_for(2)) == 2
        assert server.host in str(failure.value)


def test_a_dripping_body_does_not_outlast_the_run() -> None:
    with RecordingServer(drip(b"x" * 10_000, 0.02)) as server:
        # The time is up as soon as the server has the request.
        world = asker(server.host, seconds=10, now=lambda: 100.0 if server.requests else 0.0)

        with pytest.raises(DeadlineExceeded) as failure:
            get(world, server.url)

        assert server.host in str(failure.value)
        assert "XPLOCK_DEADLINE" in str(failure.value)
        assert len(server.requests) == 1


def test_a_dripping_body_does_not_outlast_its_request() -> None:
    limits = bounded(request_seconds=0.1, attempts=2, manifest_bytes=1_000)
    with RecordingServer(drip(b"x" * 1_000, 0.02)) as server:
        with pytest.raises(RegistryUnreachable, match="takes longer than"):
            get(asker(server.host, limits=limits), server.url)

        assert len(server.wait_for(2)) == 2


def test_dripping_headers_do_not_outlast_their_request() -> None:
    # Cut in the middle, what there is of the headers must not pass for an answer.
    limits = bounded(request_seconds=0.5, attempts_unanswered=2)
    with RecordingServer(drip_headers(b"x" * 1_000, 0.02)) as server:
        with pytest.raises(RegistryUnreachable, match="its answer takes too long"):
            get(asker(server.host, limits=limits), server.url)

        assert len(server.wait_for(2)) == 2


def test_dripping_headers_do_not_outlast_the_run() -> None:
    with RecordingServer(drip_headers(b"x" * 1_000, 0.02)) as server:
        world = asker(server.host, seconds=0.2)

        with pytest.raises(DeadlineExceeded, match=server.host):
            get(world, server.url)


def test_a_dripping_head_that_is_whole_in_time_is_an_answer() -> None:
    with RecordingServer(drip_headers(b"content", 0.001)) as server:
        assert get(asker(server.host), server.url) == b"content"


class Leaving:
    """An answer that stops half way and sees whether the client leaves."""

    def __init__(self, headers: dict[str, str]) -> None:
        self.headers = headers
        self.left = threading.Event()

    def write(self, wire: Wire) -> None:
        wire.start(200, self.headers, close=True)
        wire.send(b"half")
        if select.select([wire.connection], [], [], PATIENCE)[0]:
            self.left.set()
        else:
            wire.send(b"half")


@pytest.mark.parametrize("headers", [{"Content-Length": "8"}, {}])
@pytest.mark.parametrize("tls", [False, True])
def test_a_body_that_stops_half_way_does_not_outlast_the_run(
    headers: dict[str, str], tls: bool, tmp_path: Path
) -> None:
    certificate = make_certificate(tmp_path) if tls else None
    leaving = Leaving(headers)
    with RecordingServer(Answer(leaving.write), certificate=certificate) as server:
        environ = {"XPLOCK_CA_BUNDLE": str(certificate.file)} if certificate else {}
        plain = [] if tls else [server.host]

        for seconds in growing(0.5, until=lambda: bool(server.requests)):
            with pytest.raises(DeadlineExceeded, match=server.host):
                get(asker(*plain, environ=environ, seconds=seconds), server.url)

    assert leaving.left.is_set()


@contextmanager
def dripping_handshake() -> Iterator[tuple[str, threading.Event]]:
    """Listen, and answer a TLS greeting byte by byte; tell whether the client leaves before the end."""
    left = threading.Event()

    def serve() -> None:
        client = listener.accept()[0]
        with client:
            end = time.monotonic() + PATIENCE
            for byte in b"\x16\x03\x03\x40\x00" + bytes(10_000):
                if time.monotonic() > end:
                    return
                try:
                    client.sendall(bytes([byte]))
                except OSError:
                    left.set()
                    return
                time.sleep(0.01)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}", left
        thread.join()


def test_a_dripping_tls_handshake_does_not_outlast_the_run() -> None:
    with dripping_handshake() as (host, left), pytest.raises(DeadlineExceeded, match=host):
        get(asker(seconds=0.3), f"https://{host}/")

    assert left.is_set()


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (short_body(b"half", 8), "the answer is incomplete"),
        (reset(), "the connection broke"),
        (reset(after=b"half"), "the connection broke"),
        (garbage_chunking(), "the connection broke"),
    ],
)
def test_a_broken_answer_is_tried_again_and_then_an_error(broken: Answer, problem: str) -> None:
    with RecordingServer(broken) as server:
        world = asker(server.host, limits=bounded(attempts=3))

        with pytest.raises(RegistryUnreachable, match=f"{problem} \\(tried 3 times\\)"):
            get(world, server.url)

        assert (len(server.requests), len(world.waits)) == (3, 2)


def test_a_body_without_length_that_ends_too_soon_is_reported_as_incomplete() -> None:
    with RecordingServer(no_length_close(b"half")) as server:
        with pytest.raises(RegistryUnreachable, match="incomplete: 4 of 8 bytes"):
            get(asker(server.host, limits=bounded(attempts=2)), server.url, size=8)

        assert len(server.requests) == 2


@pytest.mark.parametrize(
    "broken", [reset(after=b"content"), reset(), short_body(b"half", 8), garbage_chunking(), answer(502)]
)
def test_a_third_attempt_succeeds_after_two_failures(broken: Answer) -> None:
    with RecordingServer(in_turn([broken, broken, answer(200, b"content!")])) as server:
        assert get(asker(server.host), server.url, size=8) == b"content!"
        assert len(server.requests) == 3


def test_a_host_that_does_not_listen_is_given_up_sooner() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        host = f"127.0.0.1:{probe.getsockname()[1]}"
    world = asker(host)

    with pytest.raises(RegistryUnreachable, match=r"does not accept connections \(tried 5 times\)"):
        get(world, f"http://{host}/")

    assert len(world.waits) == 4


def test_the_error_names_a_host_that_cannot_be_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)

    with pytest.raises(RegistryUnreachable, match="its name cannot be resolved") as failure:
        get(asker(), "https://no-such.example/")

    assert "no-such.example" in str(failure.value)


@pytest.mark.parametrize(
    "head",
    [
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
        b"H" * 100_000,
    ],
)
def test_a_response_that_is_not_http_is_an_error(head: bytes) -> None:
    def write(wire: Wire) -> None:
        wire.close_connection = True
        wire.send(head)

    with RecordingServer(Answer(write)) as server:
        with pytest.raises(RegistryUnreachable, match=server.host):
            get(asker(server.host, limits=bounded(attempts=2)), server.url)

        assert len(server.requests) == 2


# 429 and 5xx


@pytest.mark.parametrize("status", [408, 429, 499, 500, 502, 503, 504, 522])
def test_a_server_that_asks_for_patience_gets_it(status: int) -> None:
    with RecordingServer(in_turn([answer(status), answer(status), answer(200, b"content")])) as server:
        world = asker(server.host)

        assert get(world, server.url) == b"content"
        assert len(world.waits) == 2
        assert 0 <= world.waits[0] <= 0.25
        assert 0 <= world.waits[1] <= 0.5


def test_waits_are_short_and_spread() -> None:
    with RecordingServer(answer(503)) as server:
        world = asker(server.host)

        with pytest.raises(RegistryUnreachable, match=r"status 503 \(tried 10 times\)"):
            get(world, server.url)

        assert len(server.requests) == 10
        most = [0.25, 0.5, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]
        assert all(0 <= wait <= bound for wait, bound in zip(world.waits, most, strict=True))
        assert len(set(world.waits)) == len(world.waits)


def test_retry_after_is_respected() -> None:
    wait = answer(429, headers={"Retry-After": "1"})
    with RecordingServer(in_turn([wait, answer(200, b"content")])) as server:
        world = asker(server.host)

        assert get(world, server.url) == b"content"
        assert world.waits == [1.0]


@pytest.mark.parametrize(
    ("retry_after", "date", "seconds"),
    [
        ("7", "", 7.0),
        (" 7 ", "", 7.0),
        ("0", "", 0.0),
        ("Mon, 01 Jan 2024 00:00:09 GMT", "Mon, 01 Jan 2024 00:00:02 GMT", 7.0),
        ("Mon, 01 Jan 2024 00:00:02 GMT", "Mon, 01 Jan 2024 00:00:09 GMT", 0.0),
        ("Mon, 01 Jan 2024 00:00:09 GMT", "", 0.0),
        ("Mon, 01 Jan 2024 00:00:09 GMT", "soon", 0.0),
        ("Mon, 01 Jan 2024 00:00:09 -0000", "Mon, 01 Jan 2024 00:00:02 GMT", 0.0),
        ("Mon, 01 Jan 2024 00:00:00 +99999999999999999999", "Mon, 01 Jan 2024 00:00:02 GMT", 0.0),
        ("Mon, 99 Jan 2024 00:00:00 GMT", "Mon, 01 Jan 2024 00:00:02 GMT", 0.0),
        ("", "", 0.0),
        ("-1", "", 0.0),
        ("1.5", "", 0.0),
        ("soon", "", 0.0),
        ("9" * 400, "", 0.0),
    ],
)
def test_both_forms_of_retry_after_are_read(retry_after: str, date: str, seconds: float) -> None:
    headers = {name: text for name, text in {"retry-after": retry_after, "date": date}.items() if text}

    assert find_retry_after(headers) == seconds


def test_requests_that_a_host_limits_apart_delay_no_others() -> None:
    with RecordingServer({"/list": answer(429), "/": answer(200, b"content")}) as server:
        world = asker(server.host)
        listing = HttpRequest(f"{server.url}/list", apart="lists")

        with pytest.raises(RegistryUnreachable, match="status 429"):
            world.transport.send(listing)

        assert world.transport.host(server.host, "lists").slots.width < Limits().parallel_per_host
        assert world.transport.host(server.host).slots.width == Limits().parallel_per_host
        assert get(world, f"{server.url}/") == b"content"


def test_retry_after_is_limited() -> None:
    with RecordingServer(
        in_turn([answer(503, headers={"Retry-After": "3600"}), answer(200, b"content")])
    ) as server:
        world = asker(server.host, limits=bounded(retry_after_seconds=10))

        assert get(world, server.url) == b"content"
        assert world.waits == [10]


def test_a_wait_past_the_deadline_is_not_begun() -> None:
    with RecordingServer(answer(503, headers={"Retry-After": "45"})) as server:
        world = asker(server.host, seconds=30)

        with pytest.raises(DeadlineExceeded, match=f"{server.host}: it answered with status 503"):
            get(world, server.url)

        assert world.waits == []


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 410, 501])
def test_other_answers_are_final(status: int) -> None:
    with RecordingServer(answer(status, b"no")) as server:
        world = asker(server.host)

        found = world.transport.send(HttpRequest(server.url))

        assert (found.status, found.read()) == (status, b"no")
        assert (len(server.requests), world.waits) == (1, [])


def test_a_host_on_which_nothing_works_any_more_is_given_up() -> None:
    with RecordingServer(answer(503)) as server:
        world = asker(server.host, limits=bounded(failures_in_a_row=6, attempts=4))
        tries = []

        for number in range(4):
            with pytest.raises(RegistryUnreachable):
                get(world, f"{server.url}/{number}")
            tries.append(len(server.requests))

        assert tries == [4, 6, 7, 8]


def test_one_success_makes_up_for_all_failures_before() -> None:
    with RecordingServer(answer(503)) as server:
        server.routes["/works"] = answer(200)
        world = asker(server.host, limits=bounded(failures_in_a_row=6, attempts=4))

        with pytest.raises(RegistryUnreachable):
            get(world, server.url)
        get(world, f"{server.url}/works")
        server.forget()
        with pytest.raises(RegistryUnreachable):
            get(world, server.url)

        assert len(server.requests) == 4


def test_one_host_in_trouble_is_no_trouble_for_another() -> None:
    with RecordingServer(answer(503)) as down, RecordingServer(in_turn([answer(503), answer(200)])) as up:
        world = asker(down.host, up.host, limits=bounded(failures_in_a_row=3))

        with pytest.raises(RegistryUnreachable):
            get(world, down.url)

        assert get(world, up.url) == b""


# Huge answers


@pytest.mark.parametrize("with_length", [True, False])
def test_a_huge_answer_is_not_read(with_length: bool) -> None:
    # What lies in the buffers between us counts as sent.
    sent: list[int] = []
    with RecordingServer(counted(300 << 20, sent, with_length=with_length)) as server:
        world = asker(server.host, limits=bounded(manifest_bytes=100_000))

        with pytest.raises(LimitExceeded) as failure:
            get(world, server.url)

    assert len(sent) == 1
    assert sent[0] < 16 << 20
    assert "XPLOCK_LIMIT_MANIFEST_BYTES" in str(failure.value)
    assert ("found 314,572,800 bytes" in str(failure.value)) == with_length


@pytest.mark.parametrize("chunked", [True, False])
def test_an_endless_answer_ends_at_the_limit(chunked: bool) -> None:
    with RecordingServer(endless(b"x" * 1_000, chunked=chunked)) as server:
        with pytest.raises(LimitExceeded, match="100,000 bytes"):
            get(asker(server.host, limits=bounded(manifest_bytes=100_000)), server.url)

        assert len(server.requests) == 1


@pytest.mark.parametrize("length", [99_999, 100_000])
def test_an_answer_at_the_limit_is_taken(length: int) -> None:
    with RecordingServer(no_length_close(b"x" * length)) as server:
        assert len(get(asker(server.host, limits=bounded(manifest_bytes=100_000)), server.url)) == length


def test_of_an_error_only_the_beginning_is_read() -> None:
    sent: list[int] = []
    with RecordingServer(counted(1 << 30, sent, with_length=False, status=404)) as server:
        found = asker(server.host).transport.send(HttpRequest(server.url))

        assert found.status == 404
        assert 0 < len(found.read()) <= 64 << 10

    assert sent[0] < 16 << 20


@pytest.mark.parametrize("with_length", [True, False])
def test_a_layer_longer_than_its_descriptor_says_is_not_read_on(with_length: bool) -> None:
    sent: list[int] = []
    with RecordingServer(counted(1 << 30, sent, with_length=with_length)) as server:
        with pytest.raises(SizeMismatch, match="says 1,000 bytes, the registry sent"):
            get(asker(server.host), server.url, size=1_000)

        assert len(server.requests) == 1

    assert sent[0] < 16 << 20


@pytest.mark.parametrize(("body", "sent"), [(b"123456789", "9 bytes"), (b"1234567", "7 bytes")])
def test_a_layer_of_another_size_than_announced_is_refused_with_both_sizes(body: bytes, sent: str) -> None:
    with RecordingServer(answer(200, body)) as server:
        with pytest.raises(SizeMismatch, match=f"says 8 bytes, the registry sent {sent}"):
            get(asker(server.host), server.url, size=8)

        assert len(server.requests) == 1


def test_a_large_answer_that_fails_leaves_no_open_file() -> None:
    # Past eight MiB it is in a file, which nobody else would close.
    limits = bounded(manifest_bytes=9 << 20)
    with RecordingServer(endless(bytes(64 << 10))) as server, pytest.raises(LimitExceeded):
        get(asker(server.host, limits=limits), server.url)


def test_a_full_disk_is_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    with RecordingServer(answer(200, b"content")) as server, Path("/dev/full").open("wb", 0) as full:
        monkeypatch.setattr("tempfile.SpooledTemporaryFile", lambda **_: full)
        world = asker(server.host)

        with pytest.raises(RenderError, match="no space left on device"):
            get(world, server.url)


# Plain http, certificates


def test_a_host_that_is_not_listed_is_never_asked_without_tls() -> None:
    with RecordingServer(answer()) as server, RecordingServer(answer()) as listed:
        world = asker(listed.host)

        assert world.transport.scheme(server.host) == "https"
        with pytest.raises(RegistryUnreachable, match="no secure connection") as failure:
            get(world, f"https://{server.host}/")
        with pytest.raises(RequestRefused, match="without TLS"):
            get(world, server.url)

        assert (server.requests, server.connections) == ((), 1)
        assert f"XPLOCK_PLAIN_HTTP={server.host}" in str(failure.value)


@pytest.mark.parametrize(
    ("name", "days", "check"),
    [("other.example", 30, "IP address mismatch"), ("127.0.0.1", -1, "certificate has expired")],
)
def test_a_wrong_certificate_is_not_retried_and_the_reason_is_shown(
    tmp_path: Path, name: str, days: int, check: str
) -> None:
    certificate = make_certificate(tmp_path, name=name, days=days)
    with RecordingServer(answer(), certificate=certificate) as server:
        world = asker(environ={"XPLOCK_CA_BUNDLE": str(certificate.file)})

        with pytest.raises(RegistryUnreachable, match=check) as failure:
            get(world, server.url)

        assert (server.requests, server.connections, world.waits) == ((), 1, [])
        assert server.host in str(failure.value)


def test_an_unknown_authority_is_final(tmp_path: Path) -> None:
    with RecordingServer(answer(), certificate=make_certificate(tmp_path)) as server:
        world = asker()

        with pytest.raises(RegistryUnreachable, match="self-signed certificate") as failure:
            get(world, server.url)

        assert (server.requests, server.connections, world.waits) == ((), 1, [])
        assert server.host in str(failure.value)
        assert "XPLOCK_CA_BUNDLE" in str(failure.value)


def test_a_private_authority_given_in_settings_is_trusted(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    with RecordingServer(answer(200, b"content"), certificate=certificate) as server:
        world = asker(environ={"XPLOCK_CA_BUNDLE": str(certificate.file)})

        assert [get(world, server.url) for _ in range(3)] == [b"content"] * 3
        assert server.connections == 1


@pytest.mark.parametrize("content", [None, "", "no certificate"])
def test_authorities_that_cannot_be_read_are_the_operators_mistake(
    tmp_path: Path, content: str | None
) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content)

    with pytest.raises(InvalidInput, match="XPLOCK_CA_BUNDLE"):
        get(asker(environ={"XPLOCK_CA_BUNDLE": str(file)}), "https://registry.example/")


def test_a_connection_that_breaks_in_the_handshake_is_tried_again() -> None:
    with RecordingServer(answer()) as server:
        server.verify_request = lambda *_: False  # type: ignore[method-assign]  # hangs up at once
        world = asker(limits=bounded(attempts=3, attempts_unanswered=3))

        with pytest.raises(RegistryUnreachable, match="tried 3 times"):
            get(world, f"https://{server.host}/")


# Proxies


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy"])
def test_a_proxy_from_the_environment_is_used(variable: str) -> None:
    with RecordingServer(answer(200, b"through the proxy")) as proxy:
        world = asker("registry.example", environ={variable: proxy.url})

        assert get(world, "http://registry.example/v2/") == b"through the proxy"
        assert [request.target for request in proxy.requests] == ["http://registry.example/v2/"]
        assert proxy.requests[0].headers["Host"] == "registry.example"


def test_a_proxy_gets_its_own_password_and_the_registry_does_not(canary: str) -> None:
    with RecordingServer(answer()) as proxy, RecordingServer(answer()) as direct:
        proxy_url = f"http://robin:p%40{canary}@{proxy.host}"
        world = asker(
            "registry.example", direct.host, environ={"HTTP_PROXY": proxy_url, "NO_PROXY": "127.0.0.1"}
        )

        get(world, "http://registry.example/")
        get(world, direct.url)

        assert proxy.requests[0].headers["Proxy-Authorization"].startswith("Basic ")
        assert direct.requests[0].headers["Proxy-Authorization"] is None
        assert not direct.saw(canary)


@pytest.mark.parametrize(
    "no_proxy", ["127.0.0.1", "*", "other.example,127.0.0.1", "{host}", " 127.0.0.1 , x"]
)
def test_hosts_that_need_no_proxy_are_asked_directly(no_proxy: str) -> None:
    with RecordingServer(answer(503)) as proxy, RecordingServer(answer(200, b"direct")) as server:
        environ = {"HTTP_PROXY": proxy.url, "NO_PROXY": no_proxy.format(host=server.host)}

        assert get(asker(server.host, environ=environ), server.url) == b"direct"
        assert proxy.connections == 0


def test_a_proxy_for_https_is_asked_for_a_tunnel_and_nothing_else(canary: str) -> None:
    with RecordingServer(answer()) as proxy:
        # The rig knows no CONNECT, so the tunnel is refused.
        world = asker(environ={"HTTPS_PROXY": proxy.url}, limits=bounded(attempts_unanswered=1, attempts=1))

        with pytest.raises(RegistryUnreachable, match=r"registry\.example"):
            get(world, "https://registry.example/", headers={"Authorization": canary})

        assert proxy.connections == 1
        assert not proxy.saw(canary)


@pytest.mark.parametrize(
    "proxy", ["robin:{canary}@proxy.example:port", "http://robin:{canary}@[x", "socks5://robin:{canary}@p:1"]
)
def test_the_error_for_an_invalid_proxy_does_not_show_its_password(proxy: str, canary: str) -> None:
    world = asker("registry.example", environ={"HTTP_PROXY": proxy.format(canary=canary)})

    with pytest.raises(InvalidInput, match="proxy") as refusal:
        get(world, "http://registry.example/")

    assert canary not in str(refusal.value)


@pytest.mark.parametrize(
    ("environ", "proxies"),
    [
        ({}, {}),
        ({"HTTPS_PROXY": "a"}, {"https": "a"}),
        ({"HTTPS_PROXY": "a", "https_proxy": "b"}, {"https": "b"}),
        ({"https_proxy": "b", "HTTPS_PROXY": "a"}, {"https": "b"}),
        ({"HTTPS_PROXY": "a", "https_proxy": ""}, {}),
        ({"NO_PROXY": "x,y", "HTTP_PROXY": "a"}, {"no": "x,y", "http": "a"}),
        ({"PROXY": "a", "OTHER": "b"}, {}),
    ],
)
def test_the_lower_case_spelling_of_a_proxy_wins(environ: dict[str, str], proxies: dict[str, str]) -> None:
    assert read_proxies(environ) == proxies


# Many at once


class Crowd:
    """Counts how many are being served at once, everywhere and by each server."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.here: dict[int, int] = {}
        self.most_here = 0
        self.most = 0

    def count_at(self, place: int, enough: Callable[[], bool]) -> Callable[[object], Answer]:
        """Serve slowly, until there are enough."""

        def handle(_: object) -> Answer:
            with self.changed:
                self.here[place] = self.here.get(place, 0) + 1
                self.most_here = max(self.most_here, self.here[place])
                self.most = max(self.most, sum(self.here.values()))
                self.changed.notify_all()
                # If one more than allowed can come, it will by then.
                self.changed.wait_for(enough, 0.3)
                self.here[place] -= 1
            return answer(200, b"content")

        return handle


def test_at_most_so_many_requests_are_under_way_on_one_host() -> None:
    crowd = Crowd()
    with RecordingServer(crowd.count_at(0, lambda: crowd.most_here > 4)) as server:
        world = asker(server.host, limits=bounded(parallel_per_host=4))

        with ThreadPoolExecutor(12) as threads:
            answers = list(threads.map(lambda n: get(world, f"{server.url}/{n}"), range(12)))

        assert answers == [b"content"] * 12
        assert crowd.most_here == 4
        assert server.connections <= 4


def test_a_limit_holds_for_requests_to_all_hosts_together() -> None:
    crowd = Crowd()
    servers = [RecordingServer(crowd.count_at(place, lambda: crowd.most > 8)) for place in range(3)]
    with servers[0], servers[1], servers[2]:
        world = asker(*(server.host for server in servers), limits=bounded(parallel=8, parallel_per_host=4))
        urls = [f"{server.url}/{n}" for n in range(4) for server in servers]

        with ThreadPoolExecutor(12) as threads:
            list(threads.map(lambda url: get(world, url), urls))

        assert crowd.most == 8


def test_a_request_that_waits_for_a_turn_waits_until_the_deadline_and_no_longer() -> None:
    arrived: list[int] = []
    for seconds in growing(0.3, until=lambda: arrived[-1] > 0):
        with RecordingServer(silence()) as server, ThreadPoolExecutor(3) as threads:
            world = asker(server.host, limits=bounded(parallel_per_host=1), seconds=seconds)
            outcomes = [threads.submit(get, world, server.url) for _ in range(3)]
            errors = [outcome.exception() for outcome in outcomes]
            arrived.append(len(server.requests))
            host = server.host

    assert all(isinstance(error, DeadlineExceeded) for error in errors)
    assert all(host in str(error) for error in errors)
    assert arrived[-1] == 1


def test_nothing_is_asked_once_the_time_is_up() -> None:
    with RecordingServer(answer()) as server:
        world = asker(server.host, seconds=0)

        with pytest.raises(DeadlineExceeded):
            get(world, server.url)

        assert server.connections == 0


def test_secrets_are_not_shown_by_a_request_itself(canary: str) -> None:
    request = HttpRequest("https://a.example/", {"Authorization": canary}, body=canary.encode())

    assert canary not in repr(request)
    assert canary not in repr(asker(environ=logins({"a.example": canary})).transport)


def test_a_transport_needs_nothing_before_it_is_asked() -> None:
    # A settings mistake that no request meets is nobody's problem.
    world = asker(environ={"XPLOCK_CA_BUNDLE": "/no/such/file", "HTTP_PROXY": "::"})

    assert isinstance(world.transport, Transport)
    assert world.transport.limits == Limits()
