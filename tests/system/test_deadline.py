"""The deadline of a run: nothing waits past it, and who was waited for is told."""

import pytest
from rig.registry.client import Clock

from render.errors import InvalidInput
from render.limits import Limits
from render.system.deadline import Deadline, DeadlineExceeded, parse_seconds, read_deadline


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


@pytest.mark.parametrize(("text", "seconds"), [("", 7.0), ("0.5", 0.5), ("50", 50.0), ("86400", 86400.0)])
def test_the_operator_may_say_how_long_a_run_takes(text: str, seconds: float) -> None:
    assert parse_seconds({"XPLOCK_DEADLINE": text}, 7) == seconds
    assert read_deadline({"XPLOCK_DEADLINE": text}, Limits(run_seconds=7)).seconds == seconds


@pytest.mark.parametrize("text", ["soon", "0", "-1", "nan", "inf", "86400.5"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=f"XPLOCK_DEADLINE={text} is not a time"):
        parse_seconds({"XPLOCK_DEADLINE": text}, 7)
