"""The rig itself: the real registry guards what it should, and the fake one fails as it should."""

import base64
import hashlib
import http.client
import json
import os
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import HTTPRedirectHandler, HTTPSHandler, build_opener
from urllib.request import Request as Question

import pytest
from rig.registry.docker import IDENTITY_TOKEN, RunningRegistry, docker_registry
from rig.registry.http_server import (
    Answer,
    Certificate,
    RecordingServer,
    Request,
    Route,
    answer,
    drip,
    drip_headers,
    endless,
    garbage_chunking,
    huge,
    in_turn,
    late,
    make_certificate,
    no_length_close,
    redirect,
    reset,
    short_body,
    silence,
)
from rig.registry.in_memory import MANIFEST, MiniRegistry

SECONDS = 30.0


@dataclass(frozen=True)
class Reply:
    """An answer as the client sees it, good or bad."""

    status: int
    headers: Message
    body: bytes


class _Staying(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """Follow nothing."""


def ask(
    url: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    trust: Path | None = None,
) -> Reply:
    """Ask once, without proxies or redirects."""
    context = ssl.create_default_context(cafile=trust)
    opener = build_opener(_Staying(), HTTPSHandler(context=context))
    question = Question(url, data=body, headers=dict(headers or {}), method=method)
    try:
        with opener.open(question, timeout=SECONDS) as reply:
            return Reply(reply.status, reply.headers, reply.read())
    except HTTPError as error:
        with error:
            return Reply(error.code, error.headers, error.read())


def basic(username: str, password: str) -> dict[str, str]:
    """Return the header of Basic authentication."""
    return {"Authorization": "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()}


def push(registry: RunningRegistry, repository: str, tag: str) -> bytes:
    """Put an image without layers into a registry, and return its manifest."""
    digest = f"sha256:{hashlib.sha256(b'{}').hexdigest()}"
    config = {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest, "size": 2}
    started = ask(f"{registry.url}/v2/{repository}/blobs/uploads/", method="POST", body=b"")
    upload = f"{started.headers['Location']}&digest={digest}"
    kind = {"Content-Type": "application/octet-stream"}
    assert ask(upload, method="PUT", headers=kind, body=b"{}").status == 201
    manifest = json.dumps(
        {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": []}
    ).encode()
    address = f"{registry.url}/v2/{repository}/manifests/{tag}"
    assert ask(address, method="PUT", headers={"Content-Type": MANIFEST}, body=manifest).status == 201
    return manifest


def token_for(registry: RunningRegistry, scope: str) -> str:
    """Fetch a token as its user would."""
    assert registry.tokens is not None
    url = f"{registry.tokens.realm}?{urlencode({'service': 'any', 'scope': scope})}"
    reply = ask(url, headers=basic(registry.username, registry.password))
    return str(json.loads(reply.body)["token"])


@contextmanager
def answering(route: Route) -> Iterator[http.client.HTTPConnection]:
    """Serve one route for everything, and connect to it."""
    with RecordingServer(route) as server:
        connection = http.client.HTTPConnection(server.host, timeout=SECONDS)
        try:
            connection.request("GET", "/")
            yield connection
        finally:
            connection.close()


def test_an_open_registry_answers_anyone(open_registry: RunningRegistry) -> None:
    assert ask(f"{open_registry.url}/v2/").status == 200


def test_a_registry_with_passwords_answers_only_its_user(htpasswd_registry: RunningRegistry) -> None:
    url = f"{htpasswd_registry.url}/v2/"
    right = basic(htpasswd_registry.username, htpasswd_registry.password)
    wrong = basic(htpasswd_registry.username, "a guess")

    replies = [ask(url), ask(url, headers=wrong), ask(url, headers=right)]

    assert [reply.status for reply in replies] == [401, 401, 200]
    assert replies[0].headers["WWW-Authenticate"].startswith("Basic ")


def test_a_registry_with_tokens_names_its_token_server(token_registry: RunningRegistry) -> None:
    assert token_registry.tokens is not None

    reply = ask(f"{token_registry.url}/v2/some/name/tags/list")

    assert reply.status == 401
    assert reply.headers["WWW-Authenticate"].startswith(f'Bearer realm="{token_registry.tokens.realm}"')


def test_a_token_opens_its_own_repository_and_no_other(
    open_registry: RunningRegistry, token_registry: RunningRegistry
) -> None:
    manifest = push(open_registry, "rig/mine", "v1.0.0")
    push(open_registry, "rig/other", "v1.0.0")
    bearer = {"Authorization": f"Bearer {token_for(token_registry, 'repository:rig/mine:pull')}"}

    mine = ask(f"{token_registry.url}/v2/rig/mine/manifests/v1.0.0", headers=bearer | {"Accept": MANIFEST})
    other = ask(f"{token_registry.url}/v2/rig/other/manifests/v1.0.0", headers=bearer | {"Accept": MANIFEST})

    assert (mine.status, mine.body) == (200, manifest)
    assert other.status == 401
    assert 'error="insufficient_scope"' in other.headers["WWW-Authenticate"]


def test_a_token_to_pull_does_not_push(token_registry: RunningRegistry) -> None:
    bearer = {"Authorization": f"Bearer {token_for(token_registry, 'repository:rig/mine:pull')}"}

    reply = ask(f"{token_registry.url}/v2/rig/mine/blobs/uploads/", method="POST", headers=bearer, body=b"")

    assert reply.status == 401
    assert 'error="insufficient_scope"' in reply.headers["WWW-Authenticate"]


def test_registries_with_tokens_over_one_folder_keep_their_own_keys(tmp_path: Path) -> None:
    with docker_registry(tmp_path, "token") as first, docker_registry(tmp_path, "token") as second:
        bearers = [{"Authorization": f"Bearer {token_for(registry, '')}"} for registry in (first, second)]

        statuses = [ask(f"{first.url}/v2/", headers=bearer).status for bearer in bearers]

    assert statuses == [200, 401]


def test_registries_over_one_folder_share_their_data(
    open_registry: RunningRegistry, htpasswd_registry: RunningRegistry
) -> None:
    push(open_registry, "rig/shared", "v1.0.0")

    right = basic(htpasswd_registry.username, htpasswd_registry.password)
    reply = ask(f"{htpasswd_registry.url}/v2/rig/shared/tags/list", headers=right)

    assert json.loads(reply.body)["tags"] == ["v1.0.0"]


def test_the_token_server_accepts_its_user_and_no_other(token_registry: RunningRegistry) -> None:
    assert token_registry.tokens is not None
    realm = token_registry.tokens.realm
    right = basic(token_registry.username, token_registry.password)
    wrong = basic(token_registry.username, "a guess")

    statuses = [ask(realm, headers=headers).status for headers in ({}, wrong, right)]

    assert statuses == [401, 401, 200]


def test_the_token_server_can_let_the_anonymous_in(registry_folder: Path) -> None:
    with docker_registry(registry_folder, "token", anonymous=True) as registry:
        assert registry.tokens is not None

        reply = ask(f"{registry.tokens.realm}?scope=repository:rig/mine:pull")
        bearer = {"Authorization": f"Bearer {json.loads(reply.body)['token']}"}

        assert ask(f"{registry.url}/v2/", headers=bearer).status == 200


@pytest.mark.parametrize(("identity", "status"), [(IDENTITY_TOKEN, 200), ("a guess", 401)])
def test_an_identity_token_is_traded_for_an_access_token(
    token_registry: RunningRegistry, identity: str, status: int
) -> None:
    assert token_registry.tokens is not None
    form = {"grant_type": "refresh_token", "refresh_token": identity, "scope": "repository:rig/mine:pull"}

    reply = ask(token_registry.tokens.realm, method="POST", body=urlencode(form).encode())

    assert reply.status == status
    assert ("access_token" in json.loads(reply.body)) == (status == 200)
    assert token_registry.tokens.requests[-1].mentions(identity)


def test_a_missing_registry_program_is_an_error_that_names_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with (
        pytest.raises(AssertionError, match="Debian's package docker-registry"),
        docker_registry(tmp_path, "open"),
    ):
        pass


def test_a_stopped_registry_is_gone(tmp_path: Path) -> None:
    with docker_registry(tmp_path, "open") as registry:
        url = registry.url

    with pytest.raises(URLError):
        ask(url)


def test_every_request_is_recorded_in_order(canary: str) -> None:
    with RecordingServer({"/a": answer(200, b"A"), "/a?b=c": answer(200, b"B")}) as server:
        bodies = [ask(f"{server.url}{target}").body for target in ("/a", "/a?b=c", "/a?d")]
        ask(f"{server.url}/elsewhere", method="PUT", headers=basic("robin", canary), body=b"content")

        assert bodies == [b"A", b"B", b"A"]
        assert [request.target for request in server.requests] == ["/a", "/a?b=c", "/a?d", "/elsewhere"]
        last = server.requests[-1]
        assert (last.method, last.body, last.credentials) == ("PUT", b"content", f"robin:{canary}")
        assert server.saw(canary)
        assert not server.saw("another secret")


def test_a_record_can_start_anew() -> None:
    with RecordingServer(answer()) as server:
        ask(server.url)
        server.forget()

        assert (server.requests, server.connections) == ((), 0)


def test_a_chunked_request_is_read_whole() -> None:
    with RecordingServer(answer()) as server:
        connection = http.client.HTTPConnection(server.host, timeout=SECONDS)
        connection.request("PUT", "/", body=iter([b"one ", b"two"]), encode_chunked=True)
        connection.getresponse().read()
        connection.request("GET", "/next")
        connection.getresponse().read()
        connection.close()

        assert [request.body for request in server.requests] == [b"one two", b""]
        assert server.connections == 1


def test_a_handler_decides_by_request_and_may_decline() -> None:
    def only_get(request: Request) -> Answer | None:
        return answer(204) if request.method == "GET" else None

    with RecordingServer(only_get) as server:
        assert [ask(server.url, method=method).status for method in ("GET", "DELETE")] == [204, 404]


@pytest.mark.parametrize("mistake", [LookupError("a mistake"), FileNotFoundError("a mistake")])
def test_a_handler_that_fails_fails_the_test(mistake: Exception) -> None:
    def failing(_: Request) -> Answer:
        raise mistake

    server = RecordingServer(failing)

    with pytest.raises(AssertionError, match="a handler of the server failed") as failure, server:
        assert ask(server.url).status == 500

    assert failure.value.__cause__ is mistake


def test_answers_come_in_turn_and_the_last_repeats() -> None:
    with RecordingServer(in_turn([answer(503), lambda _: answer(429), answer(200)])) as server:
        assert [ask(server.url).status for _ in range(4)] == [503, 429, 200, 200]


def test_an_answer_to_head_has_no_body() -> None:
    with RecordingServer({"/a": answer(200, b"four"), "/b": endless(b"x")}) as server:
        reply = ask(f"{server.url}/a", method="HEAD")

        assert (reply.headers["Content-Length"], reply.body) == ("4", b"")
        assert ask(f"{server.url}/b", method="HEAD").body == b""


def test_a_header_can_be_sent_twice() -> None:
    twice = [("WWW-Authenticate", "Basic"), ("WWW-Authenticate", "Bearer")]
    with RecordingServer(answer(401, headers=twice)) as server:
        assert ask(server.url).headers.get_all("WWW-Authenticate") == ["Basic", "Bearer"]


def test_a_redirect_names_the_other_place() -> None:
    with RecordingServer(redirect("http://127.0.0.1:1/x", 302)) as server:
        reply = ask(server.url)

        assert (reply.status, reply.headers["Location"]) == (302, "http://127.0.0.1:1/x")


def test_a_late_answer_comes_after_a_while() -> None:
    with RecordingServer(late(answer(200, b"at last"), 0.01)) as server:
        assert ask(server.url).body == b"at last"


def test_a_late_answer_does_not_come_at_once() -> None:
    with RecordingServer(late(answer(200, b"at last"), 3600)) as server, _connected(server) as client:
        server.wait_for(1)
        client.settimeout(0.1)
        with pytest.raises(TimeoutError):
            client.recv(1)


def test_a_short_body_ends_before_its_announced_length() -> None:
    with (
        answering(short_body(b"half", 8)) as connection,
        pytest.raises(http.client.IncompleteRead) as failure,
    ):
        connection.getresponse().read()

    assert failure.value.partial == b"half"


def test_a_body_without_length_ends_with_the_connection() -> None:
    with answering(no_length_close(b"all of it")) as connection:
        reply = connection.getresponse()

        assert (reply.getheader("Content-Length"), reply.read()) == (None, b"all of it")


@pytest.mark.parametrize("dripping", [drip, drip_headers])
def test_a_drip_arrives_whole_in_the_end(dripping: Callable[[bytes, float], Answer]) -> None:
    with RecordingServer(dripping(b"drops", 0.001)) as server:
        assert ask(server.url).body == b"drops"


def test_a_dripping_body_comes_byte_by_byte() -> None:
    with answering(drip(b"ab", SECONDS)) as connection:
        assert connection.getresponse().read1() == b"a"


def test_dripping_headers_come_byte_by_byte() -> None:
    with RecordingServer(drip_headers(b"", SECONDS)) as server, _connected(server) as client:
        assert client.recv(100) == b"H"


def test_silence_lasts_until_the_server_stops() -> None:
    with RecordingServer(silence()) as server, _connected(server) as client:
        server.wait_for(1)
        client.settimeout(0.1)
        with pytest.raises(TimeoutError):
            client.recv(1)

        server.stopping.set()
        client.settimeout(SECONDS)
        assert client.recv(1) == b""


@pytest.mark.parametrize(
    "misbehaviour", [silence(), drip(b"ab", 3600), endless(b"x" * 9999), lambda _: silence()]
)
def test_a_server_stops_at_once_in_the_middle_of_any_handler(misbehaviour: Route) -> None:
    with RecordingServer(misbehaviour) as server:
        client = _connected(server)
        server.wait_for(1)

    # Stopping fails by itself where a handler is stuck.
    assert server.stopping.is_set()
    client.close()


def test_a_server_stops_with_an_idle_client() -> None:
    with RecordingServer(answer()) as server:
        client = socket.create_connection(server.socket.getsockname()[:2], SECONDS)

    # Stopping fails by itself where a handler is stuck.
    assert server.stopping.is_set()
    client.close()


def test_a_reset_without_an_answer() -> None:
    with answering(reset()) as connection, pytest.raises(ConnectionResetError):
        connection.getresponse()


def test_a_reset_in_the_middle_of_a_body() -> None:
    with answering(reset(after=b"half")) as connection:
        reply = connection.getresponse()

        assert reply.read1() == b"half"
        with pytest.raises(ConnectionResetError):
            reply.read()


@pytest.mark.parametrize("chunked", [False, True])
def test_an_endless_body_goes_on(chunked: bool) -> None:
    with answering(endless(b"again ", chunked=chunked)) as connection:
        reply = connection.getresponse()

        assert reply.getheader("Content-Length") is None
        assert reply.read(6 * 100_000) == b"again " * 100_000


@pytest.mark.parametrize("with_length", [False, True])
def test_a_huge_body_is_as_long_as_asked(with_length: bool) -> None:
    with answering(huge(1_000_001, with_length=with_length)) as connection:
        reply = connection.getresponse()

        assert reply.getheader("Content-Length") == ("1000001" if with_length else None)
        assert len(reply.read()) == 1_000_001


def test_garbage_instead_of_chunks() -> None:
    with answering(garbage_chunking()) as connection, pytest.raises(http.client.IncompleteRead):
        connection.getresponse().read()


def test_a_client_that_leaves_is_no_error() -> None:
    with RecordingServer({"/huge": huge(10**9, with_length=True), "/": answer()}) as server:
        connection = http.client.HTTPConnection(server.host, timeout=SECONDS)
        connection.request("GET", "/huge")
        connection.getresponse().close()
        connection.close()

        assert ask(f"{server.url}/").status == 200


def test_a_client_that_leaves_while_asking_is_no_error() -> None:
    with RecordingServer(answer()) as server:
        with socket.create_connection(server.socket.getsockname()[:2], SECONDS) as client:
            client.sendall(b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nha")

        assert ask(server.url).status == 200


def test_a_private_certificate_is_trusted_through_its_file(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    with RecordingServer(answer(200, b"secret"), certificate=certificate) as server:
        assert ask(server.url, trust=certificate.file).body == b"secret"
        with pytest.raises(URLError, match="self-signed certificate"):
            ask(server.url)

        assert (len(server.requests), server.connections) == (1, 2)


@pytest.mark.parametrize(
    ("name", "days", "complaint"),
    [("other.example", 30, "IP address mismatch"), ("127.0.0.1", -1, "certificate has expired")],
)
def test_a_wrong_certificate_is_refused_for_its_fault(
    tmp_path: Path, name: str, days: int, complaint: str
) -> None:
    certificate = make_certificate(tmp_path, name=name, days=days)
    with RecordingServer(answer(), certificate=certificate) as server:
        with pytest.raises(URLError, match=complaint):
            ask(server.url, trust=certificate.file)

        assert (server.requests, server.connections) == ((), 1)


@pytest.mark.parametrize("misbehaviour", [silence(), endless(b"x")])
def test_a_server_with_tls_stops_at_once_too(tmp_path: Path, misbehaviour: Answer) -> None:
    certificate = make_certificate(tmp_path)
    with RecordingServer(misbehaviour, certificate=certificate) as server:
        client = _connected(server, certificate)
        server.wait_for(1)

    # Stopping fails by itself where a handler is stuck.
    assert server.stopping.is_set()
    client.close()


def test_a_reset_is_a_reset_under_tls_too(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    with RecordingServer(reset(), certificate=certificate) as server:
        # Before Python 3.13 the ssl module shows a reset as an ordinary end, so look below it.
        client = socket.socket(fileno=_connected(server, certificate).detach())
        client.settimeout(SECONDS)

        with client, pytest.raises(ConnectionResetError):
            while client.recv(1000):
                pass


def test_a_client_that_speaks_tls_to_a_plain_server_asks_nothing() -> None:
    with RecordingServer(answer()) as server:
        with pytest.raises(URLError):
            ask(f"https://{server.host}/")

        assert (server.requests, server.connections) == ((), 1)


def test_a_server_can_live_on_ipv6() -> None:
    with RecordingServer(answer(), address="::1") as server:
        assert server.host.startswith("[::1]:")
        assert ask(server.url).status == 200


def test_a_mini_registry_serves_what_was_added() -> None:
    with MiniRegistry() as mini:
        layer = mini.add_blob(b"layer")
        digest = mini.add_manifest("some/name", "v1.0.0", b"{}", MANIFEST)
        repository = f"{mini.url}/v2/some/name"

        by_tag = ask(f"{repository}/manifests/v1.0.0")
        head = ask(f"{repository}/manifests/{digest}", method="HEAD")

        assert ask(f"{mini.url}/v2/").status == 200
        assert (by_tag.body, by_tag.headers["Content-Type"]) == (b"{}", MANIFEST)
        assert (head.status, head.headers["Docker-Content-Digest"], head.body) == (200, digest, b"")
        assert ask(f"{repository}/blobs/{layer['digest']}").body == b"layer"
        assert ask(f"{repository}/manifests/v2.0.0").status == 404
        assert ask(f"{repository}/blobs/{digest}").status == 404
        assert ask(f"{mini.url}/v2/another/tags/list").status == 404
        assert len(mini.requests) == 7


def test_a_manifest_without_a_tag_is_found_by_digest_alone() -> None:
    with MiniRegistry() as mini:
        digest = mini.add_manifest("some/name", None, b"{}")

        assert ask(f"{mini.url}/v2/some/name/manifests/{digest}").status == 200
        assert json.loads(ask(f"{mini.url}/v2/some/name/tags/list").body)["tags"] == []


def test_tags_come_in_pages() -> None:
    with MiniRegistry(page_size=2) as mini:
        for tag in ("v3", "v1", "v2"):
            mini.add_manifest("some/name", tag, b"{}")

        first = ask(f"{mini.url}/v2/some/name/tags/list?n=1000")
        second = ask(f"{mini.url}{first.headers['Link'].partition('>')[0].removeprefix('<')}")

        assert json.loads(first.body)["tags"] == ["v1", "v2"]
        assert json.loads(second.body)["tags"] == ["v3"]
        assert second.headers["Link"] is None


def test_one_path_of_a_mini_registry_can_misbehave_and_recover() -> None:
    with MiniRegistry(latency=0.001) as mini:
        mini.add_manifest("some/name", "v1.0.0", b"{}")
        path = "/v2/some/name/manifests/v1.0.0"
        mini.override(path, in_turn([answer(503), mini.serve]))

        assert [ask(f"{mini.url}{path}").status for _ in range(2)] == [503, 200]
        assert ask(f"{mini.url}/v2/some/name/tags/list").status == 200


def test_the_settings_of_the_user_are_hidden(tmp_path: Path) -> None:
    assert not [name for name in os.environ if name.upper().endswith("_PROXY") or name.startswith("XPLOCK_")]
    assert list(Path.home().iterdir()) == []
    assert list(Path(os.environ["DOCKER_CONFIG"]).iterdir()) == []
    assert list(tmp_path.iterdir()) == []


def _connected(server: RecordingServer, certificate: Certificate | None = None) -> socket.socket:
    client = socket.create_connection(server.socket.getsockname()[:2], SECONDS)
    if certificate is not None:
        context = ssl.create_default_context(cafile=certificate.file)
        client = context.wrap_socket(client, server_hostname="127.0.0.1")
    client.sendall(b"GET / HTTP/1.1\r\n\r\n")
    return client
