"""xplock graph: the closure as a picture."""

import json
from pathlib import Path

import pytest
from rig.builders.projects import World
from rig.commands.run import run_command
from rig.git.repositories import new_repository, save

from render.system.files import LOCK_FILE


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A locked folder, beside a copy of the lock that it had before."""
    world = World(tmp_path)
    world.publish("base v1.0.0")
    for version in ("v1.0.0", "v1.1.0"):
        world.publish(f"app {version}", {"base": "*"})
    run_command("lock", str(world.project("before", "app:v1.0.0")))
    folder = world.project("now", "app:v1.1.0")
    run_command("lock", str(folder))
    return folder


@pytest.mark.parametrize(
    ("form", "start"),
    [
        ("mermaid", "flowchart TD\n"),
        ("dot", "digraph lock {\n"),
        ("svg", "<?xml"),
        ("html", "<!doctype html>"),
        ("json", "{"),
    ],
)
def test_every_form_starts_as_its_readers_expect(project: Path, form: str, start: str) -> None:
    done = run_command("graph", str(project), "-o", form)

    assert (done.code, done.stderr) == (0, "")
    assert done.stdout.startswith(start)


def test_two_locks_are_compared(project: Path) -> None:
    before = project.parent / "before/crossplane.lock.yaml"

    document = json.loads(run_command("graph", str(before), str(project), "-o", "json").stdout)

    assert document["compared"] is True
    changes = {one["label"]: (one["change"], one["before"]) for one in document["packages"]}
    assert changes == {"app": ("updated", "v1.0.0"), "base": (None, None)}


def test_folders_files_and_revisions_are_compared(project: Path) -> None:
    before, lock = project.parent / "before", project / LOCK_FILE
    expected = run_command("graph", str(before), str(project))
    newest = lock.read_bytes()
    lock.write_bytes((before / LOCK_FILE).read_bytes())
    new_repository(project)
    save(project)
    lock.write_bytes(newest)
    save(project)

    assert '"app<br>Configuration v1.0.0 -#62; v1.1.0<br>updated"' in expected.stdout
    for words in (
        (str(before / LOCK_FILE), str(lock)),
        ("HEAD~1", str(project)),
        ("HEAD~1", str(lock)),
        ("HEAD~1", "HEAD", "-C", str(project)),
        ("-C", str(project.parent), "before", "now"),
    ):
        assert run_command("graph", *words) == expected
    three = run_command("graph", "a", "b", "c")
    assert three.code == 2 and "one lock is drawn, or two" in three.stderr


def test_a_picture_is_drawn_without_the_content_of_packages(tmp_path: Path) -> None:
    world = World(tmp_path)
    for version, crd in (("v1.0.0", "nets.example.org"), ("v1.1.0", "webs.example.org")):
        world.publish(f"net {version}", kind="Provider", crds=[crd])
    folders = [
        world.project(name, f"net:{version}") for name, version in (("old", "v1.0.0"), ("new", "v1.1.0"))
    ]
    for folder in folders:
        run_command("lock", str(folder))
        settings = folder / "xplock.yaml"
        settings.write_text(settings.read_text().replace("    folder: ", "    folder: /nowhere"))

    done = run_command("graph", *map(str, folders), "-o", "json")

    assert done.code == 0
    assert json.loads(done.stdout)["compared"] is True
    assert "note: definitions are not compared: " in done.stderr


def test_a_folder_is_named_by_argument_or_option(project: Path) -> None:
    named = run_command("graph", str(project))

    assert named.stdout
    assert run_command("-C", str(project), "graph") == named
    assert run_command("graph", "-C", str(project.parent), "now") == named


def test_a_folder_without_a_lock_is_an_error(tmp_path: Path) -> None:
    run_command("graph", str(tmp_path)).assert_refused(2, "asks for no package")
