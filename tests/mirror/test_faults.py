"""xplock mirror with registries that lie, lose things or ask for time, and none that sees the password of another."""

import base64
import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from rig.builders.mirrors import HOST, Closure
from rig.registry.docker import RunningRegistry, docker_registry
from rig.registry.http_server import Answer, Request, answer, redirect
from rig.registry.proxy import Proxy
from rig.registry.pushed import Raw
from rig.registry.rules import requiring, when

TOP = Path(__file__).parents[2]

REPOSITORY = f"xp/{HOST}/acme/store"


# Credentials


def test_no_credential_of_one_registry_reaches_the_other(
    closure: Closure, store: Path, destination: RunningRegistry, canary: str
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
        closure.through(source, store)
        auths = {
            host: {"auth": base64.b64encode(login.encode()).decode()}
            for host, login in ((source.host, mine), (there.host, theirs))
        }
        environ = {
            "hosts": f"{source.host},{there.host},{storage.host}",
            "DOCKER_AUTH_CONFIG": json.dumps({"auths": auths}),
        }
        arguments = ("-v", "mirror", str(store), "--to", f"{there.host}/xp")
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
    closure: Closure, store: Path, destination: RunningRegistry, canary: str
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
        done = closure.run("mirror", str(store), "--to", f"{there.host}/xp", environ=environ)

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
    closure: Closure, store: Path, destination: RunningRegistry
) -> None:
    refused: set[str] = set()

    def once(request: Request) -> Answer | None:
        key = f"{request.method} {request.path}"
        if key in refused or ("uploads/" in request.path and request.method == "PUT"):
            return None
        refused.add(key)
        return answer(429, headers={"Retry-After": "0"})

    with Proxy(destination.host, once) as there, Proxy(closure.registry.host, once) as source:
        closure.through(source, store)
        done = closure.mirror(store, there.host, also=[source.host])

    assert done.code == 0, done.stderr
    assert Raw(destination.host).digest(REPOSITORY, "v1.0.0") == closure.images["acme/store v1.0.0"].digest


@pytest.mark.parametrize(
    ("method", "part"),
    [
        ("HEAD", "/manifests/"),
        ("HEAD", "/blobs/"),
        ("POST", "/uploads/"),
        ("PUT", "/uploads/"),
        ("PUT", "/manifests/"),
    ],
)
def test_a_registry_that_asks_for_time_for_ever_is_given_up(
    method: str, part: str, closure: Closure, store: Path, destination: RunningRegistry
) -> None:
    with Proxy(destination.host, when(method, part, answer(429))) as there:
        done = closure.mirror(store, there.host, XPLOCK_LIMIT_ATTEMPTS="2")

    done.assert_refused(1, there.host, "status 429")
    assert "v1.0.0" not in Raw(destination.host).tags(REPOSITORY)


def test_one_cause_of_several_failures_is_one_error(closure: Closure, project: Path) -> None:
    with Proxy(closure.registry.host) as gone:
        host = gone.host
    done = closure.mirror(project, host, XPLOCK_LIMIT_ATTEMPTS_UNANSWERED="3")

    done.assert_refused(1, f"{host} gave no usable answer")
    assert done.stderr.count("error: ") == 1


def test_an_original_registry_that_asks_for_time_for_ever_is_given_up(
    closure: Closure, store: Path, destination: RunningRegistry
) -> None:
    with Proxy(closure.registry.host, when("GET", "/blobs/", answer(429))) as source:
        closure.through(source, store)
        done = closure.mirror(store, destination.host, also=[source.host], XPLOCK_LIMIT_ATTEMPTS="2")

    done.assert_refused(1, source.host, "status 429")
    assert Raw(destination.host).tags(REPOSITORY) == []


def test_a_list_of_referrers_that_cannot_be_had_is_an_error_and_no_empty_list(
    closure: Closure, store: Path, destination: RunningRegistry
) -> None:
    with Proxy(closure.registry.host, when("GET", "/referrers/", answer(429))) as source:
        closure.through(source, store)
        done = closure.mirror(store, destination.host, also=[source.host], XPLOCK_LIMIT_ATTEMPTS="2")

    done.assert_refused(1, source.host, "429")
    assert Raw(destination.host).tags(REPOSITORY) == []


@pytest.mark.parametrize("status", [303, 404, 405, 200])
def test_a_registry_without_lists_of_referrers_is_read_by_the_tag(
    status: int, closure: Closure, store: Path, destination: RunningRegistry
) -> None:
    page = answer(status, b"<html>", {"Location": "/somewhere", "Content-Type": "text/html"})
    with Proxy(closure.registry.host, when("GET", "/referrers/", page)) as source:
        closure.through(source, store)
        done = closure.mirror(store, destination.host, also=[source.host])

    assert done.code == 0, done.stderr
    subject = closure.images["acme/store v1.0.0"].digest.replace(":", "-")
    assert len(Raw(destination.host).document(REPOSITORY, subject)["manifests"]) == 1


# Registries that lie


def test_a_child_that_is_lost_stops_the_image_before_it_is_named(
    closure: Closure, store: Path, destination: RunningRegistry
) -> None:
    child = closure.images["acme/store v1.0.0"].manifests["child 1"]
    with Proxy(closure.registry.host, when("GET", f"/manifests/{child}", answer(404))) as source:
        closure.through(source, store)
        done = closure.mirror(store, destination.host, also=[source.host])

    done.assert_refused(1, child)
    assert Raw(destination.host).tags(REPOSITORY) == []


