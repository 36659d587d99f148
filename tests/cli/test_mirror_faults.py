"""xplock mirror with registries that lie, lose things or ask for time, and with a run that is killed."""

import base64
import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rig.builders.images import run_command as run_measured
from rig.builders.mirrors import HOST, Closure
from rig.registry.docker import RunningRegistry, docker_registry
from rig.registry.http_server import Answer, Request, answer, huge, redirect
from rig.registry.in_memory import MiniRegistry
from rig.registry.package_images import CONFIG, LAYER, manifest, package_yaml, tar_layer
from rig.registry.proxy import Proxy, Rule
from rig.registry.pushed import Raw

TOP = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def closure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Closure]:
    """A closure of three packages; tests must not change it."""
    with docker_registry(tmp_path_factory.mktemp("upstream"), "open") as registry:
        yield Closure(Raw(registry.host)).push()


@pytest.fixture
def destination(tmp_path: Path) -> Iterator[RunningRegistry]:
    """An empty registry."""
    (tmp_path / "destination").mkdir()
    with docker_registry(tmp_path / "destination", "open") as registry:
        yield registry


@pytest.fixture
def project(closure: Closure, tmp_path: Path) -> Path:
    """A folder that has locked one package of the closure."""
    return closure.folder(tmp_path / "project", root="acme/store:v1.0.0")


REPOSITORY = f"xp/{HOST}/acme/store"


def when(method: str, part: str, give: Answer | Callable[[Request], Answer]) -> Rule:
    """Return a rule for requests with a method and a part of a path."""

    def rule(request: Request) -> Answer | None:
        if request.method != method or part not in request.target:
            return None
        return give if isinstance(give, Answer) else give(request)

    return rule


def requiring(login: str) -> Rule:
    """Return a rule that wants a user and a password, and hides both from the registry behind it."""

    def rule(request: Request) -> Answer | None:
        if request.credentials != login:
            return answer(401, headers={"WWW-Authenticate": 'Basic realm="here"'})
        del request.headers["Authorization"]
        return None

    return rule


def upstream_through(proxy: Proxy, project: Path, closure: Closure) -> None:
    """Let the folder fetch through a proxy; what is locked stays."""
    file = project / "xplock.yaml"
    file.write_text(file.read_text().replace(closure.registry.host, proxy.host))


# Credentials


def test_no_credential_of_one_registry_reaches_the_other(
    closure: Closure, project: Path, destination: RunningRegistry, canary: str
) -> None:
    mine, theirs = f"robin:source-{canary}", f"robin:destination-{canary}"
    with (
        Proxy(closure.registry.host) as source,
        Proxy(destination.host) as there,
        Proxy(closure.registry.host) as storage,
    ):
        # Blobs come from a storage on a third host, and one of them, by way of a wrong redirect, from the destination.
        moved = [0]

        def elsewhere(request: Request) -> Answer:
            moved[0] += 1
            return redirect(f"http://{(there if moved[0] == 1 else storage).host}{request.target}")

        source.rules += [requiring(mine), when("GET", "/blobs/", elsewhere)]
        there.rules += [when("GET", "/blobs/", lambda _: answer(404)), requiring(theirs)]
        upstream_through(source, project, closure)
        auths = {
            host: {"auth": base64.b64encode(login.encode()).decode()}
            for host, login in ((source.host, mine), (there.host, theirs))
        }
        environ = {
            "hosts": f"{source.host},{there.host},{storage.host}",
            "DOCKER_AUTH_CONFIG": json.dumps({"auths": auths}),
        }
        arguments = ("-v", "mirror", str(project), "--to", f"{there.host}/xp")
        failed = closure.run(*arguments, environ=environ)
        done = closure.run(*arguments, environ=environ)

        assert (failed.code, done.code) == (1, 0), done.stderr
        assert not source.server.saw(theirs) and not source.server.saw(f"destination-{canary}")
        assert not there.server.saw(mine) and not there.server.saw(f"source-{canary}")
        assert not storage.server.saw(canary)
        assert storage.asked
        assert canary not in failed.stderr + done.stderr + done.stdout
    assert Raw(destination.host).digest(REPOSITORY, "v1.0.0") == closure.images["acme/store v1.0.0"].digest


