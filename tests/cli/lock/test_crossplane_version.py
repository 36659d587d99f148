"""The version of Crossplane in the settings: refused where a setting does not fit it, and told where it is assumed."""

from pathlib import Path

import pytest
from rig.builders.projects import World, small_world

from render.cli.run import run
from render.system.files import LOCK_FILE


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A small ecosystem; folders are named from where they are."""
    monkeypatch.chdir(tmp_path)
    return small_world(tmp_path)


# A folder without a lock is the graver finding.
@pytest.mark.parametrize(("command", "refused"), [("lock", 2), ("check", 3)])
def test_a_crossplane_that_is_too_old_for_pins_is_refused(
    world: World, command: str, refused: int, capsys: pytest.CaptureFixture[str]
) -> None:
    project = world.project("shop", "app:v1.0.0", more="crossplaneVersion: v1.17.0\n")

    code = run([command, "shop"])

    told = "".join(capsys.readouterr())
    assert (code, (project / LOCK_FILE).exists()) == (refused, False)
    assert "crossplaneVersion: v1.17.0 is too old: pin: digest needs Crossplane v2.2 or newer" in told


def test_with_tags_alone_it_is_accepted(world: World) -> None:
    world.project("shop", "app:v1.0.0", more="crossplaneVersion: v1.17.0\npin: tag\n")

    assert run(["lock", "shop"]) == run(["check", "shop"]) == 0


UNSET = "crossplaneVersion is not set; Crossplane v2.2 or newer is assumed"
NEWER = (
    "crossplaneVersion v2.99.0 is newer than any Crossplane that xplock was run with; it is treated as v2.4"
)


def told(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Run a command; return its exit code and what it says about the version of Crossplane."""
    capsys.readouterr()
    code = run(arguments)
    lines = capsys.readouterr().err.splitlines()
    return code, "\n".join(line for line in lines if "crossplaneVersion" in line)


@pytest.mark.parametrize(
    ("more", "note"),
    [
        ("", f"shop: {UNSET}"),
        ("pin: tag\n", "shop: crossplaneVersion is not set; any Crossplane is assumed"),
        ("crossplaneVersion: v2.99.0\n", f"shop: {NEWER}"),
        ("crossplaneVersion: v2.4.99\n", ""),
        ("crossplaneVersion: v2.3.4\n", ""),
    ],
)
def test_the_first_lock_says_which_version_is_assumed_and_check_says_it_always(
    world: World, more: str, note: str, capsys: pytest.CaptureFixture[str]
) -> None:
    world.project("shop", "app:v1.0.0", more=more)

    assert told(["lock", "--dry-run", "shop"], capsys) == (0, note)
    assert told(["lock", "shop"], capsys) == (0, note)
    assert told(["lock", "shop"], capsys) == (0, "")
    assert told(["lock", "-U", "shop"], capsys) == (0, "")
    assert told(["-v", "lock", "shop"], capsys) == (0, note)
    assert told(["check", "shop"], capsys) == (0, note)
    assert told(["-q", "check", "shop"], capsys) == (0, "")


def test_a_version_that_changes_is_news_and_another_change_is_not(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.project("shop", "app:v1.0.0", more="crossplaneVersion: v2.4.0\n")
    assert told(["lock", "shop"], capsys) == (0, "")

    world.project("shop", "app:v1.0.0", more="crossplaneVersion: v2.99.0\n")
    assert told(["lock", "shop"], capsys) == (0, f"shop: {NEWER}")
    world.project("shop", "app:v1.0.0")
    assert told(["lock", "shop"], capsys) == (0, f"shop: {UNSET}")
    world.project("shop", "app:v1.0.0", more="families: free\n")
    assert told(["lock", "shop"], capsys) == (0, "")


def test_a_lock_that_is_only_rendered_is_not_the_time_to_say_it(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.project("shop", "app:v1.0.0")

    assert told(["render", "--resolve", "shop"], capsys) == (0, "")


def test_check_says_the_same_of_many_folders_in_one_line(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["a", "b", "c", "d", "e"]
    for name in names:
        world.project(name, "app:v1.0.0", more="pin: tag\n" if name == "e" else "")
    run(["lock", *names])

    assert told(["check", "-o", "json", *names], capsys) == (
        0,
        f"a, b, c and 1 more: {UNSET}\ne: crossplaneVersion is not set; any Crossplane is assumed",
    )
