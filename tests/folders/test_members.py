"""Folders of one cluster: in which order they come, how they are called, and which of them belong together."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from render.folders.members import (
    Member,
    Members,
    find_clusters,
    find_used,
    in_order,
    plain_path,
    read_members,
)
from render.limits import Limits


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Folders a to f."""
    for name in "abcdef":
        (tmp_path / name).mkdir()
    return tmp_path


def members(root: Path, **uses: str) -> Members:
    """Folders by their names, each with the names of those it uses."""
    return {
        root / name: Member(
            root / name, tuple((f"../{other}", root / name / f"../{other}") for other in used)
        )
        for name, used in uses.items()
    }


def names(paths: Iterable[Path]) -> str:
    return "".join(path.name for path in paths)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("abc", "cba"),
        ("cab", "cba"),
        ("bca", "cba"),
        ("ab", "ba"),
        ("ac", "ca"),
        ("def", "def"),
        ("fed", "fed"),
    ],
)
def test_used_folders_come_first_and_all_others_stay_in_order(root: Path, given: str, expected: str) -> None:
    known = members(root, a="b", b="c", c="", d="", e="", f="")

    assert names(in_order([root / name for name in given], known)) == expected


def test_a_folder_comes_after_everything_that_it_uses(root: Path) -> None:
    known = members(root, a="bd", b="c", c="", d="c", e="ab", f="")

    order = names(in_order([root / name for name in "eabdcf"], known))

    assert all(order.index(used) < order.index(name) for name, used in ("ab", "ad", "bc", "dc", "ea", "eb"))


def test_the_nearest_folders_are_named_first(root: Path) -> None:
    known = members(root, a="bc", b="d", c="", d="")

    assert find_used(root / "a", known) == {
        root / "b": "../b",
        root / "c": "../c",
        root / "d": "../d",
    }


def test_folders_are_of_one_cluster_if_any_way_connects_them(root: Path) -> None:
    clusters = find_clusters(members(root, a="c", b="c", c="", d="e", e="", f=""))

    assert clusters[root / "a"] == clusters[root / "b"] == clusters[root / "c"]
    assert clusters[root / "d"] == clusters[root / "e"]
    assert len(set(clusters.values())) == 3


def test_folders_that_are_used_are_found_on_disk(root: Path) -> None:
    (root / "b/xplock.yaml").write_text("uses: [../c]\n")

    found = read_members(members(root, a="b"), Limits())

    assert names(found) == "abc"
    assert found[root / "b"].folder == root / "b"


def test_what_is_known_is_not_read(root: Path) -> None:
    (root / "b/xplock.yaml").write_text("this: is wrong\n")
    known = members(root, b="")

    assert names(read_members(members(root, a="b"), Limits(), known)) == "ab"


def test_a_path_loses_its_detours_unless_a_link_is_one_of_them(root: Path) -> None:
    (root / "a/inner").mkdir()
    (root / "link").symlink_to("a/inner")

    assert plain_path(root / "a/../b") == root / "b"
    assert plain_path(root / "link/../inner") == root / "link/../inner"
