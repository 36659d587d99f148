"""xplock commit in every kind of repository: it works, or says in one line why not, and breaks nothing."""

import subprocess
from pathlib import Path

import pytest
from rig.git.repositories import (
    SHOP,
    TWO,
    WORK_TREES,
    check_integrity,
    fill,
    git,
    give,
    new_repository,
    paths_in,
    project,
    shop,
    small_disk,
    status,
    text_at,
)

from render.cli.run import run

SOMEBODY_ELSE = 65534


def why(told: str) -> list[str]:
    """Return the lines of an error between what could not be done and what to do about it."""
    lines = told.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("  why:"))
    return lines[start : next(i for i, line in enumerate(lines) if line.startswith("  next:"))]


@pytest.mark.parametrize("kind", WORK_TREES)
def test_every_kind_of_work_tree_is_committed_to(tmp_path: Path, kind: str) -> None:
    root = WORK_TREES[kind](tmp_path)
    parent, others = git(root, "rev-parse", "HEAD"), git(root, "for-each-ref", "refs/remotes", "refs/tags")
    before = status(root)
    (root / SHOP).write_bytes(TWO)

    code = run(["commit", str(root / "shop")])

    assert code == 0
    assert git(root, "rev-parse", "HEAD^") == parent
    assert paths_in(root) == [SHOP]
    assert text_at(root, "HEAD") == text_at(root, "") == TWO
    assert status(root) == before
    assert git(root, "status", "--porcelain", SHOP) == ""
    assert git(root, "for-each-ref", "refs/remotes", "refs/tags") == others
    check_integrity(root)


@pytest.mark.parametrize("kind", WORK_TREES)
def test_another_branch_of_every_kind_is_committed_to(tmp_path: Path, kind: str) -> None:
    root = WORK_TREES[kind](tmp_path)
    (root / SHOP).write_bytes(TWO)
    before, parent = git(root, "status", "--porcelain"), git(root, "rev-parse", "HEAD")
    folder = Path(git(root, "rev-parse", "--absolute-git-dir"))
    files = sorted(folder.iterdir())

    code = run(["commit", "--branch", "update", str(root / "shop")])

    assert code == 0
    assert sorted(folder.iterdir()) == files
    assert (git(root, "rev-parse", "HEAD"), git(root, "rev-parse", "update^")) == (parent, parent)
    assert paths_in(root, "update") == [SHOP]
    assert git(root, "status", "--porcelain") == before


def test_an_index_stays_of_its_kind(tmp_path: Path) -> None:
    for kind in ("split index", "sparse index"):
        (tmp_path / kind).mkdir()
    split, sparse = (
        WORK_TREES["split index"](tmp_path / "split index"),
        WORK_TREES["sparse index"](tmp_path / "sparse index"),
    )
    for root in (split, sparse):
        (root / SHOP).write_bytes(TWO)

    codes = [run(["commit", str(root / "shop")]) for root in (split, sparse)]

    assert codes == [0, 0]
    assert list((split / ".git").glob("sharedindex.*"))
    assert "elsewhere/" in git(sparse, "ls-files", "--sparse").splitlines()


def test_a_submodule_moves_and_the_repository_around_it_does_not(tmp_path: Path) -> None:
    root = WORK_TREES["submodule"](tmp_path)
    above = root.parent
    before = git(above, "rev-parse", "HEAD")
    (root / SHOP).write_bytes(TWO)

    code = run(["commit", str(root / "shop")])

    assert code == 0
    assert git(above, "rev-parse", "HEAD") == before
    assert git(above, "status", "--porcelain") == " M inner"


def test_a_folder_that_is_reached_through_a_link_is_where_it_really_is(tmp_path: Path) -> None:
    root = shop(tmp_path)
    (root / SHOP).write_bytes(TWO)
    (tmp_path / "link").symlink_to(root / "shop")

    code = run(["commit", str(tmp_path / "link")])

    assert code == 0
    assert paths_in(root) == [SHOP]


