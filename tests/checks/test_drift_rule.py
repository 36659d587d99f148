"""The rule `drift`: an environment has nothing that the one before it does not have."""

import json
from pathlib import Path

import pytest
from rig.builders.projects import HOME, World
from rig.commands.run import Outcome, run_command


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Three environments with the same packages."""
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    for version in ("v1.0.0", "v1.1.0", "v1.2.0"):
        world.publish(f"net {version}")
    world.publish("lone v1.0.0")
    for name in ("dev", "staging", "production"):
        locked(world, name, "net:v1.0.0")
    return world


def locked(world: World, name: str, *roots: str) -> None:
    world.project(name, *roots)
    assert run_command("lock", "--allow-downgrade", name).code == 0


def in_order(*names: str) -> Outcome:
    Path("xplock.yaml").write_text("environments: [dev, staging, production]\n")
    return run_command("check", *names)


def test_equal_environments_and_those_that_are_behind_have_no_finding(world: World) -> None:
    locked(world, "dev", "net:v1.1.0", "lone")

    assert in_order("dev", "staging", "production").code == 0


def test_an_environment_that_is_ahead_is_a_finding_with_the_ways_on(world: World) -> None:
    locked(world, "production", "net:v1.1.0")

    done = in_order("production")

    assert done.code == 3
    assert done.stdout.splitlines() == [
        "production: drift: it is ahead of staging in 1 package, 1 of them never was there",
        f"  why:  {HOME}/net: v1.1.0 here, v1.0.0 in staging, which never had it",
        f"  next: bring them there and test them: xplock promote -P {HOME}/net production staging",
        "        or go back: xplock promote --allow-downgrade staging production",
        "1 folder, 1 finding",
    ]


def test_what_the_environment_before_had_lately_is_known(world: World) -> None:
    for version in ("v1.2.0", "v1.1.0"):
        locked(world, "staging", f"net:{version}")
    locked(world, "production", "net:v1.2.0")

    done = in_order("staging", "production")

    assert "production: drift: it is ahead of staging in 1 package\n" in done.stdout
    assert "staging: drift: it is ahead of dev in 1 package, 1 of them never was there\n" in done.stdout


def test_the_order_of_the_call_counts_only_where_that_is_said(world: World) -> None:
    locked(world, "production", "net:v1.1.0")

    plain = run_command("check", "dev", "staging", "production")
    ordered = run_command("check", "--in-order", "dev", "staging", "production", "-o", "json")

    assert plain.code == 0
    assert [(one["rule"], one["folder"], one["line"] > 1) for one in json.loads(ordered.stdout)] == [
        ("drift", "production", True)
    ]


def test_the_commands_of_a_finding_work(world: World) -> None:
    locked(world, "production", "net:v1.1.0")
    [finding] = json.loads(run_command("check", "--in-order", "staging", "production", "-o", "json").stdout)

    for command in finding["next"]:
        words = command.partition(": xplock ")[2].split()
        assert run_command(*words, "--dry-run").code == 0, words


def test_below_environments_folders_at_the_same_path_are_compared(world: World) -> None:
    for name in ("staging/eu", "production/eu", "production/us"):
        locked(world, name, "net:v1.0.0")
    locked(world, "production/eu", "net:v1.1.0")
    locked(world, "production/us", "net:v1.2.0")

    done = in_order("production/eu", "production/us")

    assert "production/eu: drift: it is ahead of staging/eu in 1 package" in done.stdout
    # Where the environment before has no such folder, it is itself what counts.
    assert "production/us: drift: it is ahead of staging in 1 package" in done.stdout


@pytest.mark.usefixtures("world")
def test_settings_that_only_name_environments_are_no_project() -> None:
    done = in_order("-R", ".")

    assert (done.code, done.stdout) == (0, "3 folders, nothing found\n")


@pytest.mark.parametrize(
    ("value", "fact"),
    [
        ("[/dev]", "environments[0]: '/dev' is no folder below this one"),
        ("[dev, ../x]", "environments[1]"),
        ("[dev, ./dev]", "dev is listed a second time"),
        ("[]", "it is empty"),
    ],
)
def test_environments_are_read_strictly(world: World, value: str, fact: str) -> None:
    world.project("dev", "net:v1.0.0", more=f"environments: {value}\n")

    done = run_command("check", "dev")

    assert done.code == 2
    assert fact in done.stdout


@pytest.mark.usefixtures("world")
def test_a_finding_of_many_folders_is_written_once() -> None:
    for name in ("dev", "staging", "production"):
        settings = Path(name, "xplock.yaml")
        settings.write_text(settings.read_text().replace("v1.0.0", "v1.1.0"))

    done = run_command("check", "dev", "staging", "production")

    assert done.code == 3
    assert done.stdout.count("lock-stale") == 1
    assert "\n  also in staging, production\n3 folders, 3 findings\n" in done.stdout
