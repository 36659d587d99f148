"""xplock lock in a Git repository: locks that vanish, and locks that two people changed."""

import subprocess
from pathlib import Path

import pytest
from rig.builders.projects import HOME, World, locked, small_world, text_of

from render.cli.run import run
from render.limits import Limits
from render.lock.text.file import read_lock
from render.system.files import LOCK_FILE


def git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run git in a folder, as somebody."""
    identity = [
        "-c",
        "user.name=Robin",
        "-c",
        "user.email=robin@example.org",
        "-c",
        "init.defaultBranch=main",
    ]
    return subprocess.run(
        ["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


def commit(folder: Path, message: str) -> None:
    """Commit everything in a folder."""
    git(folder, "add", "-A")
    git(folder, "commit", "-m", message)


def branch(world: World, project: Path, name: str, *roots: str) -> None:
    """Ask for other packages on a branch of its own, and lock them."""
    git(project, "checkout", "-q", "-b", name, "main")
    world.project("shop", *roots)
    assert run(["-q", "lock", str(project)]) == 0
    commit(project, name)


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A small ecosystem: app, tool and old all need base."""
    return small_world(tmp_path)


@pytest.fixture
def project(world: World) -> Path:
    """A repository with a locked project."""
    folder = world.project("shop", "app:v1.0.0")
    git(folder, "init", "-q")
    run(["-q", "lock", str(folder)])
    commit(folder, "first")
    return folder


def test_a_lock_that_git_has_and_the_folder_has_not_is_not_made_anew_without_being_asked(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / LOCK_FILE).unlink()

    refused = run(["lock", str(project)])
    made = (project / LOCK_FILE).exists()
    accepted = run(["lock", "--new", str(project)])

    assert (refused, made, accepted) == (2, False, 0)
    [line] = [one for one in capsys.readouterr().err.splitlines() if "checkout HEAD" in one]
    # From a folder that is in no repository.
    subprocess.run(["sh", "-c", line.partition("bring it back: ")[2]], cwd=project.anchor, check=True)
    assert (project / LOCK_FILE).exists()


