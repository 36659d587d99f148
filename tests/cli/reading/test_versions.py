"""xplock versions: what a registry offers."""

import json
from pathlib import Path

import pytest
from rig.builders.projects import World, at
from rig.commands.run import run_command


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A registry with a package of several versions."""
    world = World(tmp_path)
    for version in ("v1.0.0", "v1.2.0", "v1.10.0", "v2.0.0-rc.1", "v2.0.0"):
        world.publish(f"net {version}", kind="Provider")
    return world


def test_versions_come_newest_first_without_prereleases(world: World) -> None:
    folder = world.project("shop")

    done = run_command("versions", at("net"), str(folder))

    assert done.stdout.split() == ["v2.0.0", "v1.10.0", "v1.2.0", "v1.0.0"]
    assert "1 prerelease not listed; --pre lists them" in done.stderr


def test_the_locked_version_is_marked_and_steps_are_named(world: World) -> None:
    folder = world.project("shop", "net:v1.2.0")
    run_command("lock", str(folder))

    done = run_command("versions", "net", str(folder), "--pre")

    assert done.stdout.splitlines() == [
        "v2.0.0       major",
        "v2.0.0-rc.1  major",
        "v1.10.0      minor",
        "v1.2.0       locked",
        "v1.0.0       downgrade",
    ]


def test_programs_get_the_same_facts(world: World) -> None:
    folder = world.project("shop", "net:v1.2.0")
    run_command("lock", str(folder))

    document = json.loads(run_command("-o", "json", "versions", "net", "-C", str(folder)).stdout)

    assert (document["source"], document["locked"]) == (at("net"), "v1.2.0")
    assert document["versions"][0] == {
        "version": "v2.0.0",
        "prerelease": False,
        "locked": False,
        "step": "major",
        "mayBreak": True,
    }


def test_a_short_name_needs_a_lock(world: World) -> None:
    done = run_command("versions", "net", str(world.project("shop")))

    done.assert_refused(2, "'net' is not a package reference")