def test_a_storage_that_uploads_go_to_gets_no_credential(
    closure: Closure, project: Path, destination: RunningRegistry, canary: str
) -> None:
    with Proxy(destination.host) as storage, Proxy(destination.host) as there:

        def elsewhere(request: Request) -> Answer:
            _, headers, _ = Raw(destination.host).ask("POST", request.path)
            return answer(
                202, headers={"Location": headers["Location"].replace(destination.host, storage.host)}
            )

        there.rules += [requiring(f"robin:{canary}"), when("POST", "/uploads/", elsewhere)]
        login = base64.b64encode(f"robin:{canary}".encode()).decode()
        environ = {
            "hosts": f"{there.host},{storage.host}",
            "DOCKER_AUTH_CONFIG": json.dumps({"auths": {there.host: {"auth": login}}}),
        }
        done = closure.run("mirror", str(project), "--to", f"{there.host}/xp", environ=environ)

        assert done.code == 0, done.stderr
        assert storage.writes()
        assert not storage.server.saw(canary)


def test_tokens_allow_pushing_and_mounting(closure: Closure, tmp_path: Path) -> None:
    whole = closure.folder(tmp_path / "whole")
    (tmp_path / "tokens").mkdir()
    with docker_registry(tmp_path / "tokens", "token") as registry, Proxy(registry.host) as proxy:
        assert registry.tokens is not None
        login = base64.b64encode(f"{registry.username}:{registry.password}".encode()).decode()
        realm = registry.tokens.server.host
        environ = {
            "hosts": f"{proxy.host},{realm}",
            "XPLOCK_TRUSTED_REALMS": f"{proxy.host}={realm}",
            "DOCKER_AUTH_CONFIG": f'{{"auths": {{"{proxy.host}": {{"auth": "{login}"}}}}}}',
        }
        done = closure.run("mirror", str(whole), "--to", f"{proxy.host}/xp", "-o", "json", environ=environ)

        assert done.code == 0, done.stderr
        images = json.loads(done.stdout)["images"]
        assert sum(image["blobs"]["mounted"] for image in images) > 0
        asked = [request.target for request in registry.tokens.requests]
        assert any(target.count("scope=") == 2 for target in asked)


# Registries that need time


def test_a_registry_that_asks_for_time_gets_it(
    closure: Closure, project: Path, destination: RunningRegistry
) -> None:
    refused: set[str] = set()

    def once(request: Request) -> Answer | None:
        key = f"{request.method} {request.path}"
        if key in refused or ("uploads/" in request.path and request.method == "PUT"):
            return None
        refused.add(key)
        return answer(429, headers={"Retry-After": "0"})

    with Proxy(destination.host, once) as there, Proxy(closure.registry.host, once) as source:
        upstream_through(source, project, closure)
        hosts = {"hosts": f"{there.host},{source.host}"}
        done = closure.run("mirror", str(project), "--to", f"{there.host}/xp", environ=hosts)

    assert done.code == 0, done.stderr
    assert Raw(destination.host).digest(REPOSITORY, "v1.0.0") == closure.images["acme/store v1.0.0"].digest


def test_a_registry_that_asks_for_time_for_ever_is_given_up(
    closure: Closure, project: Path, destination: RunningRegistry
) -> None:
    with Proxy(destination.host, when("POST", "/uploads/", answer(429))) as there:
        environ = {"hosts": there.host, "XPLOCK_LIMIT_ATTEMPTS": "2"}
        done = closure.run("mirror", str(project), "--to", f"{there.host}/xp", environ=environ)

    done.assert_refused(1, f"{there.host} gave no usable answer", "status 429")


def test_a_list_of_referrers_that_cannot_be_had_is_an_error_and_no_empty_list(
    closure: Closure, project: Path, destination: RunningRegistry
) -> None:
    with Proxy(closure.registry.host, when("GET", "/referrers/", answer(429))) as source:
        upstream_through(source, project, closure)
        environ = {"hosts": f"{source.host},{destination.host}", "XPLOCK_LIMIT_ATTEMPTS": "2"}
        done = closure.run("mirror", str(project), "--to", f"{destination.host}/xp", environ=environ)

    done.assert_refused(1, source.host, "429")
    assert Raw(destination.host).tags(REPOSITORY) == []


