"""A branch for updates: it starts again from the base, unless others have committed to it."""

import json
import shlex
import subprocess
from pathlib import Path

import pytest
from rig.git.repositories import (
    ASKS,
    ONE,
    SHOP,
    THREE,
    TWO,
    clone,
    git,
    git_in_between,
    lock_text,
    paths_in,
    save,
    shared_shop,
    shop,
    text_at,
)

from render.cli.run import run

UPDATE = ["commit", "--branch", "update"]
MORE = ASKS + "detach: all\n"


@pytest.fixture
def shared(tmp_path: Path) -> tuple[Path, Path]:
    """A server, and a clone that has pushed an update to a branch of its own."""
    server, root = shared_shop(tmp_path)
    (root / SHOP).write_bytes(TWO)
    assert run(["-q", *UPDATE, "--push", str(root / "shop")]) == 0
    return server, root


def head(root: Path, revision: str = "HEAD") -> str:
    return git(root, "rev-parse", revision)


def advance(server: Path, folder: Path, path: str = "README", text: str = "newer\n") -> str:
    """Commit something to main on the server."""
    other = clone(server, folder)
    (other / path).write_text(text)
    made = save(other, "newer")
    git(other, "push", "--quiet")
    return made


def commit_to_update(server: Path, folder: Path, path: str, text: str, *options: str) -> str:
    """Let somebody else commit to the update branch."""
    other = clone(server, folder, "--branch", "update")
    (other / path).write_text(text)
    git(other, "add", "--all")
    git(other, "commit", "--quiet", "--author", "Kim <kim@example.org>", *(options or ["-m", "by hand"]))
    git(other, "push", "--quiet", "--force")
    return head(other)


def fresh_clone(server: Path, folder: Path, lock: bytes, *options: str) -> Path:
    """Clone main, as a job does, and lock it."""
    root = clone(server, folder, *options)
    (root / SHOP).write_bytes(lock)
    return root


