"""Turns: one at a time in a place, without waiting for ever and without leaving anything behind."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from render.argocd.push_queue import own_turn, patience
from render.deadline import Deadline

SECONDS = 60.0
SHOP, OTHER = "file:///shop.git#main", "file:///shop.git#other"


def test_whoever_comes_second_waits_for_the_first() -> None:
    entered, order = Event(), []

    def come_second() -> None:
        with own_turn(SHOP, SECONDS):
            order.append("second")
            entered.set()

    with ThreadPoolExecutor(1) as pool:
        with own_turn(SHOP, SECONDS):
            pool.submit(come_second)
            # Long enough for somebody who does not wait.
            entered.wait(0.5)
            order.append("first")
        entered.wait(SECONDS)

    assert order == ["first", "second"]


def test_nobody_waits_for_a_turn_in_another_place_or_longer_than_patience_lasts() -> None:
    passed = []

    with own_turn(SHOP, SECONDS):
        with own_turn(OTHER, SECONDS):
            passed.append(OTHER)
        with own_turn(SHOP, 0.0):
            passed.append(SHOP)

    assert passed == [OTHER, SHOP]


def test_the_turn_of_a_process_that_was_killed_is_over() -> None:
    code = (
        "import sys, time\nfrom render.argocd.push_queue import own_turn\n"
        f"with own_turn({SHOP!r}, 0.0):\n    print('mine', flush=True)\n    time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"mine\n"
        process.kill()
    taken = Event()

    def take() -> None:
        with own_turn(SHOP, 10 * SECONDS):
            taken.set()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(take)

        assert taken.wait(SECONDS)


@pytest.mark.parametrize(("left", "seconds"), [(1_000.0, 20.0), (40.0, 20.0), (10.0, 5.0), (0.0, 0.0)])
def test_nobody_waits_for_so_long_that_no_time_is_left_to_push(left: float, seconds: float) -> None:
    assert patience(Deadline(left, now=lambda: 0.0)) == seconds
