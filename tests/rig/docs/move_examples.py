"""The stories of examples/moving: steps of one commit each, and the command that leads from one to the next."""

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

from render.app.operator_settings import OperatorSettings
from render.app.render import render_folder
from render.cli.run import run
from render.manifests.text import format_yaml
from render.system.files import LOCK_FILE
from rig.docs.examples import EXAMPLES, RENDERED, copy_examples

MOVING = EXAMPLES / "moving"
_NOTE = "step.txt"
_SETTINGS = "xplock.yaml"
# What comes out of a step, and is no input of it.
_RESULTS = shutil.ignore_patterns(LOCK_FILE, "expected")


@dataclass(frozen=True)
class Step:
    """One commit of a story; where it has several projects, each is a folder of its own."""

    story: str
    name: str
    # The one before it.
    before: str | None

    def __str__(self) -> str:
        return f"{self.story}/{self.name}"

    @property
    def folder(self) -> Path:
        """Where it is."""
        return MOVING / self.story / self.name

    @property
    def projects(self) -> list[Path]:
        """The project folders in it, relative to its own."""
        found = [*self.folder.glob(_SETTINGS), *self.folder.glob(f"*/{_SETTINGS}")]
        return sorted(path.parent.relative_to(self.folder) for path in found)

    @property
    def note(self) -> Sequence[str]:
        """What is said about it, and last the command."""
        return (self.folder / _NOTE).read_text().splitlines()

    @property
    def arguments(self) -> list[str]:
        """The command that leads to it, without the name of the program."""
        program, *arguments = shlex.split(self.note[-1])
        assert program == "xplock"
        return arguments


def read_steps(story: str) -> list[Step]:
    """Return the steps of a story in their order, which is that of their numbers."""
    names = sorted(path.parent.name for path in (MOVING / story).glob(f"*/{_NOTE}"))
    return [Step(story, name, before) for name, before in zip(names, [None, *names[:-1]], strict=True)]


STORIES = sorted({path.parent.parent.name for path in MOVING.glob(f"*/*/{_NOTE}")})
STEPS = [step for story in STORIES for step in read_steps(story)]


def begin_step(step: Step, work: Path) -> None:
    """Put the inputs of a step in place, with the locks of the one before."""
    shutil.copytree(step.folder, work, ignore=_RESULTS)
    for project in step.projects:
        lock = MOVING / step.story / str(step.before) / project / LOCK_FILE
        if step.before and lock.exists():
            shutil.copy(lock, work / project / LOCK_FILE)


def take_step(step: Step, work: Path) -> int:
    """Run the command that leads to a step, where its inputs are; return its exit code."""
    with chdir(work):
        return run(["-q", *step.arguments])


def write_expected() -> None:
    """Write the lock and the manifests of every step as they come out now, for somebody to read the diff."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = copy_examples(Path(scratch) / "examples")
        for step in STEPS:
            # As deep as the original, whose settings name the registry by a relative path.
            work = copy / "moving" / step.story / "now"
            begin_step(step, work)
            if take_step(step, work):
                sys.exit(f"{step} failed")
            for project in step.projects:
                _write_project(work / project, step.folder / project)
            shutil.rmtree(work)


def _write_project(made: Path, folder: Path) -> None:
    shutil.copy(made / LOCK_FILE, folder / LOCK_FILE)
    rendered = format_yaml(render_folder(made, OperatorSettings.from_environment(os.environ)))
    (folder / RENDERED).parent.mkdir(exist_ok=True)
    (folder / RENDERED).write_text(rendered, encoding="utf-8")


if __name__ == "__main__":
    write_expected()
