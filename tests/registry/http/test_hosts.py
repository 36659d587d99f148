"""How many requests a host gets at once: fewer when it complains, and more again when it does not."""

import threading

import pytest
from rig.registry.client import Clock

from render.limits import Limits
from render.registry.http.hosts import Host, Slots
from render.system.deadline import Deadline, DeadlineExceeded


def test_complaints_of_one_moment_halve_the_requests_once() -> None:
    clock = Clock()
    slots = Slots(8, clock.now)

    widths = []
    for wait in (0.0, 0.1, 2.0, 2.0, 2.0):
        clock.sleep(wait)
        slots.narrow()
        widths.append(slots.width)

    assert widths == [4, 4, 2, 1, 1]


def test_after_successes_there_are_more_again_up_to_the_limit() -> None:
    clock = Clock()
    slots = Slots(4, clock.now)
    slots.narrow()

    for _ in range(1_000):
        slots.note_success()

    assert slots.width == 4


def test_a_slot_is_waited_for_until_the_deadline() -> None:
    clock = Clock()
    slots = Slots(1, clock.now)
    soon = Deadline(0.05)

    with slots.taken(soon, "registry.example"), pytest.raises(DeadlineExceeded):
        slots.taken(soon, "registry.example").__enter__()
    with slots.taken(Deadline(1), "registry.example"):
        pass


def test_a_slot_that_becomes_free_is_given_on() -> None:
    slots = Slots(1, Clock().now)
    got = threading.Event()

    def work() -> None:
        with slots.taken(Deadline(30), "registry.example"):
            got.set()

    with slots.taken(Deadline(30), "registry.example"):
        thread = threading.Thread(target=work)
        thread.start()
        assert not got.wait(0.05)
    thread.join(30)

    assert got.is_set()


def test_a_host_that_asks_for_time_is_not_counted_as_one_that_is_down() -> None:
    host = Host(Limits(), Clock().now)

    for _ in range(100):
        host.note_overload()

    assert (host.failures, host.tries_allowed()) == (0, Limits().attempts)


def test_a_host_that_only_asks_for_time_is_given_up_after_as_many_times_as_a_request_is_tried() -> None:
    clock, limits = Clock(), Limits()
    host = Host(limits, clock.now)

    allowed = []
    for _ in range(limits.attempts):
        # Many requests are on their way, and all of them get the same answer.
        for _ in range(20):
            host.note_overload(60)
        allowed.append(host.tries_allowed())
        clock.sleep(60)

    assert allowed == [limits.attempts] * (limits.attempts - 1) + [0]
    host.note_success()
    assert host.tries_allowed() == limits.attempts
