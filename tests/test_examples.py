"""Every folder in examples/ is a test: it locks to the very bytes that are committed beside it."""

from pathlib import Path

import pytest
from rig.examples import EXAMPLES

from render.cli.run import run
from render.files import LOCK_FILE

PROJECTS = sorted(path.parent.name for path in EXAMPLES.glob("*/xplock.yaml"))


def test_there_are_examples() -> None:
    assert PROJECTS


@pytest.mark.parametrize("name", PROJECTS)
def test_an_example_locks_to_the_bytes_beside_it(examples: Path, name: str) -> None:
    project = examples / name
    expected = (project / LOCK_FILE).read_bytes()
    (project / LOCK_FILE).unlink()

    code = run(["-q", "lock", str(project)])

    assert code == 0
    assert (project / LOCK_FILE).read_bytes() == expected


@pytest.mark.parametrize("name", PROJECTS)
def test_an_example_is_explained(name: str) -> None:
    assert f"`{name}/`" in (EXAMPLES / "README.md").read_text()
