"""Challenges and tokens: credentials go to their registry and to trusted token servers only."""

import base64
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from rig.commands.run import run_command
from rig.registry.client import Clock, asker, bounded, logins, named, source
from rig.registry.docker import RunningRegistry
from rig.registry.http_server import (
    Answer,
    RecordingServer,
    Request,
    answer,
    in_turn,
    make_certificate,
    redirect,
)
from rig.registry.in_memory import MiniRegistry
from rig.registry.package_images import add_package, challenged, counted

from render.errors import RenderError
from render.limits import LimitExceeded, Limits
from render.references import Digest
from render.registry.access import RegistrySettings
from render.registry.credentials import CredentialStore
from render.registry.http.addresses import RequestRefused, api_address
from render.registry.http.messages import HttpRequest, HttpResponse
from render.registry.http.transport import Transport
from render.registry.tokens import AccessDenied, Authenticator, Challenge, parse_challenge, without_secrets
from render.system.deadline import Deadline


def token(text: str, **more: object) -> Answer:
    """Answer as a token server does."""
    return answer(200, json.dumps({"token": text, **more}).encode())


def bearer(realm: str, service: str = "") -> str:
    """Return the challenge of a registry with tokens."""
    return f'Bearer realm="{realm}",service="{service}",scope="ignored"'


def basic(password: str) -> str:
    """Return the header of robin with a password."""
    return "Basic " + base64.b64encode(f"robin:{password}".encode()).decode()


def registry_with_tokens(mini: MiniRegistry, realm: str, accepted: str) -> Callable[[Request], Answer]:
    """Serve those who bring the accepted token, and send others to a realm."""
    return challenged(mini, bearer(realm, "some-service"), f"Bearer {accepted}")


@pytest.fixture
def mini() -> MiniRegistry:
    """A small registry with one package; it does not listen, others serve it."""
    registry = MiniRegistry()
    add_package(registry)
    registry.server.server_close()
    return registry


@pytest.mark.parametrize(
    ("header", "challenge"),
    [
        ('Bearer realm="https://a/t",service="s",scope="x"', Challenge("bearer", "https://a/t", "s")),
        ('bearer REALM="https://a/t"', Challenge("bearer", "https://a/t")),
        ("Bearer realm=https://a/t, service=s", Challenge("bearer", "https://a/t", "s")),
        ('Bearer realm = "https://a/t" , service = "s"', Challenge("bearer", "https://a/t", "s")),
        ('Bearer realm="https://a/t?x=1,2"', Challenge("bearer", "https://a/t?x=1,2")),
        ('Bearer service="s",realm="https://a/t"', Challenge("bearer", "https://a/t", "s")),
        (r'Bearer realm="https://a/t",service="a \"b\" c"', Challenge("bearer", "https://a/t", 'a "b" c')),
        ('Bearer realm="https://a/t", basic realm="b"', Challenge("bearer", "https://a/t")),
        ('Basic realm="b", Bearer realm="https://a/t"', Challenge("bearer", "https://a/t")),
        ('Bearer realm="https://a/t, basic x",service="s"', Challenge("bearer", "https://a/t, basic x", "s")),
        ('Digest realm="d", nonce="n", Basic realm="b"', Challenge("basic", "b")),
        ('Basic realm="b", Digest realm="d"', Challenge("basic", "b")),
        ("Negotiate, Basic", Challenge("basic")),
        ("Negotiate dG9rZW4=, Basic realm=b", Challenge("basic", "b")),
        ("Basic", Challenge("basic")),
        ('BASIC realm=""', Challenge("basic")),
        ('Bearer realm="https://a/t', None),
        ("Bearer", None),
        ('Bearer service="s"', None),
        ("Digest realm=d", None),
        ('realm="https://a/t"', None),
        ("", None),
    ],
)
def test_a_challenge_is_read_as_it_was_meant(header: str, challenge: Challenge | None) -> None:
    assert parse_challenge(header) == challenge


