"""Calls for many folders: -R finds them, --shard splits them, and one that fails does not stop the others."""

import json
from pathlib import Path

import pytest
from rig.builders.projects import World
from rig.commands.run import run_command


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Three locked folders below one; one of them has something newer."""
    world = World(tmp_path)
    for version in ("v1.0.0", "v1.1.0"):
        world.publish(f"net {version}", kind="Provider")
    for name in ("fleet/dev", "fleet/eu/prod", "fleet/us"):
        run_command("lock", str(world.project(name, "net:v1.1.0")))
    return tmp_path / "fleet"


@pytest.mark.parametrize("command", ["lock", "check", "verify", "tree", "outdated"])
def test_recursive_is_the_same_as_naming_every_folder(fleet: Path, command: str) -> None:
    named = run_command(command, *(str(fleet / name) for name in ("dev", "eu/prod", "us")))

    done = run_command(command, "-R", str(fleet))

    assert named.code == 0
    assert done.stdout == named.stdout
    assert done.stderr.startswith(f"3 project folders: {fleet}/dev, {fleet}/eu/prod, {fleet}/us\n")


def test_the_parts_of_a_call_cover_it(fleet: Path) -> None:
    whole = json.loads(run_command("tree", "-R", str(fleet), "-o", "json").stdout)

    parts = [
        json.loads(run_command("tree", "-R", "--shard", f"{part}/2", str(fleet), "-o", "json").stdout)
        for part in (1, 2)
    ]

    assert sorted(parts[0] + parts[1], key=str) == sorted(whole, key=str)
    assert len(whole) == 3


def test_a_part_without_folders_is_done(fleet: Path) -> None:
    codes = {run_command("lock", "-R", "--shard", f"{part}/9", str(fleet)).code for part in range(1, 10)}

    assert codes == {0}


def test_one_folder_that_fails_does_not_stop_the_others(fleet: Path) -> None:
    (fleet / "dev" / "crossplane.lock.yaml").write_text("nonsense")

    done = run_command("tree", "-R", str(fleet), "-o", "json")

    assert done.code == 2
    found = {Path(one["folder"]).name: "error" in one for one in json.loads(done.stdout)}
    assert found == {"dev": True, "prod": False, "us": False}
    assert f"in {fleet}/dev:\nerror: " in done.stderr


def test_a_part_alone_is_wrong_usage(fleet: Path) -> None:
    done = run_command("check", "--shard", "1/2", str(fleet))

    assert (done.code, done.stdout) == (2, "")
    assert "--shard splits a recursive call: add -R" in done.stderr


def test_no_project_folder_is_an_error_that_says_what_one_is(tmp_path: Path) -> None:
    run_command("lock", "-R", str(tmp_path)).assert_refused(2, "has a lock or xplock.yaml")