def test_a_repository_that_cannot_be_asked_may_have_a_lock(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = world.project("shop", "app:v1.0.0")
    (folder / ".git").write_text("gitdir: /nowhere/.git/worktrees/shop\n")

    refused = run(["lock", str(folder)])
    made = (folder / LOCK_FILE).exists()
    accepted = run(["lock", "--new", str(folder)])

    assert (refused, made, accepted) == (1, False, 0)
    assert f"git cannot work in {folder}" in capsys.readouterr().err


def test_an_empty_folder_in_the_place_of_a_repository_is_none(world: World) -> None:
    folder = world.project("shop", "app:v1.0.0")
    (folder / ".git").mkdir()

    assert run(["-q", "lock", str(folder)]) == 0
    assert locked(folder) == {"app": "v1.0.0", "base": "v1.1.0"}


def test_two_branches_that_each_add_a_root_lose_nothing(
    world: World,
    project: Path,
) -> None:
    branch(world, project, "one", "app:v1.0.0", "tool:v1.0.0")
    branch(world, project, "two", "app:v1.0.0", "old:v1.0.0")
    git(project, "checkout", "-q", "one")
    git(project, "merge", "two")
    world.project("shop", "app:v1.0.0", "tool:v1.0.0", "old:v1.0.0")

    code = run(["lock", str(project)])

    assert code == 0
    assert locked(project) == {"app": "v1.0.0", "base": "v1.1.0", "old": "v1.0.0", "tool": "v1.0.0"}
    assert b"<<<<<<<" not in text_of(project)


def test_a_conflict_in_the_lock_is_solved_again_and_names_stay(
    world: World,
    project: Path,
) -> None:
    branch(world, project, "one", "app:v1.0.0", "tool:v1.0.0")
    branch(world, project, "two", "app:v2.0.0", "tool:v1.0.0")
    git(project, "checkout", "-q", "one")
    merged = git(project, "merge", "two")
    world.project("shop", "app:v2.0.0", "tool:v1.0.0")
    conflicted = b"<<<<<<<" in text_of(project)

    code = run(["lock", str(project)])

    assert merged.returncode == 1
    assert conflicted
    assert code == 0
    assert locked(project) == {"app": "v2.0.0", "base": "v2.0.0", "tool": "v1.0.0"}


def test_a_clean_merge_into_something_wrong_is_found(
    world: World,
    project: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    world.publish("middle v1.0.0", {"zebra": ">=v1"})
    world.publish("zebra v1.0.0")
    world.project("shop", "middle:v1.0.0")
    run(["-q", "lock", "--new", str(project)])
    commit(project, "before")
    world.publish("zebra v2.0.0")
    world.publish("apart v1.0.0", {"zebra": "^1"})
    branch(world, project, "add", "apart:v1.0.0", "middle:v1.0.0")
    git(project, "checkout", "-q", "main")
    run(["-q", "lock", "-P", "zebra", str(project)])
    commit(project, "bump")

    merged = git(project, "merge", "-q", "-m", "both", "add")
    code = run(["tree", str(project)])

    errors = capsys.readouterr().err
    assert merged.returncode == 0, merged.stdout
    assert read_lock(project, Limits())
    assert code == 3
    assert f"{HOME}/apart" in errors
    assert f"{HOME}/zebra" in errors


def conflicted_merge(project: Path, ours: str, theirs: str) -> None:
    """Merge one branch into another, and see that Git could not merge the lock."""
    git(project, "checkout", "-q", ours)
    assert git(project, "merge", theirs).returncode == 1
    assert b"<<<<<<<" in text_of(project)


def test_what_one_branch_let_go_of_is_still_installed_after_a_conflict(world: World, project: Path) -> None:
    world.project("shop", "app:v1.0.0", "tool:v1.0.0")
    run(["-q", "lock", str(project)])
    commit(project, "tool")
    branch(world, project, "drop", "app:v1.0.0")
    branch(world, project, "upgrade", "app:v2.0.0", "tool:v1.0.0")
    conflicted_merge(project, "drop", "upgrade")
    world.project("shop", "app:v2.0.0")

    code = run(["lock", str(project)])

    lock = read_lock(project, Limits())
    assert code == 0
    assert lock
    assert {key.name: (item.version, item.state) for key, item in lock.packages.items()} == {
        "app": ("v2.0.0", "wanted"),
        "base": ("v2.0.0", "wanted"),
        "tool": ("v1.0.0", "orphaned"),
    }
    # A cluster may run what either branch had.
    (base,) = [item for key, item in lock.packages.items() if key.name == "base"]
    assert [pin.tag for pin in base.kept_pins] == ["v1.1.0"]


MOVE = f"""\
crossplaneVersion: v2.3.4
moves:
  - from: {HOME}/old
    to: {HOME}/fresh
    strategy: deactivate
"""


def test_a_package_that_one_branch_switched_off_and_the_other_upgraded_is_decided_by_a_person(
    world: World, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world.publish("old v1.1.0", {"base": "<v2"})
    world.publish("fresh v1.0.0", {"base": "<v2"})
    world.project("shop", "app:v1.0.0", "old:v1.0.0")
    run(["-q", "lock", str(project)])
    commit(project, "old")
    branch(world, project, "upgrade", "app:v1.0.0", "old:v1.1.0")
    git(project, "checkout", "-q", "-b", "move", "main")
    world.project("shop", "app:v1.0.0", "fresh:v1.0.0")
    with (project / "xplock.yaml").open("a") as settings:
        settings.write(MOVE)
    assert run(["-q", "lock", str(project)]) == 0
    commit(project, "move")
    conflicted_merge(project, "move", "upgrade")
    git(project, "checkout", "--ours", "xplock.yaml")

    refused = run(["lock", str(project)])
    told = capsys.readouterr().err
    [checkout] = [line for line in told.splitlines() if "--ours" in line]
    command = checkout.partition("whole: ")[2].partition(" (or")[0]
    subprocess.run(["sh", "-ec", command], check=True)
    accepted = run(["lock", str(project)])

    assert (refused, accepted) == (4, 0)
    assert f"{HOME}/old is active, and also deactivated and replaced by {HOME}/fresh" in told
    assert f"then lock again: xplock lock {project}\n" in told
    lock = read_lock(project, Limits())
    assert lock
    assert [key.name for key in lock.deactivated] == ["old"]
    assert locked(project) == {"app": "v1.0.0", "base": "v1.1.0", "fresh": "v1.0.0"}


def test_a_package_that_a_clean_merge_doubled_is_put_right(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, separator, second = text_of(project).decode().partition("---\n")
    blocks = second.split("\n- source: ")
    doubled = "\n- source: ".join([*blocks, blocks[-1].rstrip("\n")]) + "\n"
    entries = first.split("\n- apiVersion: ")
    (project / LOCK_FILE).write_text("\n- apiVersion: ".join([*entries, entries[-1]]) + separator + doubled)

    refused = run(["tree", str(project)])
    repaired = run(["lock", str(project)])

    assert (refused, repaired) == (2, 0)
    assert "is listed a second time" in capsys.readouterr().err
    assert locked(project) == {"app": "v1.0.0", "base": "v1.1.0"}