def test_the_longest_header_does_not_hold_us_up() -> None:
    # Looking at everything once for everything takes twenty seconds and more for each of these.
    script = """
from render.registry.tokens import parse_challenge
for piece in ["a", "a ", ", ", "a=", 'a="', '"', "\\\\", "basic,", "a=b", "bearer realm="]:
    parse_challenge(piece * (65_536 // len(piece)))
"""

    done = subprocess.run([sys.executable, "-c", script], timeout=100, check=False)

    assert done.returncode == 0


def test_a_token_is_fetched_for_the_repository_and_used(mini: MiniRegistry, canary: str) -> None:
    with RecordingServer() as server:
        server.routes["/token"] = token(canary)
        server.routes["/v2/some/name/manifests/v1.0.0"] = registry_with_tokens(
            mini, f"{server.url}/token", canary
        )

        asker(server.host).client.content(named(server.host))

        first, asked, second = server.requests
        assert first.headers["Authorization"] is None
        assert parse_qs(asked.query) == {"service": ["some-service"], "scope": ["repository:some/name:pull"]}
        assert asked.headers["Authorization"] is None
        assert second.headers["Authorization"] == f"Bearer {canary}"


def test_a_realm_on_the_same_host_and_port_sees_the_credentials(mini: MiniRegistry, canary: str) -> None:
    with RecordingServer() as server:
        server.routes["/token"] = token("granted")
        server.routes["/v2/some/name/manifests/v1.0.0"] = registry_with_tokens(
            mini, f"{server.url}/token?account=x", "granted"
        )

        asker(server.host, environ=logins({server.host: canary})).client.content(named(server.host))

        first, asked, second = server.requests
        assert (first.credentials, asked.credentials) == ("", f"robin:{canary}")
        assert parse_qs(asked.query)["account"] == ["x"]
        assert not second.mentions(canary)


def test_a_realm_on_another_port_sees_no_credentials(mini: MiniRegistry, canary: str) -> None:
    with RecordingServer(token("granted")) as elsewhere, RecordingServer() as server:
        server.routes["/v2/some/name/manifests/v1.0.0"] = registry_with_tokens(
            mini, f"{elsewhere.url}/token", "granted"
        )
        environ = logins({server.host: canary, elsewhere.host: f"other-{canary}"})

        with pytest.raises(RequestRefused) as refusal:
            asker(server.host, elsewhere.host, environ=environ).client.content(named(server.host))

        assert elsewhere.connections == 0
        assert f"XPLOCK_TRUSTED_REALMS={server.host}={elsewhere.host}" in str(refusal.value)
        assert canary not in str(refusal.value)


def test_a_trusted_realm_sees_the_credentials(mini: MiniRegistry, canary: str) -> None:
    with RecordingServer(token("granted")) as elsewhere, RecordingServer() as server:
        server.routes["/v2/some/name/manifests/v1.0.0"] = registry_with_tokens(
            mini, f"{elsewhere.url}/token", "granted"
        )
        trusted = {"XPLOCK_TRUSTED_REALMS": f"{server.host}={elsewhere.host}"}

        asker(
            server.host, elsewhere.host, environ={**logins({server.host: canary}), **trusted}
        ).client.content(named(server.host))

        assert [request.credentials for request in elsewhere.requests] == [f"robin:{canary}"]
        assert not server.saw(canary)


def through_proxy(
    mini: MiniRegistry, realm: str, tokens: Callable[[Request], Answer] | Answer
) -> RecordingServer:
    """Return a proxy that plays the registry at registry.example, and any token server."""

    def handle(request: Request) -> Answer | None:
        if not request.target.startswith("http://registry.example/"):
            return tokens if isinstance(tokens, Answer) else tokens(request)
        below = replace(request, target=request.target.removeprefix("http://registry.example"))
        return registry_with_tokens(mini, realm, "granted")(below)

    return RecordingServer(handle)


