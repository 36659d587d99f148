"""xplock verify: what registries have now, against what was locked."""

import json
import shutil
from pathlib import Path

import pytest
from rig.builders.projects import HOME, World, moves, small_world, text_of
from rig.commands.pasting import paste, printed_commands

from render.cli.run import run
from render.limits import Limits
from render.lock.model import Lock
from render.lock.text.file import read_lock, write_lock
from render.lock.text.format import format_lock
from render.references import parse_source


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A small ecosystem: app, tool and old all need base."""
    return small_world(tmp_path)


@pytest.fixture
def project(world: World) -> Path:
    """A locked project."""
    folder = world.project("shop", "app:v1.0.0", "tool:v1.0.0")
    assert run(["-q", "lock", str(folder)]) == 0
    return folder


def test_what_is_as_it_was_locked_is_well(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["verify", str(project)])

    assert (code, capsys.readouterr().out) == (0, f"{project}: 3 of 3 packages as locked\n")


def test_a_tag_that_moved_is_named_with_both_digests(
    world: World, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = text_of(project)
    world.publish("extra v1.0.0")
    world.publish("base v1.1.0", {"extra": "*"})

    code = run(["verify", str(project)])

    output = capsys.readouterr()
    assert code == 3
    assert f"{HOME}/base v1.1.0: tag moved" in output.out
    assert output.out.count("sha256:") == 2
    assert output.err.startswith("error: the tags of 1 package are not what was locked\n")
    advice = output.err.partition("next: ")[2].splitlines()
    assert advice[0] == "nothing changes in the cluster"
    [command] = printed_commands(advice)
    assert command == f"xplock lock -P {HOME}/base {project}"
    assert text_of(project) == before

    assert paste(command, project.parent).code == 0

    assert run(["verify", str(project)]) == 0


def test_a_tag_that_is_gone_is_named(world: World, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index = world.layout / "index.json"
    index.write_text(index.read_text().replace("acme/base:v1.1.0", "acme/base:v1.1.9"))

    code = run(["verify", str(project)])

    output = capsys.readouterr()
    assert code == 3
    assert f"{HOME}/base v1.1.0: tag gone" in output.out
    assert "it was removed after it was locked, or the lock was edited" in output.out
    assert "if a tag never was there, the lock was edited: restore it from Git\n" in output.err
    # There is nothing to take.
    [command] = printed_commands(output.err.splitlines())
    assert command == f"xplock outdated {project}"
    assert paste(command, project.parent).code == 0


def test_bytes_that_are_gone_make_the_lock_worthless(
    world: World, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(world.layout)
    small_world(world.folder)
    lock = read_lock(project, Limits()) or Lock()
    digest = lock.packages[parse_source(f"{HOME}/base")].digest
    (world.layout / "blobs/sha256" / digest.removeprefix("sha256:")).unlink()

    code = run(["verify", str(project)])

    output = capsys.readouterr()
    assert code == 1
    assert f"{HOME}/base v1.1.0: bytes gone" in output.out
    assert output.err.startswith("error: 1 locked package cannot be relied on\n")


def test_two_digests_that_were_swapped_by_hand_are_both_named(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = read_lock(project, Limits()) or Lock()
    app, base = (lock.packages[parse_source(f"{HOME}/{name}")] for name in ("app", "base"))
    text = format_lock(lock)
    for old, new in ((app, base), (base, app)):
        text = text.replace(f"digest: {old.digest}", f"digest: swapped {new.digest}")
        text = text.replace(
            f"name: {old.object_name}-{old.digest[7:19]}",
            f"name: swapped {old.object_name}-{new.digest[7:19]}",
        )
    write_lock(project, text.replace("swapped ", ""))

    code = run(["verify", "-o", "json", str(project)])

    output = capsys.readouterr()
    [report] = json.loads(output.out)
    other = {finding["source"] for finding in report["findings"] if finding["trouble"] == "other content"}
    assert code == 1
    assert other == {f"{HOME}/app", f"{HOME}/base"}
    assert f"{HOME}/app, {HOME}/base" in output.err


def test_bytes_that_are_not_what_their_digest_says_are_found(
    world: World, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = read_lock(project, Limits()) or Lock()
    digest = lock.packages[parse_source(f"{HOME}/base")].digest
    blob = world.layout / "blobs/sha256" / digest.removeprefix("sha256:")
    blob.write_bytes(blob.read_bytes() + b" ")

    code = run(["verify", str(project)])

    assert code == 1
    assert f"{HOME}/base v1.1.0: unreadable" in capsys.readouterr().out


def test_several_folders_are_verified_in_one_call(
    world: World, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = world.project("other", "base")
    run(["-q", "lock", str(other)])

    code = run(["verify", str(project), str(other)])

    assert code == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{project}: 3 of 3 packages as locked",
        f"{other}: 1 of 1 package as locked",
    ]


def test_what_is_switched_off_is_verified_as_well(
    world: World, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world.publish("successor v1.0.0")
    more = "crossplaneVersion: v2.3.4\n" + moves("app", "successor")
    world.project("shop", "successor", "tool:v1.0.0", more=more)
    assert run(["-q", "lock", str(project)]) == 0
    as_locked = run(["verify", str(project)])
    told = capsys.readouterr().out
    world.publish("app v1.0.0", {"tool": "*"})

    code = run(["verify", str(project)])

    assert (as_locked, told) == (0, f"{project}: 4 of 4 packages as locked\n")
    assert code == 3
    assert f"{HOME}/app v1.0.0 (deactivated): tag moved" in capsys.readouterr().out