@pytest.mark.parametrize("status", [303, 404, 405, 200])
def test_a_registry_without_lists_of_referrers_is_read_by_the_tag(
    status: int, closure: Closure, project: Path, destination: RunningRegistry
) -> None:
    page = answer(status, b"<html>", {"Location": "/somewhere", "Content-Type": "text/html"})
    with Proxy(closure.registry.host, when("GET", "/referrers/", page)) as source:
        upstream_through(source, project, closure)
        environ = {"hosts": f"{source.host},{destination.host}"}
        done = closure.run("mirror", str(project), "--to", f"{destination.host}/xp", environ=environ)

    assert done.code == 0, done.stderr
    subject = closure.images["acme/store v1.0.0"].digest.replace(":", "-")
    assert len(Raw(destination.host).document(REPOSITORY, subject)["manifests"]) == 1


# Registries that lie


def test_a_child_that_is_lost_stops_the_image_before_it_is_named(
    closure: Closure, project: Path, destination: RunningRegistry
) -> None:
    child = closure.images["acme/store v1.0.0"].manifests["child 1"]
    with Proxy(closure.registry.host, when("GET", f"/manifests/{child}", answer(404))) as source:
        upstream_through(source, project, closure)
        environ = {"hosts": f"{source.host},{destination.host}"}
        done = closure.run("mirror", str(project), "--to", f"{destination.host}/xp", environ=environ)

    done.assert_refused(1, child)
    assert Raw(destination.host).tags(REPOSITORY) == []


def test_wrong_bytes_of_a_blob_never_arrive_as_a_whole(
    closure: Closure, project: Path, destination: RunningRegistry
) -> None:
    child = closure.registry.document("acme/store", closure.images["acme/store v1.0.0"].manifests["child 0"])
    layer = child["layers"][0]
    with Proxy(
        closure.registry.host, when("GET", f"/blobs/{layer['digest']}", answer(200, bytes(layer["size"])))
    ) as source:
        upstream_through(source, project, closure)
        environ = {"hosts": f"{source.host},{destination.host}"}
        done = closure.run("mirror", str(project), "--to", f"{destination.host}/xp", environ=environ)

    done.assert_refused(1, "serves other bytes than were requested")
    assert Raw(destination.host).tags(REPOSITORY) == []
    assert Raw(destination.host).ask("HEAD", f"/v2/{REPOSITORY}/blobs/{layer['digest']}")[0] == 404


@pytest.mark.parametrize("method", ["HEAD", "PUT"])
def test_a_destination_that_names_another_digest_is_refused(
    method: str, closure: Closure, project: Path, destination: RunningRegistry
) -> None:
    wrong = {"Docker-Content-Digest": f"sha256:{'0' * 64}"}
    give = answer(200 if method == "HEAD" else 201, headers=wrong)
    with Proxy(destination.host, when(method, "/manifests/sha256:", give)) as there:
        environ = {"hosts": there.host}
        done = closure.run("mirror", str(project), "--to", f"{there.host}/xp", environ=environ)

    done.assert_refused(1, "0" * 64)
    assert "v1.0.0" not in Raw(destination.host).tags(REPOSITORY)


@pytest.mark.parametrize(
    ("location", "fact"),
    [
        ("http://10.1.2.3/x", "10.1.2.3 is not asked"),
        ("https://storage.example.org/x", "over https"),
        ("http://user:pw@127.0.0.1/x", "is not a plain http or https URL"),
        ("", "no location to upload"),
    ],
)
def test_a_wrong_place_to_upload_to_is_refused(
    location: str, fact: str, closure: Closure, project: Path, destination: RunningRegistry
) -> None:
    with Proxy(
        destination.host, when("POST", "/uploads/", answer(202, headers={"Location": location}))
    ) as there:
        done = closure.run("mirror", str(project), "--to", f"{there.host}/xp", environ={"hosts": there.host})

    done.assert_refused(1, fact)


