"""Runs a session of a page in its scene."""

import shutil
from pathlib import Path

from rig.docs.machine import Machine
from rig.docs.pages import Session
from rig.docs.scenes import find_scene, surroundings
from rig.docs.shell import Ran, run_blocks


def run_session(session: Session, examples: Path, machine: Machine, folder: Path) -> list[Ran]:
    """Run the blocks of a session where its scene says, below an empty folder."""
    (folder / "place").mkdir()
    start = find_scene(session.scene)(examples, folder / "place", machine)
    # What one session installs is not there in the next.
    (folder / "home").mkdir()
    shutil.copy(machine.folder / ".gitconfig", folder / "home")
    environ = {**machine.environ, "HOME": str(folder / "home")}
    with surroundings(session.scene) as more:
        return run_blocks(session.blocks, start, {**environ, **more}, folder / "ran")