def test_an_unknown_public_realm_gets_no_credentials(mini: MiniRegistry, canary: str) -> None:
    realm = "http://auth.example/token"
    with through_proxy(mini, realm, token("granted")) as proxy:
        environ = {"HTTP_PROXY": proxy.url, **logins({"registry.example": canary, "auth.example": canary})}

        asker("registry.example", "auth.example", environ=environ).client.content(named("registry.example"))

        asked = [request for request in proxy.requests if request.target.startswith(realm)]
        assert [request.headers["Authorization"] for request in asked] == [None]
        assert not proxy.saw(canary)


@pytest.mark.parametrize(
    "realm",
    [
        "http://169.254.169.254/latest/meta-data",
        "http://127.0.0.1:1/token",
        "http://2130706433/token",
        "http://[::1]/token",
        "http://localhost/token",
        "http://10.0.0.1/token",
        "http://[fd00:ec2::254]/latest",
    ],
)
def test_a_realm_inside_a_network_is_never_asked(mini: MiniRegistry, canary: str, realm: str) -> None:
    host = realm.removeprefix("http://").partition("/")[0]
    with through_proxy(mini, realm, token("granted")) as proxy:
        environ = {
            "HTTP_PROXY": proxy.url,
            "XPLOCK_PLAIN_HTTP": f"registry.example,{host if host != '2130706433' else '127.0.0.1'}",
            **logins({"registry.example": canary}),
        }

        with pytest.raises(RequestRefused, match="inside a network"):
            asker(environ=environ).client.content(named("registry.example"))

        assert [request.target for request in proxy.requests] == [
            "http://registry.example/v2/some/name/manifests/v1.0.0"
        ]


@pytest.mark.parametrize(
    ("realm", "why"),
    [
        ("http://user:{canary}@auth.example/token", "not a plain http or https URL"),
        ("ftp://auth.example/token", "not a plain http or https URL"),
        ("/token", "not a plain http or https URL"),
        ("http://auth.example/token", "asked without TLS"),
    ],
)
def test_an_odd_realm_is_refused(mini: MiniRegistry, canary: str, realm: str, why: str) -> None:
    with through_proxy(mini, realm.format(canary=canary), token("granted")) as proxy:
        environ = {"HTTP_PROXY": proxy.url, **logins({"registry.example": canary})}

        with pytest.raises(RequestRefused, match=why) as refusal:
            asker("registry.example", environ=environ).client.content(named("registry.example"))

        assert canary not in str(refusal.value)
        assert len(proxy.requests) == 1


def test_a_registry_with_tls_cannot_have_a_realm_without(
    mini: MiniRegistry, canary: str, tmp_path: Path
) -> None:
    certificate = make_certificate(tmp_path)
    with (
        RecordingServer(token("granted")) as plain,
        RecordingServer(
            registry_with_tokens(mini, f"{plain.url}/token", "granted"), certificate=certificate
        ) as server,
    ):
        environ = {
            "XPLOCK_CA_BUNDLE": str(certificate.file),
            "XPLOCK_TRUSTED_REALMS": f"{server.host}={plain.host}",
            **logins({server.host: canary}),
        }

        with pytest.raises(RequestRefused, match="without TLS"):
            asker(plain.host, environ=environ).client.content(named(server.host))

        assert plain.connections == 0


class FakeTransport(Transport):
    """Remembers what it is asked, and always has a token."""

    asked: tuple[HttpRequest, ...] = ()

    def send(self, request: HttpRequest) -> HttpResponse:
        self.asked += (request,)
        return HttpResponse(200, {}, BytesIO(b'{"token": "granted"}'), Digest(""))


