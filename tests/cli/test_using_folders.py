"""A package that another folder in reach needs is neither called unneeded nor retired under it."""

import json
from pathlib import Path

import pytest
from rig.builders.projects import World, locked, text_of
from rig.commands.pasting import paste, printed_commands
from rig.commands.run import Outcome


@pytest.fixture
def world(tmp_path: Path) -> World:
    """platform asks for base and tool; reef uses it, and its app needs base; both are locked."""
    world = World(tmp_path)
    world.publish("base v1.0.0")
    world.publish("tool v1.0.0")
    world.publish("app v1.0.0", {"base": "*"})
    world.project("platform", "base", "tool")
    world.project("reef", "app", more="uses: [../platform]\n")
    assert paste("xplock lock platform reef", tmp_path).code == 0
    world.project("platform", "tool")
    return world


def run(world: World, command: str) -> Outcome:
    return paste(f"xplock {command}", world.folder)


@pytest.mark.parametrize("folders", ["platform reef", "reef platform", "platform"])
def test_the_report_names_the_folder_that_needs_what_is_leaving(world: World, folders: str) -> None:
    done = run(world, f"lock {folders}")

    lines = done.stdout.splitlines()
    [first] = [i for i, line in enumerate(lines) if line.startswith("Leaving")]
    assert done.code == 0
    assert lines[first].endswith("acme/base v1.0.0")
    assert "(nothing requires it here, but reef does" in lines[first + 1]
    assert printed_commands(lines[first : first + 2]) == []


def test_the_report_as_json_names_it_too(world: World) -> None:
    [platform, _] = json.loads(run(world, "lock platform reef -o json").stdout)

    assert [entry["neededBy"] for entry in platform["leaving"]] == [["reef"]]


@pytest.mark.parametrize("command", ["retire base -C platform", "retire base -C platform -C reef"])
def test_it_is_not_retired_wherever_the_command_is_run(world: World, command: str) -> None:
    assert run(world, "lock platform reef").code == 0
    before = text_of(world.folder / "platform")

    refused = run(world, command)

    refused.assert_refused(
        4, "xpkg.example.org/acme/app v1.0.0 in reef needs xpkg.example.org/acme/base v1.0.0"
    )
    assert text_of(world.folder / "platform") == before


def test_in_the_folder_itself_the_other_one_is_found_by_its_path(world: World) -> None:
    assert run(world, "lock platform reef").code == 0

    refused = paste("xplock retire base", world.folder / "platform")

    refused.assert_refused(4, "in ../reef needs")


def test_it_is_retired_when_the_other_folder_no_longer_needs_it(world: World) -> None:
    world.publish("app v2.0.0")
    assert run(world, "lock platform reef").code == 0
    assert run(world, "lock -P app reef").code == 0

    released = run(world, "retire base -C platform")
    dropped = run(world, "retire base -C platform --synced")

    assert (released.code, dropped.code) == (0, 0)
    assert locked(world.folder / "platform") == {"tool": "v1.0.0"}
    assert "base" not in text_of(world.folder / "reef").decode()


def test_what_nobody_needs_has_its_command(world: World) -> None:
    world.publish("app v2.0.0")
    assert run(world, "lock -P app reef").code == 0

    done = run(world, "lock platform")

    commands = printed_commands(done.stdout.splitlines())
    assert commands == ["xplock retire xpkg.example.org/acme/base -C platform"]
    assert run(world, commands[0].removeprefix("xplock ")).code == 0


def test_a_folder_whose_lock_cannot_be_read_keeps_others_from_being_retired(world: World) -> None:
    assert run(world, "lock platform reef").code == 0
    (world.folder / "reef" / "crossplane.lock.yaml").write_text("no lock")

    run(world, "retire base -C platform").assert_refused(2, "reef/crossplane.lock.yaml")


def test_what_leaves_both_folders_is_retired_by_the_commands_that_are_printed(tmp_path: Path) -> None:
    world = World(tmp_path)
    for package in ("net", "network", "tool", "other"):
        world.publish(f"{package} v1.0.0", {"net": "*"} if package == "network" else {})
    world.project("plat form", "net", "tool")
    world.project("the app", "network", "other", more="uses: ['../plat form']\n")
    assert run(world, "lock 'plat form' 'the app'").code == 0
    world.project("the app", "other", more="uses: ['../plat form']\n")
    world.project("plat form", "tool")
    assert run(world, "lock 'plat form' 'the app'").code == 0

    refused = run(world, "retire net -C 'plat form'")

    refused.assert_refused(4, "xpkg.example.org/acme/network v1.0.0 in the app needs")
    [command] = printed_commands(refused.stderr.splitlines())
    assert command.endswith(" -C 'plat form' -C 'the app'")
    for _ in range(3):
        done = paste(command, world.folder)
        assert done.code == 0
        command = (printed_commands(done.stdout.splitlines()) or [""])[0]
    assert command == ""
    assert set(locked(world.folder / "plat form")) == {"tool"}
