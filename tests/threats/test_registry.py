"""The command with hostile and broken registries."""

import base64
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from rig.commands.run import Outcome, files_below, run_command, start_command
from rig.registry.client import SECONDS, asker, logins, named, source
from rig.registry.http_server import (
    Answer,
    RecordingServer,
    Request,
    answer,
    drip,
    in_turn,
    make_certificate,
    redirect,
    silence,
)
from rig.registry.in_memory import INDEX, MANIFEST, MiniRegistry
from rig.registry.package_images import add_package, challenged, counted, index, manifest

from render.references import InvalidReference, Reference, parse_reference
from render.registry.oci import digest_of

PATH = "/v2/some/name"
ESCAPES = "\x1b]0;x\x07\x1b[2J\x9b31m\u202e"


def inspect(host: str, environ: Mapping[str, str] | None = None, rest: str = "some/name:v1.0.0") -> Outcome:
    """Inspect a package on a host that may be asked without TLS."""
    return run_command(
        "package", "inspect", f"{host}/{rest}", environ={"XPLOCK_PLAIN_HTTP": host, **(environ or {})}
    )


def inspect_outside(host: str, environ: Mapping[str, str] | None = None) -> Outcome:
    """The same in a process of its own."""
    reference = f"{host}/some/name:v1.0.0"
    return start_command(
        "package", "inspect", reference, environ={"XPLOCK_PLAIN_HTTP": host, **(environ or {})}
    )


def kept(cache: Path) -> bytes:
    """Return everything a cache holds, in one piece."""
    return b"".join(file.read_bytes() for file in files_below(cache))


def test_an_honest_registry_is_read() -> None:
    with MiniRegistry() as mini:
        package = add_package(mini)

        outcome = inspect_outside(mini.host)

    assert (outcome.code, outcome.stderr) == (0, "")
    assert "some-name" in outcome.stdout
    assert package.digest in outcome.stdout


# Other bytes than the digest


@pytest.mark.parametrize(
    "served", [b"another layer", b"one byte less", b"one byte more"], ids=["other", "less", "more"]
)
def test_a_layer_with_other_bytes_leaves_nothing_behind(served: bytes, tmp_path: Path) -> None:
    with MiniRegistry() as mini:
        package = add_package(mini)
        right = package.layer["size"]
        size = {b"another layer": right, b"one byte less": right - 1, b"one byte more": right + 1}[served]
        wrong = (served * 100)[:size]
        mini.override(f"{PATH}/blobs/{package.layer['digest']}", answer(200, wrong))

        outcome = inspect_outside(mini.host, {"XPLOCK_CACHE_DIR": str(tmp_path)})

    if size == right:
        outcome.assert_refused(1, package.layer["digest"], digest_of(wrong), "do not use this package")
    else:
        outcome.assert_refused(1, f"{right:,} bytes", f"{size:,} bytes", "do not use this package")
    assert served not in kept(tmp_path)


def test_a_manifest_with_other_bytes_leaves_nothing_behind(tmp_path: Path) -> None:
    with MiniRegistry() as mini:
        package, evil = add_package(mini), add_package(mini, "evil/name", name="evil-name")
        mini.override(
            f"{PATH}/manifests/{package.digest}", answer(200, evil.data, {"Content-Type": MANIFEST})
        )

        outcome = inspect(mini.host, {"XPLOCK_CACHE_DIR": str(tmp_path)}, rest=f"some/name@{package.digest}")

    outcome.assert_refused(1, package.digest, evil.digest)
    assert files_below(tmp_path) == []


def test_a_child_with_other_bytes_leaves_nothing_behind(tmp_path: Path) -> None:
    with MiniRegistry() as mini:
        package, evil = add_package(mini, tag=None), add_package(mini, "evil/name", name="evil-name")
        mini.add_manifest("some/name", "v1.0.0", index([package.as_child()]), INDEX)
        mini.override(
            f"{PATH}/manifests/{package.digest}", answer(200, evil.data, {"Content-Type": MANIFEST})
        )

        outcome = inspect(mini.host, {"XPLOCK_CACHE_DIR": str(tmp_path)})

    outcome.assert_refused(1, package.digest, evil.digest)
    assert evil.data not in kept(tmp_path)


# Tags that move