def test_wrong_bytes_of_a_blob_never_arrive_as_a_whole(
    closure: Closure, store: Path, destination: RunningRegistry
) -> None:
    child = closure.registry.document("acme/store", closure.images["acme/store v1.0.0"].manifests["child 0"])
    layer = child["layers"][0]
    with Proxy(
        closure.registry.host, when("GET", f"/blobs/{layer['digest']}", answer(200, bytes(layer["size"])))
    ) as source:
        closure.through(source, store)
        done = closure.mirror(store, destination.host, also=[source.host])

    done.assert_refused(1, "serves other bytes than were requested")
    assert Raw(destination.host).tags(REPOSITORY) == []
    assert Raw(destination.host).ask("HEAD", f"/v2/{REPOSITORY}/blobs/{layer['digest']}")[0] == 404


@pytest.mark.parametrize("method", ["HEAD", "PUT"])
def test_a_destination_that_names_another_digest_is_refused(
    method: str, closure: Closure, store: Path, destination: RunningRegistry
) -> None:
    wrong = {"Docker-Content-Digest": f"sha256:{'0' * 64}"}
    give = answer(200 if method == "HEAD" else 201, headers=wrong)
    with Proxy(destination.host, when(method, "/manifests/sha256:", give)) as there:
        done = closure.mirror(store, there.host)

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
    location: str, fact: str, closure: Closure, store: Path, destination: RunningRegistry
) -> None:
    with Proxy(
        destination.host, when("POST", "/uploads/", answer(202, headers={"Location": location}))
    ) as there:
        done = closure.mirror(store, there.host)

    done.assert_refused(1, fact)


def test_a_broken_upload_starts_again(closure: Closure, store: Path, destination: RunningRegistry) -> None:
    broken: set[str] = set()

    def once(request: Request) -> Answer:
        if request.target in broken or len(broken) > 3:
            return there.pass_on(request)
        broken.add(request.target)
        return answer(500)

    with Proxy(destination.host, when("PUT", "/uploads/", once)) as there:
        done = closure.mirror(store, there.host)

    assert done.code == 0, done.stderr
    assert broken


# Registries that cannot do everything


def test_a_registry_that_takes_no_manifest_with_a_subject_is_named_with_the_way_out(
    closure: Closure, store: Path, destination: RunningRegistry
) -> None:
    def refers(request: Request) -> Answer | None:
        put = request.method == "PUT" and "/manifests/" in request.path
        return answer(405) if put and "subject" in json.loads(request.body) else None

    with Proxy(destination.host, refers) as there:
        refused = closure.mirror(store, there.host)
        assert "v1.0.0" not in Raw(destination.host).tags(REPOSITORY)
        done = closure.mirror(store, there.host, "--no-attached")

    refused.assert_refused(1, there.host, "status 405", "--no-attached")
    assert done.code == 0, done.stderr
    assert "v1.0.0" in Raw(destination.host).tags(REPOSITORY)


def test_a_registry_that_mounts_nothing_gets_every_blob(
    closure: Closure, project: Path, destination: RunningRegistry
) -> None:
    def start(request: Request) -> Answer | None:
        if "mount=" not in request.query:
            return None
        return there.pass_on(replace(request, target=request.path))

    with Proxy(destination.host, start) as there:
        done = closure.mirror(project, there.host, "-o", "json")
        starts = [request for request in there.server.requests if "mount=" in request.query]

    assert done.code == 0, done.stderr
    assert starts
    assert {image["blobs"]["mounted"] for image in json.loads(done.stdout)["images"]} == {0}


def test_each_host_gets_no_more_requests_at_once_than_it_was_asked_for(
    closure: Closure, project: Path, destination: RunningRegistry
) -> None:
    with Proxy(destination.host) as there, Proxy(closure.registry.host) as source:
        widths = [_width(proxy) for proxy in (there, source)]
        closure.through(source, project)
        done = closure.mirror(project, there.host, "--jobs", "2", also=[source.host])

    assert done.code == 0, done.stderr
    assert [max(width) for width in widths] == [2, 2]


def _width(proxy: Proxy) -> list[int]:
    """Let a proxy note how many requests there are at each moment."""
    widths, running, pass_on = [0], [0], proxy.pass_on

    def counted(request: Request) -> Answer:
        running[0] += 1
        widths.append(running[0])
        # Long enough for another one to arrive.
        time.sleep(0.01)
        done = pass_on(request)
        running[0] -= 1
        return done

    proxy.rules.append(counted)
    return widths


@pytest.mark.parametrize("limit", ["COPIED_BYTES", "ATTACHED", "ATTACHED_DEPTH"])
def test_what_is_beyond_a_limit_is_not_copied(
    limit: str, closure: Closure, store: Path, destination: RunningRegistry
) -> None:
    done = closure.mirror(store, destination.host, **{f"XPLOCK_LIMIT_{limit}": "1"})

    done.assert_refused(1, f"XPLOCK_LIMIT_{limit}")
    assert "v1.0.0" not in Raw(destination.host).tags(REPOSITORY)
