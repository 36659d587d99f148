"""Checking many folders in one call, beside a bare interpreter."""

import shutil
import sys
import tempfile
from pathlib import Path

from bench.measure import best_seconds, print_ratio, python
from bench.registry import EcosystemCatalog
from bench.render import LARGE, make_project
from render.system.files import LOCK_FILE

_FOLDERS = 20


def main() -> None:
    """Print one line for folders that have one lock, as those of a fleet have, and one for folders that do not."""
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        project = make_project(scratch / "project", [LARGE], EcosystemCatalog())
        count = (project / LOCK_FILE).read_text().count("\n- apiVersion: ")
        _measure(
            f"check of {_FOLDERS} folders with one lock of {count} packages",
            _copies(project, scratch / "one"),
        )
        own = _copies(project, scratch / "own")
        for i, folder in enumerate(own):
            # A comment makes it another file; what it says, and so the work, is the same.
            lock = folder / LOCK_FILE
            lock.write_text(f"# {i}\n{lock.read_text()}")
        _measure(f"check of {_FOLDERS} folders with such a lock of their own", own)


def _measure(what: str, folders: list[Path]) -> None:
    xplock = str(Path(sys.executable).with_name("xplock"))
    commands = [python("-c", "pass"), [xplock, "check", *map(str, folders)]]
    bare, check = best_seconds(commands, rounds=10)
    print_ratio(what, check, bare, goal=10)


def _copies(project: Path, target: Path) -> list[Path]:
    folders = [target / str(i) for i in range(_FOLDERS)]
    for folder in folders:
        shutil.copytree(project, folder)
    return folders


if __name__ == "__main__":
    main()
