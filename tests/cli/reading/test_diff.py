"""xplock diff: locks out of files, folders, Git and a cluster."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from rig.builders.projects import HOME, World, moves, small_world, text_of

from render.cli.run import run
from render.system.files import LOCK_FILE


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A small ecosystem: app, tool and old all need base."""
    return small_world(tmp_path)


@pytest.fixture
def project(world: World, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose last commit has a lock; we stand in it."""
    folder = world.project("shop", "app:v1.0.0")
    run(["-q", "lock", str(folder)])
    monkeypatch.chdir(folder)
    identity = ["-c", "user.name=Robin", "-c", "user.email=robin@example.org"]
    for command in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-q", "-m", "first"]):
        subprocess.run(["git", *command], check=True, capture_output=True)
    return folder


def change(world: World) -> None:
    """Ask for one package more, and lock it."""
    run(["-q", "lock", str(world.project("shop", "app:v1.0.0", "tool:v1.0.0"))])


def commit_without_lock(project: Path) -> None:
    """Commit that the lock is gone, and keep the file."""
    identity = ["-c", "user.name=Robin", "-c", "user.email=robin@example.org"]
    for command in (["rm", "-q", "--cached", LOCK_FILE], [*identity, "commit", "-q", "-m", "without"]):
        subprocess.run(["git", *command], cwd=project, check=True)


def feed(monkeypatch: pytest.MonkeyPatch, document: object) -> None:
    """Put a cluster's Lock on stdin."""
    data = yaml.safe_dump(document).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_without_arguments_the_last_commit_is_compared_with_the_folder(
    world: World, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    equal = run(["diff"])
    nothing = capsys.readouterr().out
    change(world)

    code = run(["diff"])

    assert (equal, nothing, code) == (0, "No differences.\n", 0)
    assert f"Added {HOME}/tool v1.0.0" in capsys.readouterr().out
    assert (project / LOCK_FILE).exists()


def test_the_exit_code_tells_of_a_difference_if_asked_to(world: World, project: Path) -> None:
    equal = run(["diff", "--exit-code"])
    change(world)

    assert (equal, run(["diff", "--exit-code"]), run(["diff"])) == (0, 3, 0)
    assert text_of(project)


def test_two_files_and_two_folders_are_compared(
    world: World, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "before.yaml").write_bytes(text_of(project))
    other = world.project("other", "base")
    run(["-q", "lock", str(other)])
    change(world)

    run(["diff", str(tmp_path / "before.yaml"), str(project / LOCK_FILE), "-o", "json"])
    files = json.loads(capsys.readouterr().out)
    run(["diff", str(other), str(project), "-o", "markdown"])

    assert [package["source"] for package in files["added"]] == [f"{HOME}/tool"]
    assert f"| added | `{HOME}/app` |" in capsys.readouterr().out


def test_the_lock_of_a_cluster_is_read_from_stdin(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    live = next(yaml.safe_load_all(text_of(project)))
    feed(monkeypatch, {**live, "status": {"conditions": []}})
    equal = run(["diff", "-", "--exit-code", "--crossplane-version", "v2.3.4"])
    live["packages"][1]["version"] = "v1.0.0"
    feed(monkeypatch, live)

    code = run(["diff", "-", "--exit-code"])

    assert (equal, code) == (0, 3)
    assert f"{HOME}/base v1.0.0 -> v1.1.0" in capsys.readouterr().out


def test_a_cluster_is_compared_without_definitions_which_is_said(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    live = next(yaml.safe_load_all(text_of(project)))
    said = []
    for more in ([], ["--no-definitions"], ["-o", "json"]):
        feed(monkeypatch, live)
        run(["diff", "-", *more])
        said.append(capsys.readouterr().err)

    note = "note: definitions are not compared: a cluster's Lock has no digests\n"
    assert said == [note, "", note]


@pytest.mark.parametrize(
    "arguments", [[], ["shop"], ["-C", "shop"], ["HEAD", "-C", "shop"], [f"shop/{LOCK_FILE}"]], ids=" ".join
)
def test_the_settings_say_which_crossplane_wrote_the_lock_of_a_cluster(
    world: World,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
) -> None:
    live = next(yaml.safe_load_all(text_of(project)))
    live["packages"][0]["name"] = "other-0123456789ab"
    world.project("shop", "app:v1.0.0", more="crossplaneVersion: v2.3.4\n")
    monkeypatch.chdir(project if not arguments else project.parent)
    feed(monkeypatch, live)
    code = run(["diff", "-", *arguments, "--exit-code"])
    told = capsys.readouterr().out
    feed(monkeypatch, live)

    later = run(["diff", "-", *arguments, "--exit-code", "--crossplane-version", "v2.4.0"])

    assert (code, later) == (3, 0)
    assert "other-0123456789ab" in told


def test_what_left_and_what_moved_is_told_in_each_form(
    world: World, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world.publish("successor v1.0.0")
    more = "crossplaneVersion: v2.3.4\n" + moves("app", "successor")
    assert run(["-q", "lock", str(world.project("shop", "successor", more=more))]) == 0

    run(["diff"])
    text = capsys.readouterr().out.splitlines()
    run(["diff", "-o", "markdown"])
    markdown = capsys.readouterr().out

    assert f"Off {HOME}/app v1.0.0" in text
    assert f"Leaving {HOME}/base v1.1.0" in text
    assert f"  replacedBy: + {HOME}/successor" in text
    assert f"| off | `{HOME}/app` |" in markdown
    assert f"replaces: `{HOME}/app by deactivate, consent: moves`" in markdown
    assert project.exists()


def test_an_entry_of_the_cluster_that_may_be_there_is_explained(
    world: World, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    live = next(yaml.safe_load_all(text_of(project)))
    world.publish("successor v1.0.0")
    more = "crossplaneVersion: v2.3.4\n" + moves("app", "successor")
    run(["-q", "lock", str(world.project("shop", "successor", more=more))])
    live["packages"].append(
        {**live["packages"][0], "source": f"{HOME}/successor", "name": "x", "dependencies": []}
    )
    feed(monkeypatch, live)
    later = run(["diff", "-", "--exit-code", "--crossplane-version", "v2.4.0"])
    explained = capsys.readouterr().out
    feed(monkeypatch, live)

    earlier = run(["diff", "-", "--exit-code", "--crossplane-version", "v2.3.4"])

    assert (later, earlier) == (0, 3)
    assert f"{HOME}/app v1.0.0 is deactivated" in explained
    assert f"Removed {HOME}/app v1.0.0 (replaced by {HOME}/successor)" in capsys.readouterr().out


def test_a_revision_without_a_lock_has_nothing_in_it_on_either_side(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commit_without_lock(project)

    before = run(["diff", "HEAD"])
    new = capsys.readouterr()
    after = run(["diff", "HEAD~1", "HEAD"])
    removed = capsys.readouterr()

    assert (before, after) == (0, 0)
    assert f"Added {HOME}/app v1.0.0" in new.out
    assert f"HEAD has no {LOCK_FILE} in ., so everything is new" in new.err
    assert f"Removed {HOME}/app v1.0.0" in removed.out
    assert f"HEAD has no {LOCK_FILE} in ., so everything is removed" in removed.err


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["HEAD", "my shop"], "Added"),
        (["HEAD", "./my shop/crossplane.lock.yaml"], "Added"),
        (["HEAD", "."], "Added"),
        (["my shop", "HEAD"], "Removed"),
    ],
)
def test_a_revision_beside_a_folder_is_that_folder_at_the_revision(
    world: World,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    word: str,
) -> None:
    change(world)
    renamed = project.rename(project.with_name("my shop"))
    monkeypatch.chdir(renamed if "." in arguments else renamed.parent)

    code = run(["diff", *arguments])

    said = capsys.readouterr()
    assert (code, said.err) == (0, "")
    lines = [line for line in said.out.splitlines() if line.startswith(("Added", "Removed"))]
    assert [line.partition(" (")[0] for line in lines] == [f"{word} {HOME}/tool v1.0.0"]


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["clusters/prod one", "-"], "xplock diff - 'clusters/prod one'"),
        (["HEAD", "-", "-C", "my shop"], "xplock diff - HEAD -C 'my shop'"),
        (["-", "-", "-C", "my shop"], "xplock diff - -C 'my shop'"),
    ],
)
def test_the_command_with_the_cluster_first_can_be_pasted(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], command: str
) -> None:
    (project / "my shop").mkdir()

    code = run(["diff", *arguments])

    assert code == 2
    assert f"  next: write: {command}\n" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["."], ["HEAD"], ["-C", "."], ["HEAD", "."], ["-"], [".", "HEAD"]])
