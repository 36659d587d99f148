"""xplock check --since: upgrades between two commits that definitions make unsafe, as findings at their package."""

import json
from pathlib import Path

import pytest
from rig.builders.definitions import a_crd, a_schema, a_version
from rig.builders.projects import HOME, World
from rig.git.repositories import new_repository, save

from render.cli.run import run
from render.system.files import LOCK_FILE

NUMBER = {"type": "integer"}
THINGS, OTHERS = "things.example.org", "others.example.org"
SOURCE = f"{HOME}/things"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """A committed folder, whose lock was upgraded since: a scope has changed, and a field is gone."""
    monkeypatch.setenv("XPLOCK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    first = a_crd(a_version("v1", a_schema({"size": NUMBER, "name": {"type": "string"}})))
    world.publish("things v1.0.0", kind="Provider", objects=[first, a_crd(name=OTHERS)])
    world.publish("things v2.0.0", kind="Provider", objects=[a_crd(), a_crd(name=OTHERS, scope="Namespaced")])
    new_repository(tmp_path)
    lock(world, "things:v1.0.0")
    save(tmp_path, "install")
    lock(world, "things:v2.0.0")
    capsys.readouterr()
    return tmp_path / "app"


def lock(world: World, root: str) -> None:
    assert run(["-q", "lock", str(world.project("app", root))]) == 0


@pytest.mark.usefixtures("folder")
def test_an_upgrade_that_is_blocked_is_a_finding_at_its_package(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["check", "--since", "HEAD", "app", "-o", "json"])

    [found] = json.loads(capsys.readouterr().out)
    line = Path("app", LOCK_FILE).read_text().splitlines()[found["line"] - 1]
    assert (code, found["rule"], found["exitCode"]) == (3, "scope", 3)
    assert found["message"] == "an upgrade since HEAD is blocked: the scope of a definition changes"
    assert found["why"][0].startswith(
        f"Cluster -> Namespaced in {OTHERS}; things v1.0.0 -> v2.0.0; the new revision"
    )
    assert line.strip().removeprefix("- ") == f"source: {SOURCE}"


@pytest.mark.usefixtures("folder")
def test_a_milder_class_may_be_a_finding_as_well(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["check", "--since", "HEAD", "--fail-on", "lost", "app"])

    lines = capsys.readouterr().out.splitlines()
    assert code == 3
    assert [line.split(": ")[1] for line in lines if line.startswith("app: ")] == ["scope", "field-gone"]
    assert lines[-1] == "1 folder, 2 findings"


@pytest.mark.usefixtures("folder")
def test_every_command_that_is_printed_works(capsys: pytest.CaptureFixture[str]) -> None:
    run(["check", "--since", "HEAD", "app", "-o", "json"])
    [found] = json.loads(capsys.readouterr().out)

    for advice in found["next"]:
        command = advice[advice.index("xplock ") :].split()
        assert run(command[1:]) == 0
    assert OTHERS in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_without_a_revision_nothing_is_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "app"]) == 0
    assert run(["check", "--fail-on", "lost", "app"]) == 2
    assert "--fail-on needs --since" in capsys.readouterr().err


def test_a_commit_with_the_same_definitions_has_no_findings(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(folder.parent, "upgrade")

    assert run(["check", "--since", "HEAD", "--fail-on", "note", "app"]) == 0
    assert run(["check", "--since", "HEAD~1", "app"]) == 3
    assert run(["check", "--since", "nowhere", "app"]) == 2
    assert "nowhere" in capsys.readouterr().err


def test_a_folder_that_was_not_locked_then_has_no_upgrades(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = Path(folder, LOCK_FILE).read_text()
    Path(folder, LOCK_FILE).unlink()
    save(folder.parent, "not locked")
    Path(folder, LOCK_FILE).write_text(text)

    assert run(["check", "--since", "HEAD", "--fail-on", "note", "app"]) == 0
    assert capsys.readouterr().out == "1 folder, nothing found\n"


def test_what_cannot_be_compared_offline_is_an_error_and_never_silence(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XPLOCK_CACHE_DIR", "")
    for blob in (folder.parent / "registry/blobs/sha256").iterdir():
        blob.unlink()

    code = run(["check", "--since", "HEAD", "app"])

    output = capsys.readouterr()
    assert (code, output.out) == (1, "1 folder, nothing found\n")
    assert "error: upgrades since HEAD cannot be judged in 1 folder" in output.err
    assert "things v" in output.err
    assert "next: get what is missing: xplock diff HEAD -C app" in output.err


@pytest.mark.usefixtures("folder")
def test_code_scanning_and_pull_requests_know_the_rule(capsys: pytest.CaptureFixture[str]) -> None:
    run(["check", "--since", "HEAD", "app", "-o", "sarif"])
    [ran] = json.loads(capsys.readouterr().out)["runs"]
    run(["check", "--since", "HEAD", "app", "-o", "github"])
    annotation = capsys.readouterr().out.splitlines()[0]

    rules = ran["tool"]["driver"]["rules"]
    [result] = ran["results"]
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == "scope"
    assert annotation.startswith(f"::error file=app/{LOCK_FILE},line=")
    assert "title=xplock scope::blocked: Cluster -> Namespaced" in annotation
