"""The times of a sync: each step when it is seen, and the last one when all packages run at once."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from pathlib import Path
from typing import TypeAlias

from rig.live.closure.sync_times import SyncTimes, SyncWatch
from rig.registry.http_server import Answer, RecordingServer, Request, answer
from rig.servers.client import Client, Object
from rig.servers.kinds import APPLICATIONS, CONFIGURATIONS, IMAGE_CONFIGS, PROVIDERS, Resource
from rig.servers.waiting import wait_for

Events: TypeAlias = Mapping[Resource, Sequence[tuple[str, Object]]]

SOURCES = ("xpkg.example.org/acme/provider-net", "xpkg.example.org/acme/configuration-shop")
NET, SHOP = SOURCES
# Before any moment of a test.
PUSHED = 0.0
APPLIED: Events = {
    APPLICATIONS: [
        ("ADDED", {"metadata": {"name": "shop"}}),
        ("MODIFIED", {"metadata": {"name": "shop"}, "status": {"operationState": {"phase": "Running"}}}),
    ],
    IMAGE_CONFIGS: [("ADDED", {"metadata": {"name": "pin"}})],
}


def package(source: str, *, runs: bool) -> Object:
    """Return a package with its conditions."""
    status = "True" if runs else "False"
    conditions = [{"type": kind, "status": status} for kind in ("Installed", "Healthy")]
    spec, name = {"package": f"{source}:v1.0.0"}, source.rpartition("/")[2]
    return {"metadata": {"name": name}, "spec": spec, "status": {"conditions": conditions}}


@contextmanager
def watching(events: Events) -> Iterator[SyncWatch]:
    """Watch a server that tells these events of each kind once; yield when it has told them all."""
    told = {resource.path: list(of_kind) for resource, of_kind in events.items()}

    def serve(request: Request) -> Answer:
        if "watch=true" not in request.query:
            return answer(200, json.dumps(an_empty_list()).encode())
        lines = [
            json.dumps({"type": kind, "object": numbered(value)})
            for kind, value in told.pop(request.path, [])
        ]
        return answer(200, "".join(f"{line}\n" for line in lines).encode())

    with RecordingServer(serve) as server:
        client = Client(server.url, Path("missing"), "token")
        with SyncWatch(client, "shop", SOURCES) as watch:
            wait_for(lambda: not told, lambda: "all is told")
            yield watch
        client.close()


def an_empty_list() -> Object:
    """Return what a server has of a kind at first."""
    return {"kind": "AnyList", "items": [], "metadata": {"resourceVersion": "1"}}


def numbered(value: Object) -> Object:
    """Return an object as a server sends it."""
    return {**value, "metadata": {**value["metadata"], "resourceVersion": "2"}}


def times_of(events: Events) -> SyncTimes | None:
    """Return what a watch makes of events, at its end."""
    with watching(events) as watch:
        pass
    return watch.times(PUSHED)


def test_each_step_has_its_time_once_all_packages_run() -> None:
    installing, running = (package(NET, runs=runs) for runs in (False, True))
    providers = [("ADDED", installing), ("MODIFIED", running)]

    times = times_of({**APPLIED, PROVIDERS: providers, CONFIGURATIONS: [("ADDED", package(SHOP, runs=True))]})

    assert times is not None
    assert all(seconds > PUSHED for seconds in astuple(times))
    assert times.first_package <= times.last_package <= times.healthy


def test_there_are_no_times_while_a_package_does_not_run_any_more() -> None:
    providers = [("ADDED", package(NET, runs=True)), ("MODIFIED", package(NET, runs=False))]
    providers += [("MODIFIED", package(SHOP, runs=True))]

    assert times_of({**APPLIED, PROVIDERS: providers}) is None


def test_packages_of_others_do_not_count() -> None:
    other = package("xpkg.example.org/acme/provider-other", runs=True)

    times = times_of({**APPLIED, PROVIDERS: [("ADDED", package(NET, runs=True)), ("ADDED", other)]})

    assert times is None
