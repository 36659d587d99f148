"""Folders with the same inputs and the same lock: they are answered once, and each as if it were alone."""

import json
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from rig.builders.projects import World, at, small_world
from rig.commands.run import run_command

from render.app.resolving import resolver
from render.checks import read
from render.inputs.projects import Inputs
from render.system.files import LOCK_FILE

MANIFEST = """apiVersion: pkg.crossplane.io/v1
kind: Configuration
metadata:
  name: tool
spec:
  package: {package}
"""
NAMES = ("blue", "green", "red")


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Three folders that ask for the same."""
    monkeypatch.chdir(tmp_path)
    world = small_world(tmp_path)
    for name in NAMES:
        world.project(name, "app")
    return world


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders that were resolved, and those that were rendered to be checked."""
    found: list[str] = []

    def watch(module: ModuleType, name: str, what: str) -> None:
        job = getattr(module, name)

        def watched(*values: Any) -> Any:
            [folder] = [str(value.folder) for value in values if isinstance(value, Inputs)]
            found.append(f"{what} {folder}")
            return job(*values)

        monkeypatch.setattr(module, name, watched)

    watch(resolver, "update_lock", "lock")
    watch(read, "render_lock", "check")
    return found


def texts() -> list[bytes]:
    return [Path(name, LOCK_FILE).read_bytes() for name in NAMES]


@pytest.mark.usefixtures("fleet")
def test_they_are_resolved_once_and_get_the_bytes_that_each_gets_alone(answered: list[str]) -> None:
    assert run_command("lock", *NAMES).code == 0
    together, resolved = texts(), list(answered)
    for name in NAMES:
        Path(name, LOCK_FILE).unlink()
        run_command("lock", name)

    assert resolved == ["lock blue"]
    assert together == texts()


@pytest.mark.usefixtures("fleet")
def test_what_each_report_says_is_about_its_own_folder() -> None:
    done = json.loads(run_command("lock", "-o", "json", *NAMES).stdout)

    assert [one.pop("folder") for one in done] == list(NAMES)
    assert done[0] == done[1] == done[2]


def test_another_place_to_fetch_from_is_another_answer(fleet: World, answered: list[str]) -> None:
    other = World(fleet.folder / "elsewhere")
    other.publish("app v2.0.0", annotations={"other": "bytes"})
    fleet.layout, layout = other.layout, fleet.layout
    fleet.project("green", "app")
    fleet.layout = layout

    assert run_command("lock", *NAMES).code == 0
    locks = texts()

    assert answered == ["lock blue", "lock green"]
    assert locks[0] == locks[2] != locks[1]


def test_a_policy_is_that_of_its_own_folder(fleet: World) -> None:
    fleet.project("green", "app", more="policy: {sources: {allow: [xpkg.example.org/other/]}}\n")

    done = run_command("lock", *NAMES)

    assert done.code == 4
    assert "in green:\nerror: " in done.stderr
    assert [Path(name, LOCK_FILE).exists() for name in NAMES] == [True, False, True]


@pytest.mark.parametrize("settings", ["families: free\n", "crossplaneVersion: v2.3.0\n"])
def test_another_setting_is_another_answer(fleet: World, answered: list[str], settings: str) -> None:
    fleet.project("green", "app", more=settings)

    assert run_command("lock", *NAMES).code == 0
    locks = texts()

    assert answered == ["lock blue", "lock green"]
    assert locks[0] == locks[2] != locks[1]


def test_another_lock_is_another_answer(fleet: World, answered: list[str]) -> None:
    fleet.project("green", "app:v1.0.0")
    run_command("lock", *NAMES)
    fleet.project("green", "app")
    answered.clear()

    assert run_command("lock", "--check", "blue", "red", "green").code == 3
    assert "lock green" in answered and "lock red" not in answered


@pytest.mark.usefixtures("fleet")
def test_a_manifest_below_a_folder_is_named_for_that_folder_alone() -> None:
    for name in NAMES:
        Path(name, "tool.yaml").write_text(MANIFEST.format(package=at("tool:v1.0.0")))
    run_command("lock", *NAMES)
    for name in NAMES:
        Path(name, "tool.yaml").unlink()
    Path("green/old").mkdir()
    Path("green/old/tool.yaml").write_text(MANIFEST.format(package=at("tool:v1.0.0")))

    done = run_command("lock", *NAMES)

    assert done.code == 0
    assert [line for line in done.stderr.splitlines() if "asks for it" in line] == [
        f"warning: {at('tool')} is leaving; green/old/tool.yaml asks for it, and is not read: "
        "only files in the folder itself are"
    ]


def test_an_error_that_all_of_them_have_is_reported_once(fleet: World) -> None:
    for name in NAMES:
        fleet.project(name, "app:v9.9.9")
    fleet.project("other", "app")

    done = run_command("lock", *NAMES, "other")

    assert done.code == 1
    assert done.stderr.count("in blue, green, red:\nerror: ") == 1
    assert done.stderr.count("error: xpkg.example.org/acme/app ") == 1
    assert Path("other", LOCK_FILE).exists()


def test_an_error_that_names_its_folder_is_the_same_in_another_one(fleet: World) -> None:
    for name in NAMES:
        Path(name, "broken.yaml").write_text("a: [")
    fleet.project("other", "app")

    done = run_command("lock", *NAMES, "other")

    assert done.code == 2
    assert "in blue, green, red:\nerror: " in done.stderr
    assert [name for name in NAMES if f"{name}/broken.yaml" in done.stderr] in ([], ["blue"])


@pytest.mark.usefixtures("fleet")
def test_which_crossplane_is_assumed_is_said_once() -> None:
    done = run_command("lock", *NAMES)

    assert done.stderr.count("crossplaneVersion is not set") == 1


@pytest.mark.usefixtures("fleet")
def test_check_renders_them_once(answered: list[str]) -> None:
    run_command("lock", *NAMES)
    answered.clear()

    done = run_command("check", *NAMES)

    assert (done.code, done.stdout) == (0, "3 folders, nothing found\n")
    assert answered == ["check blue"]


@pytest.mark.usefixtures("fleet")
def test_check_finds_what_one_of_them_passes_through() -> None:
    run_command("lock", *NAMES)
    Path("green/more.yaml").write_text(
        "apiVersion: pkg.crossplane.io/v1beta1\nkind: Lock\nmetadata:\n  name: lock\n"
    )

    done = run_command("check", *NAMES)

    assert done.code == 2
    assert "green: not-renderable: " in done.stdout
    assert "3 folders, 1 finding" in done.stdout


def test_check_finds_a_stale_lock_among_copies(fleet: World) -> None:
    run_command("lock", *NAMES)
    shutil.copytree("blue", "copy")
    fleet.project("copy", "app", "tool")

    done = run_command("check", *NAMES, "copy")

    assert done.code == 3
    assert done.stdout.startswith("copy: lock-stale: ")
