"""Project folders below a folder, and how a call is split."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from render.errors import InvalidInput
from render.inputs.below import Shard, find_projects_below, parse_shard
from render.limits import LimitExceeded, Limits

LIMITS = Limits()


def make(top: Path, *projects: str) -> Path:
    """Make folders with settings."""
    for name in projects:
        (top / name).mkdir(parents=True, exist_ok=True)
        (top / name / "xplock.yaml").touch()
    return top


def found(top: Path, limits: Limits = LIMITS) -> list[str]:
    """Return the names of what is found."""
    return [str(path.relative_to(top)) for path in find_projects_below(top, limits).projects]


def test_every_folder_with_a_lock_or_settings_is_found_in_order(tmp_path: Path) -> None:
    make(tmp_path, "b/deep/er/still", "a")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "crossplane.lock.yaml").touch()
    (tmp_path / "plain").mkdir()

    assert found(tmp_path) == ["a", "b/deep/er/still", "c"]


def test_a_project_inside_of_another_one_is_found_too(tmp_path: Path) -> None:
    assert found(make(tmp_path, ".", "sub")) == [".", "sub"]


def test_hidden_folders_and_links_are_passed_over(tmp_path: Path) -> None:
    make(tmp_path, ".git/modules", "a")
    (tmp_path / "circle").symlink_to(tmp_path)
    (tmp_path / "a" / "up").symlink_to("..")

    assert found(tmp_path) == ["a"]


def test_a_tree_without_end_is_an_error(tmp_path: Path) -> None:
    make(tmp_path, *(f"{number}" for number in range(11)))

    with pytest.raises(LimitExceeded, match="too many folders"):
        found(tmp_path, Limits(walked_folders=10))


def test_a_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    assert find_projects_below(tmp_path / "gone", LIMITS).unreadable == (tmp_path / "gone",)


@given(st.lists(st.text("abcdef/-", min_size=1, max_size=12), unique=True), st.integers(1, 9))
def test_every_folder_falls_to_exactly_one_part(names: list[str], count: int) -> None:
    parts = [Shard(index, count) for index in range(1, count + 1)]

    assert all(sum(part.takes(Path(name)) for part in parts) == 1 for name in names)


def test_the_parts_of_a_call_stay_when_folders_come(tmp_path: Path) -> None:
    shard = Shard(1, 2)
    make(tmp_path, *(f"c{number}" for number in range(20)))
    before = find_projects_below(tmp_path, LIMITS, shard).projects

    make(tmp_path, *(f"d{number}" for number in range(20)))
    after = find_projects_below(tmp_path, LIMITS, shard).projects

    assert 0 < len(before) < 20
    assert set(before) <= set(after)


@pytest.mark.parametrize(
    "text", ["", "1", "0/4", "5/4", "1/0", "a/b", "-1/2", "1/2/3", "1/99999999999", "²/4"]
)
def test_a_part_is_a_number_of_how_many(text: str) -> None:
    with pytest.raises(InvalidInput, match="not a part"):
        parse_shard(text)
