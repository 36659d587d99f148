"""The commands that errors print about several folders lead out of every state, pasted in their order."""

from pathlib import Path

import pytest
from rig.builders.projects import World, locked
from rig.commands.pasting import paste, printed_commands
from rig.commands.refusals import parse_refusal

PLAT, USER = "clusters/the platform", "clusters/the user"
USES = 'uses: ["../the platform"]\n'
BOTH = f"xplock lock '{PLAT}' '{USER}'"


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A folder that provides base v1 to another one, which now asks for a package that needs base v2."""
    world = World(tmp_path)
    for version in ("v1.1.0", "v2.0.0"):
        world.publish(f"base {version}")
    for name in ("app", "other"):
        world.publish(f"{name} v1.0.0", {"base": "<v2"})
    world.publish("app v2.0.0", {"base": ">=v2"})
    world.publish("top v1.0.0", {"app": "<v2"})
    world.publish("new v1.0.0", {"base": ">=v2"})
    world.project(PLAT, "base:v1.1.0")
    return world


def ask(world: World, base: str, *roots: str) -> None:
    world.project(PLAT, f"base:{base}")
    world.project(USER, *roots, more=USES)


def exchange(world: World, *old: str) -> None:
    """Lock one package in the using folder, then ask for one that needs another version of what is provided."""
    ask(world, "v1.1.0", *old)
    assert paste(BOTH, world.folder).code == 0
    ask(world, "v2.0.0", "new")


def lead_out(world: World, command: str) -> None:
    """Paste every command of an error, with the edits that it asks for between them, until all is locked."""
    done = paste(command, world.folder)
    assert done.code == 4, done
    for line in parse_refusal(done.code, done.stderr[: done.stderr.find("was not tried")]).next:
        if line.startswith("let ") and "nothing that is new" in line:
            world.project(USER, more=USES)
        elif line.startswith("let it leave first: ask for"):
            ask(world, "v1.1.0")
        elif line.startswith("then ask for"):
            ask(world, "v2.0.0", "new")
        elif line.startswith("or, where"):
            break
        for one in printed_commands([line]):
            run(world, one)
    ask(world, "v2.0.0", "new")
    assert paste(BOTH, world.folder).code == 0
    assert locked(world.folder / PLAT)["base"] == "v2.0.0"
    assert locked(world.folder / USER) == {"new": "v1.0.0"}


def run(world: World, command: str) -> None:
    done = paste(command, world.folder)
    while "--synced" in command and (following := printed_commands(done.stdout.splitlines())):
        done = paste(following[0], world.folder)
    assert done.code == 0, (command, done.stderr)


@pytest.mark.parametrize("old", [["app:v1.0.0"], ["top"], ["app:v1.0.0", "other"]])
def test_both_folders_change_and_nothing_is_locked_yet(world: World, old: list[str]) -> None:
    exchange(world, *old)

    lead_out(world, BOTH)


@pytest.mark.parametrize("old", [["app:v1.0.0"], ["top"], ["app:v1.0.0", "other"]])
def test_the_used_folder_was_locked_first(world: World, old: list[str]) -> None:
    exchange(world, *old)
    assert paste(f"xplock lock '{PLAT}'", world.folder).code == 0

    lead_out(world, f"xplock lock '{USER}'")


def test_the_used_folder_was_locked_first_and_nothing_new_is_asked_for(world: World) -> None:
    exchange(world, "app:v1.0.0")
    assert paste(f"xplock lock '{PLAT}'", world.folder).code == 0
    world.project(USER, more=USES)

    lead_out(world, f"xplock lock '{USER}'")


def test_the_package_was_leaving_before_the_used_folder_was_locked(world: World) -> None:
    exchange(world, "app:v1.0.0")
    world.project(USER, more=USES)
    assert paste(f"xplock lock '{USER}'", world.folder).code == 0
    ask(world, "v2.0.0", "new")
    assert paste(f"xplock lock '{PLAT}'", world.folder).code == 0

    lead_out(world, f"xplock lock '{USER}'")


def test_folders_whose_versions_suit_each_other_are_locked_one_after_the_other(world: World) -> None:
    exchange(world, "app:v1.0.0")
    ask(world, "v2.0.0", "app:v2.0.0")
    done = paste(BOTH, world.folder)
    lines = parse_refusal(done.code, done.stderr[: done.stderr.find("was not tried")]).next

    start = next(number for number, line in enumerate(lines) if line.startswith("or, where"))
    for command in printed_commands(lines[start:]):
        run(world, command)

    assert locked(world.folder / USER) == {"app": "v2.0.0"}


def test_locking_the_used_folder_alone_names_the_folder_whose_lock_no_longer_holds(world: World) -> None:
    exchange(world, "app:v1.0.0")

    done = paste(f"xplock lock '{PLAT}'", world.folder)

    said = [line for line in done.stderr.splitlines() if "no longer holds" in line]
    assert done.code == 0 and len(said) == 1, done
    assert USER in said[0] and "<v2" in said[0] and printed_commands(said) == [f"xplock lock '{USER}'"]
    assert "no longer holds" not in paste(f"xplock lock '{PLAT}'", world.folder).stderr