@pytest.mark.parametrize(
    ("registry", "realm", "sees_credentials"),
    [
        ("r.example", "https://r.example/token", True),
        ("r.example", "https://R.Example:443/token", True),
        ("r.example:5000", "https://r.example:5000/token", True),
        ("r.example", "https://r.example:8443/token", False),
        ("r.example:5000", "https://r.example/token", False),
        ("r.example", "https://auth.r.example/token", False),
        ("r.example", "https://r.example.evil.example/token", False),
        ("r.example", "https://r.example./token", False),
        ("docker.io", "https://auth.docker.io/token", True),
        ("index.docker.io", "https://auth.docker.io/token", True),
        ("docker.io", "https://auth.docker.io:8443/token", False),
        ("registry.gitlab.com", "https://gitlab.com/jwt/auth", True),
        ("nvcr.io", "https://authn.nvidia.com/token", True),
        # A realm that is trusted for one registry is not for another.
        ("r.example", "https://auth.docker.io/token", False),
        ("trusting.example", "https://auth.example:8443/token", True),
        ("trusting.example", "https://auth.example/token", False),
        # Without a port in the address, http and https are two ports.
        ("plain.example", "http://plain.example/token", True),
        ("plain.example", "https://plain.example/token", False),
    ],
)
def test_the_hosts_that_get_the_credentials_of_a_registry(
    canary: str, registry: str, realm: str, sees_credentials: bool
) -> None:
    environ = {
        "XPLOCK_PLAIN_HTTP": "plain.example",
        "XPLOCK_TRUSTED_REALMS": "trusting.example=auth.example:8443",
        **logins({registry: canary}),
    }
    settings = RegistrySettings.from_environment(environ)
    transport = FakeTransport(settings, Limits(), Deadline(10))
    authenticator = Authenticator(transport, settings, CredentialStore(environ, Limits(), print))
    asked_for = source(registry)

    authenticator.take_challenge(asked_for, api_address(asked_for)[0], bearer(realm), None)
    header = authenticator.header(asked_for, api_address(asked_for)[0])

    assert header == "Bearer granted"
    expected = {"Authorization": basic(canary)} if sees_credentials else {}
    assert transport.asked[0].headers == expected


def test_a_realm_that_redirects_takes_no_credentials_along(mini: MiniRegistry, canary: str) -> None:
    with RecordingServer(token("granted")) as elsewhere, RecordingServer() as server:
        server.routes["/token"] = redirect(f"{elsewhere.url}/token", 302)
        server.routes["/v2/some/name/manifests/v1.0.0"] = registry_with_tokens(
            mini, f"{server.url}/token", "granted"
        )

        asker(server.host, elsewhere.host, environ=logins({server.host: canary})).client.content(
            named(server.host)
        )

        assert [request.headers["Authorization"] for request in elsewhere.requests] == [None]
        assert not elsewhere.saw(canary)


def test_an_identity_token_is_never_redirected(mini: MiniRegistry, canary: str) -> None:
    with RecordingServer(token("granted")) as elsewhere, RecordingServer() as server:
        server.routes["/token"] = redirect(f"{elsewhere.url}/token", 307)
        server.routes["/v2/some/name/manifests/v1.0.0"] = registry_with_tokens(
            mini, f"{server.url}/token", "granted"
        )
        environ = {
            "DOCKER_AUTH_CONFIG": json.dumps({"auths": {server.host: {"identitytoken": canary}}}),
        }

        with pytest.raises(RequestRefused, match="redirects a POST request"):
            asker(server.host, elsewhere.host, environ=environ).client.content(named(server.host))

        assert elsewhere.connections == 0
        assert server.requests[1].method == "POST"
        assert parse_qs(server.requests[1].body.decode()) == {
            "grant_type": ["refresh_token"],
            "refresh_token": [canary],
            "client_id": ["xplock"],
            "service": ["some-service"],
            "scope": ["repository:some/name:pull"],
        }