@pytest.mark.parametrize("options", [[], ["--depth=1"]])
def test_an_old_update_starts_again_from_the_base(
    shared: tuple[Path, Path], tmp_path: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    server, _ = shared
    base = advance(server, tmp_path / "other")
    fresh = fresh_clone(server, tmp_path / "fresh", THREE, *options)

    code = run([*UPDATE, "--push", str(fresh / "shop")])

    told = capsys.readouterr()
    assert code == 0
    assert git(server, "rev-list", "--count", f"{base}..update") == "1"
    assert (head(server, "update^"), text_at(server, "update")) == (base, THREE)
    assert head(fresh, "refs/heads/update") == head(server, "update")
    assert "| `v1.0.0` | `v3.0.0` |" in told.out
    assert "pushed to origin" in told.err


def test_a_branch_here_starts_again_as_well(shared: tuple[Path, Path], tmp_path: Path) -> None:
    server, root = shared
    base = advance(server, tmp_path / "other")
    git(root, "stash", "--quiet")
    git(root, "pull", "--quiet")
    (root / SHOP).write_bytes(THREE)

    code = run([*UPDATE, "--push", str(root / "shop")])

    assert code == 0
    assert head(root, "update^") == base
    assert head(server, "update") == head(root, "update")


def test_without_a_server_a_branch_starts_again_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = shop(tmp_path)
    (root / SHOP).write_bytes(TWO)
    run(["-q", *UPDATE, str(root / "shop")])
    (root / "README").write_text("newer\n")
    git(root, "commit", "--quiet", "-m", "newer", "README")
    (root / SHOP).write_bytes(THREE)
    capsys.readouterr()

    code = run([*UPDATE, "-o", "json", str(root / "shop")])

    [made] = json.loads(capsys.readouterr().out)
    assert code == 0
    assert head(root, "update^") == head(root)
    assert made["parent"] == head(root)
    assert "v1.0.0" in made["pullRequest"]["body"]


def test_the_same_update_again_changes_nothing_and_has_the_same_text(
    shared: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server, root = shared
    first = head(server, "update")
    fresh = fresh_clone(server, tmp_path / "fresh", TWO)

    codes = [run([*UPDATE, "--push", str(one / "shop")]) for one in (root, fresh)]

    told = capsys.readouterr()
    assert (codes, head(server, "update")) == ([0, 0], first)
    assert told.out.count("| `v1.0.0` | `v2.0.0` |") == 2
    assert told.err.count("Nothing to commit to update: it has this lock already") == 2


def test_nothing_to_commit_pushes_nothing_and_makes_no_branch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server, root = shared_shop(tmp_path)

    code = run([*UPDATE, "--push", str(root / "shop")])

    told = capsys.readouterr()
    assert code == 0
    assert (told.out, told.err.count("Nothing to commit to update: no lock has changed\n")) == ("", 1)
    assert git(server, "branch", "--list", "update") == git(root, "branch", "--list", "update") == ""


def test_an_update_that_is_no_longer_needed_is_left_and_named(
    shared: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server, _ = shared
    before = head(server, "update")
    fresh = fresh_clone(server, tmp_path / "fresh", ONE)

    code = run([*UPDATE, "--push", str(fresh / "shop")])

    told = capsys.readouterr()
    assert (code, head(server, "update")) == (0, before)
    assert "Nothing to commit to update" in told.err
    assert f"git -C {fresh / 'shop'} push origin --delete update" in told.err


def test_a_branch_with_somebody_elses_commit_is_never_rewritten(
    shared: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server, _ = shared
    theirs = commit_to_update(server, tmp_path / "kim", "README", "by hand\n")
    advance(server, tmp_path / "other", "notes", "newer\n")
    fresh = fresh_clone(server, tmp_path / "fresh", THREE)

    code = run([*UPDATE, "--push", str(fresh / "shop")])

    told = capsys.readouterr()
    assert (code, head(server, "update"), told.out) == (3, theirs, "")
    assert git(fresh, "branch", "--list", "update") == ""
    assert f"{theirs[:12]} by hand (Kim)" in told.err
    commands = [line.partition(": ")[2] for line in told.err.splitlines() if " push origin" in line]
    assert [shlex.split(command) for command in commands] == [
        ["git", "-C", str(fresh), "push", "origin", "--delete", "update"]
    ]


def test_the_printed_command_gives_the_branch_up(shared: tuple[Path, Path], tmp_path: Path) -> None:
    server, _ = shared
    commit_to_update(server, tmp_path / "kim", "README", "by hand\n")
    base = advance(server, tmp_path / "other", "notes", "newer\n")
    fresh = fresh_clone(server, tmp_path / "fresh", THREE)

    refused = run([*UPDATE, "--push", str(fresh / "shop")])
    subprocess.run(["git", "push", "--quiet", "origin", "--delete", "update"], cwd=fresh, check=True)
    accepted = run([*UPDATE, "--push", str(fresh / "shop")])

    assert (refused, accepted, head(server, "update^")) == (3, 0, base)


def test_on_top_of_somebody_elses_commit_there_is_room_if_the_branch_has_the_base(
    shared: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server, _ = shared
    theirs = commit_to_update(server, tmp_path / "kim", "README", "by hand\n")
    fresh = fresh_clone(server, tmp_path / "fresh", THREE)

    code = run([*UPDATE, "--push", str(fresh / "shop")])

    told = capsys.readouterr()
    assert code == 0
    assert (head(server, "update^"), text_at(server, "update")) == (theirs, THREE)
    # The text of the pull request is about the base, the message about what was there.
    assert "| `v1.0.0` | `v3.0.0` |" in told.out
    assert "v2.0.0 -> v3.0.0" in git(server, "log", "-1", "--format=%B", "update")
    assert f"{theirs[:12]} by hand (Kim)" in told.err


def test_a_commit_of_ours_that_somebody_amended_is_theirs(
    shared: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server, _ = shared
    theirs = commit_to_update(server, tmp_path / "kim", "README", "amended\n", "--amend", "--no-edit")
    advance(server, tmp_path / "other", "notes", "newer\n")
    fresh = fresh_clone(server, tmp_path / "fresh", THREE)

    code = run([*UPDATE, "--push", str(fresh / "shop")])

    assert (code, head(server, "update")) == (3, theirs)
    assert "README" in capsys.readouterr().err


def test_a_merge_on_the_branch_is_somebody_elses(shared: tuple[Path, Path], tmp_path: Path) -> None:
    server, _ = shared
    advance(server, tmp_path / "other", "notes", "newer\n")
    kim = clone(server, tmp_path / "kim", "--branch", "update")
    git(kim, "merge", "--quiet", "--no-edit", "origin/main")
    git(kim, "push", "--quiet")
    fresh = fresh_clone(server, tmp_path / "fresh", THREE)

    code = run([*UPDATE, "--push", str(fresh / "shop")])

    assert code == 0
    assert head(server, "update^") == head(kim)


def test_inputs_that_were_committed_with_an_update_start_again_with_it(
    tmp_path: Path,
) -> None:
    server, root = shared_shop(tmp_path)
    (root / "shop/xplock.yaml").write_text(MORE)
    for version in ("v2.0.0", "v3.0.0"):
        (root / SHOP).write_bytes(lock_text(f"app {version}", asks=MORE))
        assert run(["-q", *UPDATE, "--push", "--with-inputs", str(root / "shop")]) == 0

    assert head(server, "update^") == head(server, "main")
    assert paths_in(server, "update") == [SHOP, "shop/xplock.yaml"]


def test_somebody_who_pushes_in_between_is_not_overwritten(
    shared: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, _ = shared
    advance(server, tmp_path / "other", "notes", "newer\n")
    fresh = fresh_clone(server, tmp_path / "fresh", THREE)
    kim = clone(server, tmp_path / "kim", "--branch", "update")
    (kim / "README").write_text("in between\n")
    theirs = save(kim, "in between")
    script = (
        f'case " $* " in *" push "*) mkdir {tmp_path}/once 2>/dev/null && '
        f"env -u GIT_ALLOW_PROTOCOL git -C {kim} push --quiet origin update;; esac"
    )
    real = monkeypatch.setenv
    real(
        "PATH",
        git_in_between(tmp_path / "bin", script.replace("git -C", "/usr/bin/env PATH=/usr/bin git -C")),
    )

    code = run([*UPDATE, "--push", str(fresh / "shop")])

    assert (code, head(server, "update")) == (3, theirs)


def test_the_base_can_be_named(shared: tuple[Path, Path], tmp_path: Path) -> None:
    server, root = shared
    git(root, "branch", "release", "main")
    advance(server, tmp_path / "other", "notes", "newer\n")
    git(root, "pull", "--quiet", "--rebase", "--autostash")
    (root / SHOP).write_bytes(THREE)

    code = run([*UPDATE, "--from", "release", "--push", str(root / "shop")])

    assert code == 0
    assert head(server, "update^") == head(root, "release")


def test_a_server_that_forbids_rewriting_is_an_error_and_nothing_changes(
    shared: tuple[Path, Path], tmp_path: Path
) -> None:
    server, _ = shared
    git(server, "config", "receive.denyNonFastForwards", "true")
    before = head(server, "update")
    advance(server, tmp_path / "other", "notes", "newer\n")
    fresh = fresh_clone(server, tmp_path / "fresh", THREE)

    code = run([*UPDATE, "--push", str(fresh / "shop")])

    assert (code, head(server, "update")) == (1, before)
    assert git(fresh, "branch", "--list", "update") == ""
