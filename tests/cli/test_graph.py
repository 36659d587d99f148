"""xplock graph: the closure as a picture."""

import json
from pathlib import Path

import pytest
from rig.builders.locks import lock, package, write_lock
from rig.commands.run import run_command


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a lock, and one with the lock of before."""
    write_lock(tmp_path / "before", lock([package("app v1.0.0", "base"), package("base v1.0.0")]))
    return write_lock(tmp_path / "now", lock([package("app v1.1.0", "base"), package("base v1.0.0")]))


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
    path = project / "crossplane.lock.yaml"

    done = run_command("graph", str(path), "-o", form)

    assert (done.code, done.stderr) == (0, "")
    assert done.stdout.startswith(start)


def test_two_locks_are_compared(project: Path) -> None:
    before, now = project.parent / "before/crossplane.lock.yaml", project / "crossplane.lock.yaml"

    document = json.loads(run_command("graph", str(before), str(now), "-o", "json").stdout)

    assert document["compared"] is True
    changes = {one["label"]: (one["change"], one["before"]) for one in document["packages"]}
    assert changes == {"app": ("updated", "v1.0.0"), "base": (None, None)}


def test_a_folder_is_named_by_argument_or_option(project: Path) -> None:
    lock_file = "crossplane.lock.yaml"

    named = run_command("graph", str(project / lock_file))

    assert run_command("-C", str(project), "graph", lock_file) == named


def test_a_folder_without_a_lock_is_an_error(tmp_path: Path) -> None:
    done = run_command("graph", str(tmp_path))

    assert (done.code, done.stdout) == (3, "")