def test_a_bare_repository_has_no_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = new_repository(tmp_path / "bare.git", "--bare")
    project(root)

    code = run(["commit", str(root / "shop")])

    assert code == 1
    assert why(capsys.readouterr().err) == ["  why:  it is in a bare repository, which has no folders"]


def test_outside_of_a_repository_there_is_nothing_to_commit_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["commit", str(project(tmp_path))])

    assert code == 1
    assert why(capsys.readouterr().err) == ["  why:  it is not in a Git repository"]


def test_without_git_there_is_nothing_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = shop(tmp_path)
    (root / SHOP).write_bytes(TWO)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))

    code = run(["commit", str(root / "shop")])

    assert code == 1
    assert why(capsys.readouterr().err) == ["  why:  git is not installed"]


def test_a_repository_of_somebody_else_is_trusted_only_if_the_user_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = shop(tmp_path)
    (root / SHOP).write_bytes(TWO)
    give(SOMEBODY_ELSE, root)

    refused = run(["commit", str(root / "shop")])
    told = capsys.readouterr().err
    git(tmp_path, "config", "--global", "--add", "safe.directory", str(root))
    accepted = run(["commit", str(root / "shop")])

    assert (refused, accepted) == (1, 0)
    assert why(told) == ["  why:  the repository belongs to another user"]
    assert f"git config --global --add safe.directory {root}" in told


@pytest.mark.parametrize("name", ["index.lock", "HEAD.lock", "refs/heads/main.lock"])
def test_a_lock_that_a_killed_git_left_is_named_and_left_alone(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    root = shop(tmp_path)
    (root / SHOP).write_bytes(TWO)
    before = git(root, "rev-parse", "main"), git(root, "status", "--porcelain")
    stale = root / ".git" / name
    stale.touch()

    refused = run(["commit", str(root / "shop")])
    told, left = capsys.readouterr().err, stale.exists()
    stale.unlink()
    unmoved = git(root, "rev-parse", "main"), git(root, "status", "--porcelain")
    accepted = run(["commit", str(root / "shop")])

    assert (refused, left, unmoved, accepted) == (1, True, before, 0)
    assert why(told) == [
        f"  why:  {stale} exists: another git process is writing, or was killed while writing"
    ]
    assert git(root, "status", "--porcelain") == ""
    check_integrity(root)


def test_an_index_that_somebody_else_writes_does_not_matter_for_another_branch(tmp_path: Path) -> None:
    root = shop(tmp_path)
    (root / SHOP).write_bytes(TWO)
    (root / ".git" / "index.lock").touch()

    code = run(["commit", "--branch", "update", str(root / "shop")])

    assert code == 0
    assert text_at(root, "update") == TWO


def test_a_repository_that_cannot_be_written_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with small_disk(tmp_path / "disk", "8m") as disk:
        root = shop(disk)
        (root / SHOP).write_bytes(TWO)
        before = git(root, "rev-parse", "HEAD")
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)

        code = run(["commit", str(root / "shop")])

        told = capsys.readouterr().err
        assert (code, git(root, "rev-parse", "HEAD")) == (1, before)
        assert any("read-only" in line.lower() for line in why(told))
        check_integrity(root)


def test_a_disk_that_is_full_breaks_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with small_disk(tmp_path / "disk", "2m") as disk:
        root = shop(disk)
        (root / SHOP).write_bytes(TWO)
        before = git(root, "rev-parse", "HEAD"), git(root, "status", "--porcelain")
        fill(disk)

        code = run(["commit", str(root / "shop")])

        told = capsys.readouterr().err
        assert code == 1
        assert any("no space left" in line.lower() for line in why(told))
        (disk / "filler").unlink()
        assert (git(root, "rev-parse", "HEAD"), git(root, "status", "--porcelain")) == before
        check_integrity(root)
        assert run(["commit", str(root / "shop")]) == 0


def test_without_a_temporary_folder_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = shop(tmp_path)
    (root / SHOP).write_bytes(TWO)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))

    code = run(["commit", str(root / "shop")])

    assert code == 1
    assert "TMPDIR" in capsys.readouterr().err