def test_one_registrys_credentials_are_never_shown_to_another(mini: MiniRegistry, canary: str) -> None:
    with RecordingServer() as ours, RecordingServer() as theirs:
        for server in (ours, theirs):
            server.routes["/token"] = token("granted")
            server.routes["/v2/some/name/manifests/v1.0.0"] = registry_with_tokens(
                mini, f"{server.url}/token", "granted"
            )
        world = asker(ours.host, theirs.host, environ=logins({ours.host: canary}))

        world.client.content(named(ours.host))
        world.client.content(named(theirs.host))

        assert ours.saw(canary)
        assert not theirs.saw(canary)
        assert [r.headers["Authorization"] for r in theirs.requests if r.path == "/token"] == [None]


def test_a_token_for_one_repository_is_not_shown_for_another(mini: MiniRegistry) -> None:
    add_package(mini, "other/name")

    def tokens(request: Request) -> Answer:
        return token(f"for-{parse_qs(request.query)['scope'][0]}")

    def registry(request: Request) -> Answer:
        name = request.path.removeprefix("/v2/").partition("/manifests")[0]
        accepted = f"for-repository:{name}:pull"
        return registry_with_tokens(mini, f"{server.url}/token", accepted)(request)

    with RecordingServer(registry) as server:
        server.routes["/token"] = tokens
        world = asker(server.host)

        world.client.content(named(server.host))
        world.client.content(named(server.host, "other/name:v1.0.0"))

        shown = [r.headers["Authorization"] for r in server.requests if r.path.startswith("/v2/other/name/")]
        assert shown == ["Bearer for-repository:other/name:pull"]


@pytest.mark.parametrize("order", [["Basic", "Bearer"], ["Bearer", "Basic"]])
def test_challenges_in_two_headers_are_both_read(mini: MiniRegistry, order: list[str]) -> None:
    def registry(request: Request) -> Answer:
        if request.headers["Authorization"] == "Bearer granted":
            return mini.serve(request)
        texts = {"Basic": 'Basic realm="b"', "Bearer": bearer(f"{server.url}/token")}
        return answer(401, headers=[("WWW-Authenticate", texts[scheme]) for scheme in order])

    with RecordingServer(registry) as server:
        server.routes["/token"] = token("granted")

        asker(server.host).client.content(named(server.host))

        assert server.requests[-1].headers["Authorization"] == "Bearer granted"


def test_basic_credentials_are_sent_after_the_registry_asked(mini: MiniRegistry, canary: str) -> None:
    with RecordingServer(challenged(mini, 'Basic realm="x"', basic(canary))) as server:
        asker(server.host, environ=logins({server.host: canary})).client.content(named(server.host))

        assert [request.credentials for request in server.requests] == ["", f"robin:{canary}"]


def test_a_wrong_password_is_sent_once(canary: str) -> None:
    refuse = answer(401, b"no", {"WWW-Authenticate": "Basic"})
    with RecordingServer(refuse) as server:
        with pytest.raises(AccessDenied, match="the credentials found for it were sent") as denial:
            asker(server.host, environ=logins({server.host: canary})).client.content(named(server.host))

        assert [request.credentials for request in server.requests] == ["", f"robin:{canary}"]
        assert canary not in str(denial.value)


def test_without_credentials_a_basic_challenge_is_final_and_tells_where_we_looked(tmp_path: Path) -> None:
    with RecordingServer(answer(401, b"", {"WWW-Authenticate": "Basic realm=x"})) as server:
        world = asker(server.host, environ={"DOCKER_CONFIG": str(tmp_path)})

        with pytest.raises(AccessDenied) as denial:
            world.client.content(named(server.host))

        assert len(server.requests) == 1
        assert world.waits == []
        assert str(tmp_path) in str(denial.value)
        assert f"docker login {server.host}" in str(denial.value)


@pytest.mark.parametrize("challenge", [None, "Digest realm=x", "nonsense"])
def test_a_401_without_a_challenge_we_know_is_final(challenge: str | None, canary: str) -> None:
    headers = {"WWW-Authenticate": challenge} if challenge else {}
    with RecordingServer(answer(401, b"", headers)) as server:
        with pytest.raises(AccessDenied):
            asker(server.host, environ=logins({server.host: canary})).client.content(named(server.host))

        assert len(server.requests) == 1
        assert not server.saw(canary)