def test_a_folder_without_a_lock_is_no_folder_without_differences(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    feed(monkeypatch, next(yaml.safe_load_all(text_of(project))))
    (project / LOCK_FILE).unlink()

    code = run(["diff", *arguments])

    said = capsys.readouterr()
    assert (code, said.out) == (3, "")
    assert f". has no {LOCK_FILE}" in said.err


def test_of_two_revisions_one_needs_a_lock(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commit_without_lock(project)

    code = run(["diff", "HEAD", "HEAD"])

    said = capsys.readouterr()
    assert (code, said.out) == (3, "")
    assert f"HEAD has no {LOCK_FILE}" in said.err


@pytest.mark.parametrize("name", ["shop", "./shop", "-C=shop"])
def test_a_folder_alone_is_compared_with_its_last_commit(
    world: World,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
) -> None:
    change(world)
    monkeypatch.chdir(project.parent)

    code = run(["diff", *name.split("="), "--exit-code"])

    said = capsys.readouterr()
    assert code == 3
    assert f"Added {HOME}/tool v1.0.0" in said.out
    assert "Removed" not in said.out
    assert f"HEAD and shop/{LOCK_FILE} differ" in said.err


def test_a_folder_is_compared_with_the_folder_of_the_option(
    world: World, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = world.project("other", "base")
    run(["-q", "lock", str(other)])

    run(["diff", str(other), "-C", str(project)])

    assert f"Added {HOME}/app v1.0.0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nosuch"], "nosuch is not a revision"),
        (["nosuch.yaml"], "there is no file or folder of that name either"),
        (["HEAD", "no such.yaml"], "there is no file or folder of that name either"),
        (["--", "--output=x"], "is not a revision"),
        (["-", "-"], "comes first"),
    ],
)
def test_what_cannot_be_compared_is_wrong_usage(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    feed(monkeypatch, next(yaml.safe_load_all(text_of(project))))

    code = run(["diff", *arguments])

    assert code == 2
    assert said in capsys.readouterr().err


@pytest.mark.usefixtures("project")
def test_a_page_shows_what_changed(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    change(world)
    capsys.readouterr()

    code = run(["diff", "-o", "html", "--exit-code"])

    page = capsys.readouterr()
    assert code == 3
    assert page.out.startswith("<!doctype html>")
    assert "<title>. since HEAD</title>" in page.out
    assert 'class="node Configuration attached added"' in page.out
    assert "differ" in page.err


@pytest.mark.usefixtures("project")
def test_a_page_of_a_cluster_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["diff", "-", "-o", "html"])

    assert code == 2
    assert "a page compares two locks" in capsys.readouterr().err
