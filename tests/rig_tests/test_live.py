"""The rig of the end-to-end tests: it loses no event, stops waiting when it can, and reports failures."""

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rig.registry.http_server import Answer, RecordingServer, Request, Wire, answer
from rig.servers.background import Beside
from rig.servers.client import Client, Refused, Watch
from rig.servers.kinds import PROVIDERS
from rig.servers.ports import Ports
from rig.servers.processes import Servers
from rig.servers.waiting import minding, wait_for

SECONDS = 60.0
NO_CERTIFICATE = Path("missing")


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    """Servers of a cluster; none of them runs yet."""
    servers = Servers(tmp_path / "logs")
    yield servers
    servers.stop()


def api_server(*polls: Answer | threading.Event) -> RecordingServer:
    """Return a server that has no objects, and answers a watch; an event is waited for first, and the rest is empty."""
    waiting = list(polls)

    def serve(request: Request) -> Answer:
        if "watch=true" not in request.query:
            return in_json({"kind": "ProviderList", "items": [], "metadata": version(1)})
        following = waiting.pop(0) if waiting else answer(200)
        if isinstance(following, threading.Event):
            assert following.wait(SECONDS)
            return answer(200)
        return following

    return RecordingServer(serve)


def version(number: int) -> dict[str, str]:
    """Return what metadata say of a moment."""
    return {"resourceVersion": str(number)}


def event(kind: str, value: object) -> Answer:
    """Return an answer with one line of a watch."""
    return answer(200, line_of(kind, value))


def line_of(kind: str, value: object) -> bytes:
    """Write a line of a watch."""
    return json.dumps({"type": kind, "object": value}).encode() + b"\n"


def in_json(document: object) -> Answer:
    """Return an answer of one line."""
    return answer(200, json.dumps(document).encode() + b"\n")


@contextmanager
def client_of(server: RecordingServer) -> Iterator[Client]:
    """Ask a server that has no certificate."""
    client = Client(server.url, NO_CERTIFICATE, "token")
    yield client
    client.close()


def test_what_happened_before_the_end_of_a_watch_is_in_it() -> None:
    stopped, added = threading.Event(), event("ADDED", {"metadata": {"name": "late", **version(2)}})
    with (
        api_server(stopped, added) as server,
        client_of(server) as client,
        Watch(client, PROVIDERS) as watch,
    ):
        server.wait_for(2)
        watch.stop()
        stopped.set()

    assert watch.names("ADDED") == ["late"]


def test_an_event_is_there_before_the_watch_of_it_ends() -> None:
    added, ended = line_of("ADDED", {"metadata": {"name": "early", **version(2)}}), threading.Event()

    def send(wire: Wire) -> None:
        wire.start(200, close=True)
        wire.send(added)
        ended.wait(SECONDS)

    with (
        api_server(Answer(send)) as server,
        client_of(server) as client,
        Watch(client, PROVIDERS) as watch,
    ):
        wait_for(lambda: watch.events, lambda: "the event is there", seconds=SECONDS)
        was_open = not ended.is_set()
        ended.set()

    assert was_open
    assert watch.names("ADDED") == ["early"]
    assert len(watch.arrivals) == 1


def test_a_watch_that_cannot_go_on_tells_why() -> None:
    gone = event("ERROR", {"kind": "Status", "code": 410, "message": "too old resource version"})
    with (
        api_server(gone) as server,
        client_of(server) as client,
        pytest.raises(Refused, match="410 too old"),
        Watch(client, PROVIDERS),
    ):
        server.wait_for(2)


def test_no_port_is_had_twice_until_it_is_given_back() -> None:
    few = range(20_000, 20_040)
    one, other = Ports(few), Ports(few)
    taken = [ports.take() for _ in range(5) for ports in (one, other)]
    assert len(set(taken)) == len(taken)

    with pytest.raises(AssertionError, match="no port is free"):
        Ports(taken).take()
    one.give_back()
    other.give_back()

    again = Ports(taken)
    assert again.take() in taken
    again.give_back()


def test_waiting_ends_with_the_last_words_of_a_server(servers: Servers, tmp_path: Path) -> None:
    servers.start(["/bin/sh", "-c", "echo the disk is full; exit 3"], {}, tmp_path)

    with (
        pytest.raises(AssertionError, match=r"(?s)sh ended with 3.*the disk is full") as caught,
        minding(servers.check),
    ):
        wait_for(lambda: False, lambda: "nothing is so", seconds=SECONDS)

    assert "nothing is so" not in str(caught.value)


def test_a_server_that_ended_is_told_of_at_the_end(servers: Servers, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="sh ended with 3"), minding(servers.check):
        servers.start(["/bin/sh", "-c", "exit 3"], {}, tmp_path).process.wait()


def test_a_failure_tells_of_a_server_that_ended(servers: Servers, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="wrong") as caught, minding(servers.check):
        servers.start(["/bin/sh", "-c", "exit 3"], {}, tmp_path).process.wait()
        raise ValueError("wrong")

    assert "sh ended with 3" in "".join(caught.value.__notes__)


def test_a_server_that_is_ended_is_not_missed(servers: Servers, tmp_path: Path) -> None:
    with minding(servers.check):
        server = servers.start(["/bin/sleep", "1000"], {}, tmp_path)
        servers.end(server)

        assert wait_for(lambda: True, lambda: "")


def test_a_server_that_does_not_end_is_killed_and_told_of(servers: Servers, tmp_path: Path) -> None:
    deaf = "trap '' TERM; echo ready; while :; do sleep 1; done"
    server = servers.start(["/bin/sh", "-c", deaf], {}, tmp_path)
    server.wait_until(lambda: "ready" in server.last_words())

    with pytest.raises(AssertionError, match="sh did not end within 0 s of SIGTERM"):
        server.stop(signal.SIGTERM, seconds=0.01)

    assert server.process.wait(SECONDS) == -signal.SIGKILL


def test_work_beside_a_test_goes_on_after_what_may_pass() -> None:
    rounds: list[int] = []

    def work() -> None:
        rounds.append(1)
        if len(rounds) == 1:
            raise Refused("PATCH", "/somewhere", 409, "the object was changed meanwhile")

    with Beside(work, "the work"):
        wait_for(lambda: len(rounds) > 1, lambda: f"{rounds}", seconds=SECONDS)


def test_work_that_fails_beside_a_test_ends_its_waiting() -> None:
    def work() -> None:
        raise Refused("PATCH", "/somewhere", 422, "that is not valid")

    with (
        pytest.raises(AssertionError, match=r"the work failed: .*422 that is not valid") as caught,
        Beside(work, "the work"),
    ):
        wait_for(lambda: False, lambda: "nothing is so", seconds=SECONDS)

    assert "nothing is so" not in str(caught.value)


def test_work_that_fails_beside_a_test_fails_it_at_the_end() -> None:
    failed = threading.Event()

    def work() -> None:
        failed.set()
        raise KeyError("metadata")

    with (
        pytest.raises(AssertionError, match=r"the work failed: KeyError\('metadata'\)"),
        Beside(work, "the work"),
    ):
        assert failed.wait(SECONDS)
