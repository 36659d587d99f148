"""Property tests carry a marker, and try all their examples in CI alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.properties import examples, tries


@given(st.booleans())
def test_a_test_with_examples_is_marked_as_a_property(request: pytest.FixtureRequest, _: bool) -> None:
    assert request.node.get_closest_marker("property")


def test_a_test_without_examples_is_not_marked(request: pytest.FixtureRequest) -> None:
    assert not request.node.get_closest_marker("property")


def test_ci_tries_all_examples_and_the_same_ones_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")

    assert (examples(100).max_examples, examples(100).derandomize) == (100, True)


@pytest.mark.parametrize("value", [None, "", "false"])
def test_elsewhere_a_part_of_them_is_tried(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.delenv("CI", raising=False)
    if value is not None:
        monkeypatch.setenv("CI", value)

    assert [examples(count).max_examples for count in (100, 3)] == [25, 1]
    assert not examples(100).derandomize


def test_no_example_is_too_slow_for_a_busy_machine() -> None:
    assert examples(100).deadline is None


@pytest.mark.parametrize(("value", "tried"), [("true", 200), ("", 50)])
def test_what_is_random_is_tried_as_often_as_there_is_time(
    monkeypatch: pytest.MonkeyPatch, value: str, tried: int
) -> None:
    monkeypatch.setenv("CI", value)

    assert tries(200) == tried
