"""xplock lock: a line for each class that an upgrade hits, and tables in the text of a pull request."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from rig.builders.definitions import a_crd, a_schema, a_version
from rig.builders.projects import World, moves

from render.cli.run import run
from render.system.files import LOCK_FILE


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A committed project that asks for a newer provider since: a field of it is gone."""
    world = World(tmp_path)
    first = a_crd(a_version("v1", a_schema({"name": {"type": "string"}})))
    world.publish("things v1.0.0", kind="Provider", objects=[first])
    world.publish("things v2.0.0", kind="Provider", objects=[a_crd(a_version("v1"), scope="Namespaced")])
    monkeypatch.setenv("XPLOCK_CACHE_DIR", str(tmp_path / "cache"))
    folder = world.project("shop", "things:v1.0.0")
    monkeypatch.chdir(folder)
    assert run(["-q", "lock"]) == 0
    identity = ["-c", "user.name=Robin", "-c", "user.email=robin@example.org"]
    for command in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-q", "-m", "first"]):
        subprocess.run(["git", *command], check=True, capture_output=True)
    world.project("shop", "things:v2.0.0")
    return folder


LINES = [
    "Blocked  1 definition (scope) in things v1.0.0 -> v2.0.0",
    "Lost     1 definition (field-gone) in things v1.0.0 -> v2.0.0",
]


def test_a_line_for_each_class_stands_below_the_summary(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (project / LOCK_FILE).read_bytes()

    run(["lock", "--dry-run"])
    dry = capsys.readouterr().out.splitlines()
    untouched = (project / LOCK_FILE).read_bytes()
    run(["lock"])
    written = capsys.readouterr().out.splitlines()
    run(["lock"])

    assert dry[-2:] == LINES
    assert untouched == before
    assert written[-3:] == [*LINES, "         see each: xplock diff"]
    assert "Blocked" not in capsys.readouterr().out


@pytest.mark.usefixtures("project")
def test_a_first_lock_and_a_check_say_nothing_about_definitions(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lock", "--check"]) == 3
    assert run(["lock", "--new"]) == 0

    assert "Blocked" not in capsys.readouterr().out


@pytest.mark.usefixtures("project")
def test_programs_get_the_number_of_definitions_for_each_class(capsys: pytest.CaptureFixture[str]) -> None:
    run(["lock", "--dry-run", "-o", "json"])

    [document] = json.loads(capsys.readouterr().out)
    assert document["definitionClasses"] == {"blocked": 1, "lost": 1, "writers": 0, "note": 0}
    assert document["definitionsNotCompared"] == []


@pytest.mark.usefixtures("project")
def test_a_pull_request_has_a_table_for_each_class(capsys: pytest.CaptureFixture[str]) -> None:
    author = ["--author", "Robin <robin@example.org>"]
    code = run(["lock", "--commit", "--with-inputs", "--branch", "update", "--dry-run", *author])

    text, error = capsys.readouterr()
    assert code == 0, error
    assert "**blocked** in 1 definition: " in text
    assert "| field-gone | `.spec.name` in `things.example.org` | `things v1.0.0 -> v2.0.0` |" in text


def test_upgrade_is_told_as_lock_is(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    World(project.parent).project("shop", "things")

    assert run(["upgrade", "--dry-run"]) == 0

    assert capsys.readouterr().out.splitlines()[-2:] == LINES


def test_add_tells_what_the_new_lock_does_to_definitions(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    World(project.parent).publish("tool v1.0.0")
    wanted = "xpkg.example.org/acme/tool@v1.0.0"

    run(["add", wanted, "--dry-run"])
    dry = capsys.readouterr().out.splitlines()
    run(["add", wanted, "--dry-run", "-o", "json"])
    document = json.loads(capsys.readouterr().out)
    run(["add", wanted])
    written = capsys.readouterr().out.splitlines()

    assert dry[-2:] == LINES
    assert document["lock"]["definitionClasses"] == {"blocked": 1, "lost": 1, "writers": 0, "note": 0}
    assert written[-3:] == [*LINES, "         see each: xplock diff"]


def test_remove_tells_what_the_new_lock_does_to_definitions(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(project.parent)
    world.publish("tool v1.0.0")
    world.project("shop", "things:v1.0.0")
    assert run(["-q", "add", "xpkg.example.org/acme/tool@v1.0.0"]) == 0
    world.project("shop", "things:v2.0.0")

    assert run(["remove", "tool"]) == 0

    assert capsys.readouterr().out.splitlines()[-3:] == [*LINES, "         see each: xplock diff"]


def test_promote_tells_what_the_new_lock_does_to_definitions(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.parent)
    world = World(project.parent)
    world.project("shop", "things")
    world.project("staging", "things:v2.0.0")
    assert run(["-q", "lock", "staging"]) == 0

    run(["promote", "staging", "shop", "--check"])
    checked = capsys.readouterr().out
    run(["promote", "staging", "shop", "--dry-run"])
    dry = capsys.readouterr().out.splitlines()
    run(["promote", "staging", "shop", "--dry-run", "-o", "json"])
    [document] = json.loads(capsys.readouterr().out)
    assert run(["promote", "staging", "shop"]) == 0
    written = capsys.readouterr().out.splitlines()

    assert "Blocked" not in checked
    assert dry[-2:] == LINES
    assert document["definitionClasses"] == {"blocked": 1, "lost": 1, "writers": 0, "note": 0}
    assert written[-3:] == [*LINES, "         see each: xplock diff -C shop"]


def test_content_that_is_gone_is_said(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["-q", "lock"]) == 0
    (project.parent / "cache").rename(project.parent / "away")
    settings = project / "xplock.yaml"
    settings.write_text(settings.read_text().replace(str(project.parent / "registry"), str(project)))
    (project / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    (project / "index.json").write_text('{"schemaVersion": 2, "manifests": []}')

    run(["diff"])

    assert "not compared: 2 packages (things v1.0.0, things v2.0.0)" in " ".join(
        capsys.readouterr().out.split()
    )


def test_a_move_that_switches_a_webhook_off_names_the_definitions_and_what_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(tmp_path)
    monkeypatch.setenv("XPLOCK_CACHE_DIR", str(tmp_path / "cache"))
    converting: dict[str, Any] = {"conversion": {"strategy": "Webhook"}}
    crd = a_crd(a_version("v1"), a_version("v2", storage=False), **converting)
    for name in ("things", "successor"):
        world.publish(f"{name} v1.0.0", kind="Provider", objects=[crd])
    known = "crossplaneVersion: v2.3.4\n"
    assert run(["-q", "lock", str(world.project("shop", "things:v1.0.0", more=known))]) == 0
    more = known + moves("things", "successor", strategy="deactivate")
    folder = world.project("shop", "successor:v1.0.0", more=more)

    assert run(["lock", "--dry-run", str(folder)]) == 0

    text = " ".join(capsys.readouterr().out.split())
    assert "Blocked 1 definition (conversion) in successor v1.0.0" in text
    assert "things.example.org: its webhook does not answer" in text
    assert text.endswith("use alias or repoint")
