"""xplock graph: the closure as a picture."""

import json
from pathlib import Path

import pytest
from rig.builders.projects import World
from rig.commands.run import run_command


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


def test_a_folder_is_named_by_argument_or_option(project: Path) -> None:
    named = run_command("graph", str(project))

    assert named.stdout
    assert run_command("-C", str(project), "graph") == named
    assert run_command("graph", "-C", str(project.parent), "now") == named


def test_a_folder_without_a_lock_is_an_error(tmp_path: Path) -> None:
    run_command("graph", str(tmp_path)).assert_refused(2, "asks for no package")