def test_a_tag_that_alternates_gives_one_package() -> None:
    with MiniRegistry() as mini:
        packages = [add_package(mini, tag=None, name=name) for name in ("first-name", "second-name")]
        answers = [answer(200, package.data, {"Content-Type": MANIFEST}) for package in packages * 5]
        mini.override(f"{PATH}/manifests/v1.0.0", in_turn(answers))

        outcome = inspect(mini.host)

        assert outcome.code == 0
        assert packages[0].digest in outcome.stdout
        assert "first-name" in outcome.stdout
        assert "second-name" not in outcome.stdout
        assert [request.path for request in mini.requests].count(f"{PATH}/manifests/v1.0.0") == 1


# Documents that lie about their kind


@pytest.mark.parametrize(
    ("change", "content_type", "facts"),
    [
        ({"manifests": []}, MANIFEST, ["not both"]),
        ({}, INDEX, [MANIFEST, INDEX]),
        ({}, "application/vnd.docker.distribution.manifest.v1+prettyjws", ["schema 1", "rebuild"]),
    ],
)
def test_a_document_that_lies_about_its_kind_is_refused(
    change: dict[str, object], content_type: str, facts: list[str]
) -> None:
    with MiniRegistry() as mini:
        config = mini.add_blob(b"{}")
        mini.add_manifest("some/name", "v1.0.0", manifest(config, [], **change), content_type)

        outcome = inspect(mini.host)

    outcome.assert_refused(1, *facts)


def test_a_document_without_a_type_of_its_own_is_read_by_its_header() -> None:
    with MiniRegistry() as mini:
        package = json.loads(add_package(mini).data)
        del package["mediaType"]
        mini.add_manifest("some/name", "v1.0.0", json.dumps(package).encode(), MANIFEST)

        assert inspect(mini.host).code == 0


# Credentials


def write_docker_config(folder: Path, passwords: Mapping[str, str]) -> dict[str, str]:
    """Write a docker configuration, and return the variable that names it."""
    config = folder / "config.json"
    config.write_text(logins(passwords)["DOCKER_AUTH_CONFIG"])
    config.chmod(0o600)
    return {"DOCKER_CONFIG": str(folder)}


def test_a_docker_login_is_used_for_its_host_and_port_only(tmp_path: Path, canary: str) -> None:
    with MiniRegistry() as mini:
        add_package(mini)
        right = "Basic " + base64.b64encode(f"robin:{canary}".encode()).decode()
        guard = challenged(mini, "Basic realm=x", right)
        with RecordingServer(guard) as ours, RecordingServer(guard) as theirs:
            environ = write_docker_config(tmp_path, {ours.host: canary})

            allowed = inspect(ours.host, environ)
            denied = inspect(theirs.host, environ)

            assert (allowed.code, allowed.stderr) == (0, "")
            assert {request.credentials for request in ours.requests} == {"", f"robin:{canary}"}
            denied.assert_refused(1, f"no credentials for it in: {tmp_path / 'config.json'}", "docker login")
            assert [request.credentials for request in theirs.requests] == [""]
            assert not theirs.saw(canary)
    for outcome in (allowed, denied):
        assert canary not in outcome.stdout + outcome.stderr


def test_a_token_server_elsewhere_sees_no_credentials(tmp_path: Path, canary: str) -> None:
    with RecordingServer(answer(200, b'{"token": "x"}')) as elsewhere:
        challenge = {"WWW-Authenticate": f'Bearer realm="{elsewhere.url}/token"'}
        with RecordingServer(answer(401, b"", challenge)) as server:
            environ = write_docker_config(tmp_path, {server.host: canary, elsewhere.host: canary})
            environ["XPLOCK_PLAIN_HTTP"] = f"{server.host},{elsewhere.host}"

            outcome = inspect(server.host, environ)

        outcome.assert_refused(1, elsewhere.host, "XPLOCK_TRUSTED_REALMS")
        assert elsewhere.connections == 0
    assert canary not in outcome.stderr


def test_the_netrc_file_is_not_read(canary: str) -> None:
    netrc = Path(os.environ["HOME"]) / ".netrc"
    netrc.write_text(f"machine 127.0.0.1 login robin password {canary}\ndefault login x password {canary}\n")
    netrc.chmod(0o600)
    with RecordingServer(answer(401, b"", {"WWW-Authenticate": "Basic realm=x"})) as server:
        outcome = inspect(server.host)

        outcome.assert_refused(1)
        assert [request.headers["Authorization"] for request in server.requests] == [None]
    assert canary not in outcome.stderr