def test_a_broken_upload_starts_again(closure: Closure, project: Path, destination: RunningRegistry) -> None:
    broken: set[str] = set()

    def once(request: Request) -> Answer:
        if request.target in broken or len(broken) > 3:
            return there.pass_on(request)
        broken.add(request.target)
        return answer(500)

    with Proxy(destination.host, when("PUT", "/uploads/", once)) as there:
        done = closure.run("mirror", str(project), "--to", f"{there.host}/xp", environ={"hosts": there.host})

    assert done.code == 0, done.stderr
    assert broken


# A run that is killed


def test_a_killed_run_has_named_nothing_incomplete_and_the_next_one_ends_the_same(
    closure: Closure, project: Path, tmp_path: Path
) -> None:
    image = closure.images["acme/store v1.0.0"]
    with docker_registry(_made(tmp_path / "clean"), "open") as registry, Proxy(registry.host) as proxy:
        hosts = {"hosts": proxy.host}
        assert closure.run("mirror", str(project), "--to", f"{proxy.host}/xp", environ=hosts).code == 0
        wanted, requests = _state(registry.host), len(proxy.writes())

    for number in range(1, requests + 1, max(requests // 8, 1)):
        with docker_registry(_made(tmp_path / str(number)), "open") as registry:
            _kill_at(number, closure, project, registry.host)
            raw = Raw(registry.host)
            if "v1.0.0" in raw.tags(REPOSITORY):
                assert all(raw.digest(REPOSITORY, digest) for digest in image.manifests.values())
            hosts = {"hosts": registry.host}
            assert closure.run("mirror", str(project), "--to", f"{registry.host}/xp", environ=hosts).code == 0
            assert _state(registry.host) == wanted


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _state(host: str) -> dict[str, str | None]:
    raw = Raw(host)
    return {tag: raw.digest(REPOSITORY, tag) for tag in raw.tags(REPOSITORY)}


def _kill_at(number: int, closure: Closure, project: Path, host: str) -> None:
    """Kill a run at one of its requests that write."""
    seen = [0]

    def rule(request: Request) -> None:
        if request.method in ("POST", "PUT"):
            seen[0] += 1
            if seen[0] == number:
                os.kill(process.pid, signal.SIGKILL)

    with Proxy(host, rule) as proxy:
        environ = {
            **os.environ,
            "XPLOCK_CACHE_DIR": "",
            "XPLOCK_PLAIN_HTTP": f"{proxy.host},{closure.registry.host}",
        }
        command = [sys.executable, "-m", "render", "mirror", str(project), "--to", f"{proxy.host}/xp"]
        with subprocess.Popen(
            command, cwd=TOP, env=environ, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        ) as process:
            assert process.wait(120) == -signal.SIGKILL


# Memory


def test_a_blob_beyond_the_limit_of_layers_is_copied_without_being_held_in_memory(
    destination: RunningRegistry, tmp_path: Path
) -> None:
    size = 192 << 20
    zeros = {"mediaType": LAYER, "digest": f"sha256:{hashlib.sha256(bytes(size)).hexdigest()}", "size": size}
    with MiniRegistry() as mini:
        package = mini.add_blob(tar_layer({"package.yaml": package_yaml("large")}), LAYER)
        marked = {**package, "annotations": {"io.crossplane.xpkg": "base"}}
        mini.add_manifest("acme/large", "v1.0.0", manifest(mini.add_blob(b"{}", CONFIG), [marked, zeros]))
        mini.override(f"/v2/acme/large/blobs/{zeros['digest']}", huge(size, with_length=True))
        project = tmp_path / "project"
        project.mkdir()
        (project / "xplock.yaml").write_text(f"roots:\n  - package: {mini.host}/acme/large:v1.0.0\n")
        environ = {"XPLOCK_PLAIN_HTTP": f"{mini.host},{destination.host}", "XPLOCK_CACHE_DIR": ""}
        locked = run_measured("lock", str(project), folder=_made(tmp_path / "a"), environ=environ)
        assert locked.code == 0, locked.err
        to = f"{destination.host}/xp"
        path = f"xp/{mini.host.replace(':', '-')}/acme/large"
        done = run_measured("mirror", str(project), "--to", to, folder=_made(tmp_path / "b"), environ=environ)

    assert done.code == 0, done.err
    assert done.megabytes < 100
    assert Raw(destination.host).ask("HEAD", f"/v2/{path}/blobs/{zeros['digest']}")[0] == 200