def test_a_registry_token_is_sent_as_it_is(mini: MiniRegistry, canary: str) -> None:
    with RecordingServer() as server:
        server.routes["/v2/some/name/manifests/v1.0.0"] = registry_with_tokens(
            mini, f"{server.url}/token", canary
        )
        auths = {server.host: {"registrytoken": canary}}

        asker(server.host, environ={"DOCKER_AUTH_CONFIG": json.dumps({"auths": auths})}).client.content(
            named(server.host)
        )

        assert [request.path for request in server.requests] == ["/v2/some/name/manifests/v1.0.0"] * 2


def test_a_token_is_used_until_it_expires(mini: MiniRegistry) -> None:
    clock = Clock()
    for number in range(3):
        add_package(mini, tag=f"v{number}")

    def registry(request: Request) -> Answer:
        return registry_with_tokens(mini, f"{server.url}/token", "granted")(request)

    with RecordingServer(registry) as server:
        server.routes["/token"] = token("granted", expires_in=100)
        world = asker(server.host, now=clock.now, seconds=10_000)

        world.client.content(named(server.host, "some/name:v0"))
        clock.time += 50
        world.client.content(named(server.host, "some/name:v1"))
        before = [request.path for request in server.requests].count("/token")
        clock.time += 50
        world.client.content(named(server.host, "some/name:v2"))

        assert before == 1
        assert [request.path for request in server.requests].count("/token") == 2


def test_a_token_that_is_refused_is_replaced_once(mini: MiniRegistry) -> None:
    with RecordingServer() as server:
        server.routes["/token"] = in_turn([token("stale"), token("fresh")])
        server.routes["/v2/some/name/manifests/v1.0.0"] = registry_with_tokens(
            mini, f"{server.url}/token", "fresh"
        )

        asker(server.host).client.content(named(server.host))

        shown = [request.headers["Authorization"] for request in server.requests if "/v2/" in request.path]
        assert shown == [None, "Bearer stale", "Bearer fresh"]


def test_a_registry_that_takes_no_token_is_not_asked_for_ever(mini: MiniRegistry) -> None:
    with RecordingServer() as server:
        server.routes["/token"] = token("useless")
        server.routes["/v2/some/name/manifests/v1.0.0"] = registry_with_tokens(
            mini, f"{server.url}/token", "another"
        )

        with pytest.raises(AccessDenied):
            asker(server.host).client.content(named(server.host))

        assert [request.path for request in server.requests].count("/token") == 2


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no json",
        b"[]",
        b'"text"',
        b"{}",
        b'{"token": ""}',
        b'{"token": 7}',
        b'{"token": ["x"]}',
        b'{"token": "a b"}',
        b'{"token": "a\\r\\nX: y"}',
        '{"token": "漢字"}'.encode(),
        b'{"token": "\\ud800"}',
        b'{"token": "x", "expires_in": "soon"}',
        b"[" * 60_000,
        b"\xff",
    ],
)
def test_the_error_for_a_malformed_token_names_the_token_server(mini: MiniRegistry, body: bytes) -> None:
    with RecordingServer() as server:
        server.routes["/token"] = answer(200, body)
        server.routes["/v2/some/name/manifests/v1.0.0"] = registry_with_tokens(
            mini, f"{server.url}/token", "x"
        )

        with pytest.raises(AccessDenied, match=f"the token server {server.host} sent no token"):
            asker(server.host).client.content(named(server.host))


@pytest.mark.parametrize("field", ["token", "access_token"])
@pytest.mark.parametrize("lifetime", ["1", "null", "-5", "1e400", "NaN", "1" + "0" * 400])
def test_a_token_comes_under_either_name_and_with_any_lifetime(
    mini: MiniRegistry, field: str, lifetime: str
) -> None:
    with RecordingServer() as server:
        server.routes["/token"] = answer(200, f'{{"{field}": "granted", "expires_in": {lifetime}}}'.encode())
        server.routes["/v2/some/name/manifests/v1.0.0"] = registry_with_tokens(
            mini, f"{server.url}/token", "granted"
        )

        asker(server.host).client.content(named(server.host))

        assert server.requests[-1].headers["Authorization"] == "Bearer granted"