def test_a_helper_that_fails_with_a_secret_does_not_make_us_show_it(tmp_path: Path, canary: str) -> None:
    helper = tmp_path / "docker-credential-leaky"
    helper.write_text(f"#!/bin/sh\necho {canary}\necho {canary} >&2\nexit 1\n")
    helper.chmod(0o755)
    (tmp_path / "config.json").write_text('{"credsStore": "leaky"}')
    with RecordingServer(answer(401, b"", {"WWW-Authenticate": "Basic realm=x"})) as server:
        environ = {"DOCKER_CONFIG": str(tmp_path), "PATH": f"{tmp_path}:{os.environ['PATH']}"}

        outcome = inspect(server.host, environ)

        outcome.assert_refused(1, "docker-credential-leaky", server.host)
    assert canary not in outcome.stderr


def test_401_without_credentials_says_which_settings_were_looked_at() -> None:
    with RecordingServer(answer(401, b"", {"WWW-Authenticate": "Basic realm=x"})) as server:
        outcome = inspect(server.host)

        assert len(server.requests) == 1
        outcome.assert_refused(1, "DOCKER_CONFIG", "REGISTRY_AUTH_FILE", f"docker login {server.host}")


# Redirects, silence, errors


def test_a_redirect_to_itself_ends() -> None:
    with RecordingServer(redirect("/v2/round")) as server:
        outcome = inspect(server.host)

        assert len(server.requests) == 5
        outcome.assert_refused(1, server.host, "XPLOCK_LIMIT_REDIRECTS")


@pytest.mark.parametrize("slow", [silence(), drip(b"x" * 1_000, 0.2)], ids=["silent", "dripping"])
def test_a_registry_that_takes_for_ever_meets_the_deadline(slow: Answer) -> None:
    with RecordingServer(slow) as server:
        outcome = inspect(server.host, {"XPLOCK_DEADLINE": "0.5"})

        outcome.assert_refused(1, server.host, "0.5 seconds", "XPLOCK_DEADLINE")


def test_a_registry_that_is_down_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        host = f"127.0.0.1:{probe.getsockname()[1]}"

    outcome = inspect(host, {"XPLOCK_LIMIT_ATTEMPTS_UNANSWERED": "2"})

    outcome.assert_refused(1, f"{host} gave no usable answer", "does not accept connections")


def test_what_does_not_exist_is_asked_for_once() -> None:
    with MiniRegistry() as mini:
        outcome = inspect(mini.host)

        # The list of tags has the version to name instead.
        assert [request.target.rpartition("/")[2] for request in mini.requests] == ["v1.0.0", "list?n=1000"]
        outcome.assert_refused(1, f"{mini.host}/some/name has no version v1.0.0")


# Huge answers

_MEASURED = """
import sys
from pathlib import Path
from render.cli.run import run
code = run(sys.argv[2:])
Path(sys.argv[1]).write_text(Path("/proc/self/status").read_text())
sys.exit(code)
"""


def inspect_measured(host: str, folder: Path) -> tuple[Outcome, int]:
    """Inspect a package in a process, and return its peak memory in MiB."""
    status = folder / "status"
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, str(status), "package", "inspect", f"{host}/some/name:v1.0.0"],
        env={**os.environ, "XPLOCK_PLAIN_HTTP": host, "XPLOCK_CACHE_DIR": ""},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    most = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
    assert most, status.read_text()
    return Outcome(done.returncode, done.stdout, done.stderr), int(most[1]) >> 10


@pytest.mark.parametrize("with_length", [True, False])
def test_a_huge_manifest_costs_neither_memory_nor_traffic(with_length: bool, tmp_path: Path) -> None:
    # Four MiB are read at most; the rest of what was sent lies in buffers.
    sent: list[int] = []
    with RecordingServer(counted(300 << 20, sent, with_length=with_length)) as server:
        outcome, most = inspect_measured(server.host, tmp_path)

    outcome.assert_refused(1, "4 MiB", "XPLOCK_LIMIT_MANIFEST_BYTES")
    assert most < 100
    assert len(sent) == 1
    assert sent[0] < 16 << 20


def test_an_endless_error_is_shown_shortly(tmp_path: Path) -> None:
    sent: list[int] = []
    with RecordingServer(
        counted(1 << 30, sent, with_length=False, status=404, chunk=b"error " * 1_000)
    ) as server:
        outcome, most = inspect_measured(server.host, tmp_path)

    outcome.assert_refused(1, "error error")
    assert max(map(len, outcome.stderr.splitlines())) < 520
    assert most < 100
    assert sent[0] < 16 << 20


