"""Limits that grow until a test has seen what it waits for."""

from itertools import islice
from pathlib import Path

import pytest
from rig.time_limits import growing, written


def test_the_first_limit_is_the_only_one_where_it_is_enough() -> None:
    assert list(growing(0.5, until=lambda: True)) == [0.5]


def test_limits_grow_until_one_is_enough() -> None:
    answers = iter([False, False, True])

    assert list(growing(1, until=lambda: next(answers))) == [1, 4, 16]


def test_a_condition_that_never_holds_is_an_error() -> None:
    limits = growing(1, until=lambda: False)

    assert list(islice(limits, 4)) == [1, 4, 16, 64]
    with pytest.raises(AssertionError, match="not even 64 seconds"):
        next(limits)


def test_a_file_is_written_once_it_holds_something(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    seen = [written(file)()]
    file.touch()
    seen.append(written(file)())
    file.write_text("17\n")

    assert [*seen, written(file)()] == [False, False, True]
