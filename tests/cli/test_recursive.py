"""Calls for many folders: -R finds them, --shard splits them, and one that fails does not stop the others."""

import json
import os
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


@pytest.mark.slow
def test_a_large_repository_with_circles_is_searched_once(fleet: Path) -> None:
    for number in range(100):
        folder = fleet / "code" / f"{number}"
        folder.mkdir(parents=True)
        (folder / "file").touch()
        # Names of one file: that is faster to make, and the same to search.
        for name in range(1_000):
            os.link(folder / "file", folder / f"{name}.yaml")
        (folder / "up").symlink_to("..")
        (folder / "self").symlink_to(".")

    done = run_command("check", "-R", str(fleet))

    assert done.code == 0
    assert done.stdout == "3 folders, nothing found\n"


def test_a_folder_that_cannot_be_read_is_named_and_the_others_are_done(
    fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (fleet / "secret").mkdir()
    scan = os.scandir

    def refuse(path: Path) -> object:
        # Root, as whom tests may run, may read everything.
        if Path(path).name == "secret":
            raise PermissionError(path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)

    done = run_command("check", "-R", str(fleet))

    assert (done.code, done.stdout) == (0, "3 folders, nothing found\n")
    assert f"warning: {fleet}/secret is not searched: it cannot be read\n" in done.stderr


def test_one_cluster_in_two_parts_is_checked_as_one(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.publish("net v1.0.0", kind="Provider")
    for name in ("fleet/one", "fleet/two"):
        run_command("lock", str(world.project(name, "net")))

    apart = run_command("check", "-R", str(tmp_path / "fleet"))
    together = run_command("check", "-R", "--same-cluster", str(tmp_path / "fleet"))

    assert apart.code == 0
    assert (together.code, "rendered-twice" in together.stdout) == (4, True)


def test_no_project_folder_is_an_error_that_says_what_one_is(tmp_path: Path) -> None:
    run_command("lock", "-R", str(tmp_path)).assert_refused(2, "has a lock or xplock.yaml")
