"""xplock check: what is wrong, in an exit code and in words."""

import json
import shutil
from pathlib import Path

import pytest
from rig.projects import HOME, World, small_world

from render.cli.run import run
from render.files import LOCK_FILE


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A small ecosystem: app, tool and old all need base; folders are named from where they are."""
    monkeypatch.chdir(tmp_path)
    return small_world(tmp_path)


@pytest.fixture
def cluster(world: World, capsys: pytest.CaptureFixture[str]) -> World:
    """A platform with base, and an app that uses it."""
    world.project("platform", "base:v1.0.0")
    world.project("app", "app:v1.0.0", more="uses:\n  - ../platform\n")
    run(["lock", "platform", "app"])
    capsys.readouterr()
    return world


@pytest.mark.usefixtures("cluster")
def test_nothing_found_is_exit_0(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["check", "platform", "app"])

    output = capsys.readouterr()
    assert (code, output.out, output.err) == (0, "2 folders, nothing found\n", "")


@pytest.mark.usefixtures("cluster")
def test_without_folders_the_current_one_is_checked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir("platform")
    Path(LOCK_FILE).unlink()

    code = run(["check"])

    assert code == 3
    assert capsys.readouterr().out.startswith(".: lock-missing: ")


def test_the_gravest_finding_gives_the_exit_code(cluster: World, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.project("platform", "base:v2.0.0")
    run(["lock", "platform"])
    cluster.project("platform", "base:v1.1.0")
    (cluster.folder / "new").mkdir()
    (cluster.folder / "new/broken.yaml").write_text("kind: [\n")
    capsys.readouterr()

    codes = [
        run(["check", *folders]) for folders in (["new"], ["platform"], ["platform", "new"], ["new", "app"])
    ]

    # Broken files also have no lock.
    assert codes == [3, 3, 3, 4]


def test_broken_files_alone_are_exit_2(cluster: World) -> None:
    (cluster.folder / "app/broken.yaml").write_text("kind: [\n")

    assert run(["check", "platform", "app"]) == 2


def test_a_program_gets_the_findings_as_json(cluster: World, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.project("platform", "base:v1.1.0")
    run(["lock", "platform"])
    capsys.readouterr()

    code = run(["check", "-o", "json", "platform", "app"])

    [finding] = json.loads(capsys.readouterr().out)
    assert code == 3
    assert (finding["rule"], finding["folder"], finding["exitCode"]) == ("provided-changed", "app", 3)
    assert finding["why"] == [f"../platform provides {HOME}/base v1.1.0, and not v1.0.0"]


@pytest.mark.usefixtures("cluster")
def test_an_empty_list_is_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    run(["check", "-o", "json", "platform", "app"])

    assert json.loads(capsys.readouterr().out) == []


def test_nobody_is_asked(cluster: World) -> None:
    shutil.rmtree(cluster.layout)
    cluster.layout.mkdir()

    assert run(["check", "platform", "app"]) == 0


def test_folders_can_be_said_to_be_of_one_cluster(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.project("one", "app:v1.0.0")
    world.project("two", "app:v1.0.0")
    run(["lock", "one", "two"])
    capsys.readouterr()

    codes = run(["check", "one", "two"]), run(["check", "--same-cluster", "one", "two"])

    assert codes == (0, 4)
    assert "one: rendered-twice: one and two render the same\n" in capsys.readouterr().out


def test_nothing_is_written(cluster: World) -> None:
    before = {path: path.read_bytes() for path in cluster.folder.rglob("*") if path.is_file()}

    run(["check", "platform", "app"])

    assert {path: path.read_bytes() for path in cluster.folder.rglob("*") if path.is_file()} == before


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["check", "--help"])

    assert code == 0
    assert "Example: xplock check" in capsys.readouterr().out


def test_the_end_of_an_alias_in_a_used_folder_is_a_change_and_no_loss(
    examples: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    step = examples / "moving/folders/4-ended"

    code = run(["check", str(step / "platform"), str(step / "app")])

    assert code == 3
    assert "provided-changed" in capsys.readouterr().out
