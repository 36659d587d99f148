"""Every command that an error of `lock` or `retire` prints can be pasted, and leads out of the situation."""

from collections.abc import Callable
from pathlib import Path

import pytest
from rig.builders.projects import World, locked
from rig.commands.pasting import paste, printed_commands
from rig.commands.refusals import Refusal, parse_refusal

# As a user with an awkward folder sees it, from another directory.
NAME = "clusters/two words"


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Packages that conflict with each other over base."""
    world = World(tmp_path)
    for version in ("v1.0.0", "v1.1.0", "v2.0.0"):
        world.publish(f"base {version}")
    world.publish("middle v1.0.0", {"base": "<v2"})
    world.publish("app v1.0.0", {"base": "<v2"})
    world.publish("deep v1.0.0", {"middle": "*"})
    world.publish("new v1.0.0", {"base": ">=v2"})
    world.publish("tool v1.0.0")
    world.publish("first v1.0.0", crds=["as.acme.org"], kind="Provider")
    world.publish("second v1.0.0", crds=["as.acme.org"], kind="Provider")
    return world


def refused(world: World, command: str) -> Refusal:
    done = paste(command, world.folder)
    assert (done.stdout, done.code > 0) == ("", True), done
    return parse_refusal(done.code, done.stderr)


def run_all(
    world: World, refusal: Refusal, *, aside: Callable[[], object], back: Callable[[], object]
) -> None:
    """Do what an error says line by line: edits where it asks for them, and each command as it is printed."""
    for line in refusal.next:
        if "remove what is new" in line:
            aside()
        if line.startswith("then ask for what is new again"):
            back()
        for command in printed_commands([line]):
            done = paste(command, world.folder)
            while "--synced" in command and (following := printed_commands(done.stdout.splitlines())):
                done = paste(following[0], world.folder)
            assert done.code == 0, (line, done.stderr)


@pytest.mark.parametrize("old", ["app", "deep"])
def test_a_root_is_exchanged_for_one_that_conflicts_with_it(world: World, old: str) -> None:
    world.project(NAME, "tool", old)
    assert paste(f"xplock lock '{NAME}'", world.folder).code == 0
    world.project(NAME, "tool", "new")

    refusal = refused(world, f"xplock lock '{NAME}'")
    run_all(
        world,
        refusal,
        aside=lambda: world.project(NAME, "tool"),
        back=lambda: world.project(NAME, "tool", "new"),
    )

    assert refusal.code == 4
    after = locked(world.folder / NAME)
    assert (after["new"], after["base"], old in after) == ("v1.0.0", "v2.0.0", False)


def test_a_package_that_is_leaving_already_is_retired_and_the_lock_follows(world: World) -> None:
    world.project(NAME, "tool", "app")
    paste(f"xplock lock '{NAME}'", world.folder)
    world.project(NAME, "tool")
    paste(f"xplock lock '{NAME}'", world.folder)
    folder = world.project(NAME, "tool", "new")

    refusal = refused(world, f"xplock lock '{NAME}'")
    run_all(world, refusal, aside=pytest.fail, back=pytest.fail)

    assert locked(folder)["base"] == "v2.0.0"


def test_a_handover_that_nobody_wants_is_avoided_by_retiring_first(world: World) -> None:
    folder = world.project(NAME, "tool", "first")
    paste(f"xplock lock '{NAME}'", world.folder)
    world.project(NAME, "tool", "second")

    refusal = refused(world, f"xplock lock '{NAME}'")
    run_all(
        world,
        refusal,
        aside=lambda: world.project(NAME, "tool"),
        back=lambda: world.project(NAME, "tool", "second"),
    )

    assert locked(folder) == {"tool": "v1.0.0", "second": "v1.0.0"}


def test_an_upgrade_that_an_orphan_forbids_waits_for_it(world: World) -> None:
    folder = world.project(NAME, "tool", "base", "app")
    paste(f"xplock lock '{NAME}'", world.folder)
    world.project(NAME, "tool", "base")

    refusal = refused(world, f"xplock lock -P base=v2.0.0 '{NAME}'")
    run_all(world, refusal, aside=pytest.fail, back=pytest.fail)

    assert locked(folder) == {"tool": "v1.0.0", "base": "v2.0.0"}


def test_a_command_line_that_asks_for_too_much_is_corrected_by_pasting(world: World) -> None:
    folder = world.project(NAME, "app:v1.0.0", "tool")
    paste(f"xplock lock -P tool '{NAME}'", world.folder)
    paste(f"xplock lock '{NAME}'", world.folder)

    refusal = refused(world, f"xplock lock -P base=v2.0.0 -P tool '{NAME}'")
    [command] = printed_commands(refusal.next)

    assert refusal.code == 4 and command == f"xplock lock -P tool '{NAME}'"
    assert paste(command, world.folder).code == 0
    assert locked(folder)["base"] == "v1.1.0"
    assert not [line for line in refusal.next if "ask for" in line]


def test_a_version_that_is_gone_is_replaced_by_pasting_either_command(world: World) -> None:
    folder = world.project(NAME, "base")
    paste(f"xplock lock '{NAME}'", world.folder)
    index = world.layout / "index.json"
    index.write_text(index.read_text().replace(":v2.0.0", ":gone"))

    refusal = refused(world, f"xplock lock -U '{NAME}'")

    for command in printed_commands(refusal.next):
        assert paste(f"{command} --dry-run", world.folder).code == 0, command
    assert locked(folder)["base"] == "v2.0.0"


def test_a_package_that_is_still_wanted_is_retired_after_the_printed_lock(world: World) -> None:
    world.project(NAME, "tool", "app")
    paste(f"xplock lock '{NAME}'", world.folder)
    world.project(NAME, "tool")

    refusal = refused(world, f"xplock retire app -C '{NAME}'")
    for command in [*printed_commands(refusal.next), f"xplock retire app -C '{NAME}'"]:
        assert paste(command, world.folder).code == 0, command


def test_a_used_folder_without_a_lock_is_locked_by_pasting(world: World) -> None:
    world.project("plat form", "tool")
    world.project(NAME, "app", more='uses: ["../../plat form"]\n')

    refusal = refused(world, f"xplock lock '{NAME}'")
    for command in [*printed_commands(refusal.next), f"xplock lock '{NAME}'"]:
        assert paste(command, world.folder).code == 0, command


@pytest.mark.parametrize("command", ["lock --check", "render", "check"])
def test_a_stale_lock_is_renewed_by_pasting(world: World, command: str) -> None:
    world.project(NAME, "tool")
    paste(f"xplock lock '{NAME}'", world.folder)
    world.project(NAME, "tool", "app")

    stale = paste(f"xplock {command} '{NAME}'", world.folder)
    commands = printed_commands([*stale.stdout.splitlines(), *stale.stderr.splitlines()])

    assert stale.code == 3 and commands, stale
    assert all(paste(one, world.folder).code == 0 for one in commands)
    assert paste(f"xplock {command} '{NAME}'", world.folder).code == 0