@pytest.mark.parametrize("with_length", [True, False])
def test_a_layer_far_longer_than_its_descriptor_costs_nothing(with_length: bool, tmp_path: Path) -> None:
    sent: list[int] = []
    with MiniRegistry() as mini:
        package = add_package(mini)
        endless = counted(1 << 30, sent, with_length=with_length)
        mini.override(f"{PATH}/blobs/{package.layer['digest']}", endless)

        outcome, most = inspect_measured(mini.host, tmp_path)

    outcome.assert_refused(1, f"{package.layer['size']:,} bytes")
    assert most < 100
    assert len(sent) == 1
    assert sent[0] < 16 << 20


@pytest.mark.parametrize("difference", [-1, 1])
def test_a_descriptor_with_the_wrong_size_is_refused_though_the_digest_is_right(difference: int) -> None:
    with MiniRegistry() as mini:
        document = json.loads(add_package(mini).data)
        document["layers"][0]["size"] += difference
        mini.add_manifest("some/name", "v1.0.0", json.dumps(document).encode())

        outcome = inspect(mini.host)

    outcome.assert_refused(1, f"says {document['layers'][0]['size']:,} bytes")


# References from outside

REFUSED = [
    "https://{host}/a:v1",
    "u:p@{host}/a:v1",
    "{host}/a:v1:v2",
    "{host}/../a:v1",
    "{host}/a?x:v1",
    "{host}/A:v1",
    "{host}/a@sha256:../../x",
    "{host}/a:v1\r\nX: y",
    "{host}/a@md5:" + 32 * "0",
    "{host}/a@sha256:" + 64 * "A",
    "{host}/a@sha256:" + 63 * "a",
    "a/b",
    "a/b:v1",
    "{host}/a",
    "{host}/a:",
    "{host}/a@",
    "{host}/:v1",
    "{host}//a:v1",
    "{host}/a/:v1",
    "{host}/a:" + 129 * "v",
    "{host}/a#x:v1",
    "{host}/a%2fb:v1",
    "{host}/a b:v1",
    "{host}/ä:v1",
    "{host}/a:v1\x00",
    "{host}/a:v1\x1b[2J",
    " {host}/a:v1",
    "{host}/a:v1 ",
    "-{host}/a:v1",
    "[fe80::1%25lo]:5000/a:v1",
    "[::1/a:v1",
    "h.example:0/a:v1",
    "h.example:65536/a:v1",
    "h.example:5000x/a:v1",
    "127.1/a:v1",
    "0x7f000001:80/a:v1",
    "",
    "{host}/" + 300 * "a" + ":v1",
]


@pytest.mark.parametrize("text", REFUSED)
def test_a_reference_outside_of_the_grammar_is_refused(text: str) -> None:
    with pytest.raises(InvalidReference) as refusal:
        parse_reference(text.format(host="h.example:5000"))

    assert refusal.value.exit_code == 2
    assert "u:p" not in str(refusal.value)


@pytest.mark.parametrize("text", REFUSED[:12:2])
def test_a_wrong_reference_on_the_command_line_sends_no_request(text: str) -> None:
    with RecordingServer(answer()) as server:
        outcome = start_command(
            "package",
            "inspect",
            text.format(host=server.host),
            environ={"XPLOCK_PLAIN_HTTP": server.host},
        )

        outcome.assert_refused(2)
        assert server.connections == 0


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("[::1]:5000/a:v1", Reference(source("[::1]:5000", "a"), "v1")),
        ("localhost:5000/a:v1", Reference(source("localhost:5000", "a"), "v1")),
        ("H.Example:443/a/b:v1", Reference(source("h.example", "a/b"), "v1")),
    ],
)
def test_a_reference_with_any_kind_of_host_is_accepted(text: str, reference: Reference) -> None:
    assert parse_reference(text) == reference


@pytest.mark.parametrize("address", ["::1", "127.0.0.1"])
def test_a_registry_on_any_address_works_end_to_end(address: str) -> None:
    with MiniRegistry(address=address) as mini:
        package = add_package(mini)

        outcome = inspect(mini.host)

    assert (outcome.code, outcome.stderr) == (0, "")
    assert package.digest in outcome.stdout


# Indexes