def test_the_error_names_a_token_server_that_denies_access(mini: MiniRegistry, canary: str) -> None:
    with RecordingServer() as server:
        server.routes["/token"] = answer(403, f"no {canary}".encode())
        server.routes["/v2/some/name/manifests/v1.0.0"] = registry_with_tokens(
            mini, f"{server.url}/token", "x"
        )

        with pytest.raises(AccessDenied, match=f"token server {server.host} answered with status 403") as no:
            asker(server.host, environ=logins({server.host: canary})).client.content(named(server.host))

        assert canary not in str(no.value)


@pytest.mark.parametrize("with_length", [False, True])
def test_a_huge_token_is_not_read(mini: MiniRegistry, with_length: bool) -> None:
    sent: list[int] = []
    with RecordingServer() as server:
        server.routes["/token"] = counted(300 << 20, sent, with_length=with_length)
        server.routes["/v2/some/name/manifests/v1.0.0"] = registry_with_tokens(
            mini, f"{server.url}/token", "x"
        )

        with pytest.raises(LimitExceeded, match="XPLOCK_LIMIT_TOKEN_BYTES"):
            asker(server.host, limits=bounded(token_bytes=1_000)).client.content(named(server.host))

    assert len(sent) == 1
    assert sent[0] < 16 << 20


def test_a_registry_that_repeats_our_secret_does_not_make_us_show_it(canary: str) -> None:
    def registry(request: Request) -> Answer:
        seen = f"{request.headers['Authorization']} is {request.credentials}"
        return answer(401, f"you sent {seen}".encode(), {"WWW-Authenticate": "Basic"})

    with RecordingServer(registry) as server:
        environ = {"XPLOCK_PLAIN_HTTP": server.host, **logins({server.host: canary})}

        outcome = run_command("package", "inspect", f"{server.host}/some/name:v1.0.0", environ=environ)

    outcome.assert_refused(1, "you sent Basic *** is ***")
    assert canary not in outcome.stderr
    assert basic(canary).split()[1] not in outcome.stderr


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        (None, "robin:secret and c2VjcmV0"),
        ("Bearer c2VjcmV0", "robin:secret and ***"),
        (basic("secret"), "*** and c2VjcmV0"),
        (basic("secrets"), "robin:secret and c2VjcmV0"),
        (basic(""), "***secret and c2VjcmV0"),
    ],
)
def test_sent_credentials_are_masked(sent: str | None, shown: str) -> None:
    assert without_secrets("robin:secret and c2VjcmV0", sent) == shown


def test_a_real_registry_with_a_password_lets_us_in(htpasswd_registry: RunningRegistry) -> None:
    environ = logins({})
    passwords = {htpasswd_registry.host: htpasswd_registry.password}

    with pytest.raises(AccessDenied):
        asker(htpasswd_registry.host, environ=environ).client.tags(source(htpasswd_registry.host, "no/such"))
    # Behind the door it tells what it does not have.
    with pytest.raises(RenderError, match="does not exist"):
        asker(htpasswd_registry.host, environ=logins(passwords)).client.tags(
            source(htpasswd_registry.host, "no/such")
        )


def test_a_real_registry_with_tokens_lets_us_in(token_registry: RunningRegistry) -> None:
    assert token_registry.tokens is not None
    realm = token_registry.tokens.server.host
    environ = {
        **logins({token_registry.host: token_registry.password}),
        "XPLOCK_TRUSTED_REALMS": f"{token_registry.host}={realm}",
    }

    with pytest.raises(RenderError, match="does not exist"):
        asker(token_registry.host, realm, environ=environ).client.tags(source(token_registry.host, "no/such"))
