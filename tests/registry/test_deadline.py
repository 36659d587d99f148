"""The deadline of a run: nothing waits past it, and who was waited for is told."""

import pytest
from rig.asking import Clock

from render.registry.deadline import Deadline, DeadlineExceeded


def test_time_runs_out() -> None:
    clock = Clock()
    deadline = Deadline(10, clock.now, clock.sleep)

    clock.time += 4
    left = deadline.remaining()
    clock.time += 100

    assert (left, deadline.remaining()) == (6.0, 0.0)


def test_a_check_raises_only_once_the_time_is_up() -> None:
    clock = Clock()
    deadline = Deadline(10, clock.now, clock.sleep)
    clock.time += 9.9
    deadline.check("registry.example")

    clock.time += 0.1

    with pytest.raises(DeadlineExceeded) as failure:
        deadline.check("registry.example")
    assert "after 10 seconds" in str(failure.value)
    assert "registry.example" in str(failure.value)
    assert "XPLOCK_DEADLINE" in str(failure.value)
    assert failure.value.exit_code == 1


def test_a_wait_within_the_time_is_slept() -> None:
    clock = Clock()

    Deadline(10, clock.now, clock.sleep).wait(9.5, "registry.example")

    assert clock.waits == [9.5]


@pytest.mark.parametrize("seconds", [10.0, 3600.0])
def test_a_wait_past_the_end_is_not_begun(seconds: float) -> None:
    clock = Clock()
    deadline = Deadline(10, clock.now, clock.sleep)

    with pytest.raises(DeadlineExceeded, match=r"waiting for registry.example: it answered with status 503"):
        deadline.wait(seconds, "registry.example: it answered with status 503")

    assert clock.waits == []