def test_the_same_package_is_found_on_every_machine(tmp_path: Path) -> None:
    # A machine that says of itself that it is another one.
    (tmp_path / "sitecustomize.py").write_text(
        "import os, platform, sysconfig\n"
        "platform.machine = lambda: 'aarch64'\n"
        "platform.system = lambda: 'Darwin'\n"
        "sysconfig.get_platform = lambda: 'macosx-14-arm64'\n"
    )
    with MiniRegistry() as mini:
        arm, amd = (add_package(mini, tag=None, name=name) for name in ("arm-name", "amd-name"))
        children = [arm.as_child("linux/arm64"), amd.as_child("linux/amd64")]
        mini.add_manifest("some/name", "v1.0.0", index(children), INDEX)

        here, there = inspect_outside(mini.host), inspect_outside(mini.host, {"PYTHONPATH": str(tmp_path)})

    assert here.code == 0
    assert "amd-name" in here.stdout
    assert here == there


@pytest.mark.parametrize(
    ("platforms", "facts"),
    [
        ([], ["nothing at all"]),
        (["windows/arm64"], ["windows/arm64", "linux/amd64"]),
        (["linux/amd64"] * 10_000, ["10,000", "XPLOCK_LIMIT_INDEX_ENTRIES"]),
    ],
    ids=["empty", "foreign", "long"],
)
def test_an_index_without_a_choice_is_refused(platforms: list[str], facts: list[str]) -> None:
    with MiniRegistry() as mini:
        package = add_package(mini, tag=None)
        mini.add_manifest("some/name", "v1.0.0", index([package.as_child(p) for p in platforms]), INDEX)

        inspect(mini.host).assert_refused(1, *facts)


# TLS, and other settings of the operator


def test_a_registry_without_tls_that_is_not_listed_gets_no_request() -> None:
    with MiniRegistry() as mini:
        add_package(mini)

        outcome = inspect(mini.host, {"XPLOCK_PLAIN_HTTP": ""})

        assert mini.requests == ()
        assert mini.server.connections == 1
        outcome.assert_refused(1, "no secure connection", f"XPLOCK_PLAIN_HTTP={mini.host}")


@pytest.mark.parametrize(
    ("name", "days", "check"),
    [("other.example", 30, "IP address mismatch"), ("127.0.0.1", -1, "certificate has expired")],
)
def test_a_wrong_certificate_gets_no_request(tmp_path: Path, name: str, days: int, check: str) -> None:
    certificate = make_certificate(tmp_path, name=name, days=days)
    with MiniRegistry(certificate=certificate) as mini:
        environ = {"XPLOCK_PLAIN_HTTP": "", "XPLOCK_CA_BUNDLE": str(certificate.file)}

        outcome = inspect(mini.host, environ)

        assert (mini.requests, mini.server.connections) == ((), 1)
        outcome.assert_refused(1, check, mini.host)


def test_a_private_authority_makes_its_registry_work(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    with MiniRegistry(certificate=certificate) as mini:
        add_package(mini)

        unknown = inspect(mini.host, {"XPLOCK_PLAIN_HTTP": ""})
        connections = mini.server.connections
        known = inspect(mini.host, {"XPLOCK_PLAIN_HTTP": "", "XPLOCK_CA_BUNDLE": str(certificate.file)})

        unknown.assert_refused(1, "self-signed certificate", mini.host, "XPLOCK_CA_BUNDLE")
    assert connections == 1
    assert (known.code, known.stderr) == (0, "")


def test_a_registry_that_is_not_allowed_is_not_asked() -> None:
    with MiniRegistry() as mini:
        add_package(mini)

        denied = inspect(mini.host, {"XPLOCK_ALLOWED_REGISTRIES": "registry.example"})
        connections = mini.server.connections
        allowed = inspect(mini.host, {"XPLOCK_ALLOWED_REGISTRIES": f"registry.example,{mini.host}"})

        denied.assert_refused(1, mini.host, "XPLOCK_ALLOWED_REGISTRIES")
    assert connections == 0
    assert allowed.code == 0


def test_proxies_are_used_unless_a_host_needs_none() -> None:
    with MiniRegistry() as mini:
        add_package(mini)

        def forward(request: Request) -> Answer:
            return mini.serve(replace(request, target=request.target.removeprefix("http://registry.example")))

        with RecordingServer(forward) as proxy:
            environ = {"HTTP_PROXY": proxy.url, "NO_PROXY": "127.0.0.1"}

            through = inspect("registry.example", environ)
            asked = len(proxy.requests)
            directly = inspect(mini.host, environ)

            assert all(request.target.startswith("http://registry.example/v2/") for request in proxy.requests)
            assert (asked, len(proxy.requests)) == (2, 2)
    assert (through.code, directly.code) == (0, 0)


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("XPLOCK_PLAIN_HTTP", "http://registry.example"),
        ("XPLOCK_ALLOWED_REGISTRIES", "registry.example/team"),
        ("XPLOCK_TRUSTED_REALMS", "auth.example"),
        ("XPLOCK_CA_BUNDLE", "/no/such/file"),
        ("XPLOCK_DEADLINE", "soon"),
    ],
)
def test_a_wrong_setting_of_the_operator_sends_no_request(variable: str, text: str) -> None:
    with RecordingServer(answer()) as server:
        outcome = run_command(
            "package", "inspect", f"{server.host}/some/name:v1.0.0", environ={variable: text}
        )

        outcome.assert_refused(2, variable)
        assert server.connections == 0


