"""A key is held by one process at a time, not waited for without end, and leaves nothing behind."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from render.argocd.push_queue import exclusive, queue_seconds
from render.system.deadline import Deadline

SECONDS = 60.0
SHOP, OTHER = "file:///shop.git#main", "file:///shop.git#other"


def test_the_second_call_waits_for_the_first() -> None:
    entered, order = Event(), []

    def come_second() -> None:
        with exclusive(SHOP, SECONDS):
            order.append("second")
            entered.set()

    with ThreadPoolExecutor(1) as pool:
        with exclusive(SHOP, SECONDS):
            pool.submit(come_second)
            # Long enough for a call that does not wait.
            entered.wait(0.5)
            order.append("first")
        entered.wait(SECONDS)

    assert order == ["first", "second"]


def test_another_key_or_an_expired_timeout_does_not_wait() -> None:
    passed = []

    with exclusive(SHOP, SECONDS):
        with exclusive(OTHER, SECONDS):
            passed.append(OTHER)
        with exclusive(SHOP, 0.0):
            passed.append(SHOP)

    assert passed == [OTHER, SHOP]


def test_the_turn_of_a_process_that_was_killed_is_over() -> None:
    code = (
        "import sys, time\nfrom render.argocd.push_queue import exclusive\n"
        f"with exclusive({SHOP!r}, 0.0):\n    print('mine', flush=True)\n    time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"mine\n"
        process.kill()
    taken = Event()

    def take() -> None:
        with exclusive(SHOP, 10 * SECONDS):
            taken.set()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(take)

        assert taken.wait(SECONDS)


@pytest.mark.parametrize(("left", "seconds"), [(1_000.0, 20.0), (40.0, 20.0), (10.0, 5.0), (0.0, 0.0)])
def test_the_wait_leaves_time_to_push(left: float, seconds: float) -> None:
    assert queue_seconds(Deadline(left, now=lambda: 0.0)) == seconds