# Terminal sequences


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (403, json.dumps({"errors": [{"message": ESCAPES, "code": "X"}]})),
        (404, ESCAPES),
        (418, ESCAPES),
        (200, json.dumps({"mediaType": ESCAPES, "config": {}, "layers": []})),
        (200, json.dumps({"manifests": [{"digest": ESCAPES}]})),
        (200, json.dumps({"Layers" + ESCAPES: 1, "LAYERS": 1})),
    ],
)
def test_terminal_sequences_from_a_registry_are_written_out(status: int, body: str) -> None:
    with RecordingServer(answer(status, body.encode(), {"Content-Type": MANIFEST})) as server:
        outcome = inspect(server.host)

    outcome.assert_refused(1)
    assert not set(outcome.stderr) & set("\x1b\x07\x9b\u202e")


@pytest.mark.parametrize(
    "headers",
    [
        {"Location": f"http://h.example/{ESCAPES[:-1]}"},
        {"Content-Encoding": ESCAPES[:-1]},
        {"WWW-Authenticate": f'Bearer realm="{ESCAPES[:-1]}"'},
        {"WWW-Authenticate": f'Bearer realm="http://{ESCAPES[:-1]}/"'},
    ],
)
def test_terminal_sequences_in_headers_are_written_out(headers: dict[str, str]) -> None:
    status = {"Location": 302, "Content-Encoding": 200, "WWW-Authenticate": 401}[next(iter(headers))]
    with RecordingServer(answer(status, b"", headers)) as server:
        outcome = run_command(
            "-v",
            "package",
            "inspect",
            f"{server.host}/some/name:v1.0.0",
            environ={"XPLOCK_PLAIN_HTTP": server.host},
        )

        requests = len(server.requests)
    assert requests == 1
    assert (outcome.code, outcome.stdout) == (1, "")
    assert "Traceback" not in outcome.stderr
    assert not set(outcome.stderr) & set("\x1b\x07\x9b")


def test_what_is_traced_shows_no_secret(tmp_path: Path, canary: str) -> None:
    with MiniRegistry() as mini:
        package = add_package(mini)
        right = "Basic " + base64.b64encode(f"robin:{canary}".encode()).decode()
        with (
            RecordingServer(mini.serve) as store,
            RecordingServer(challenged(mini, "Basic realm=x", right)) as server,
        ):
            layer = f"{PATH}/blobs/{package.layer['digest']}"
            server.routes[layer] = redirect(f"{store.url}{layer}?signature={canary}")
            environ = write_docker_config(tmp_path, {server.host: canary})
            environ["XPLOCK_PLAIN_HTTP"] = f"{server.host},{store.host}"

            outcome = run_command(
                "-v", "package", "inspect", f"{server.host}/some/name:v1.0.0", environ=environ
            )

            assert store.saw(canary), "the signature in the address is for the store"
            assert [request.headers["Authorization"] for request in store.requests] == [None]
    assert outcome.code == 0
    assert "signature=***" in outcome.stderr
    assert canary not in outcome.stderr + outcome.stdout


def test_the_client_of_the_tests_sends_the_requests_of_the_command() -> None:
    # So tests of single modules hold for the command as well.
    with MiniRegistry() as mini:
        add_package(mini)

        inspect(mini.host)
        asked = [(request.path, request.headers["Accept"]) for request in mini.requests[:1]]
        mini.server.forget()
        asker(mini.host).client.content(named(mini.host))

        assert [(request.path, request.headers["Accept"]) for request in mini.requests] == asked
