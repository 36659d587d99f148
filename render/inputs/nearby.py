"""The project folders near a folder that is none; only errors need them."""

import os
from collections.abc import Iterator
from pathlib import Path

from render.inputs.folders import is_repository
from render.settings import SETTINGS_FILE
from render.system.files import LOCK_FILE

_DEPTH = 3
_MOST_FOLDERS = 2_000
_SHOWN = 5


def find_nearby_projects(folder: Path) -> list[Path]:
    """Return the first project folders below a folder, or else the next one above it in its repository."""
    below = sorted(_below(folder))[:_SHOWN]
    return below or list(_above(folder))[:1]


def _below(folder: Path) -> Iterator[Path]:
    waiting = [(folder, 0)]
    for here, depth in waiting:
        if depth and _is_project(here):
            yield here
        elif depth < _DEPTH and len(waiting) < _MOST_FOLDERS:
            waiting += [(path, depth + 1) for path in _subfolders(here)]


def _above(folder: Path) -> Iterator[Path]:
    here, shown = folder.resolve(), folder
    while here != here.parent and not is_repository(here):
        here, shown = here.parent, shown / ".."
        if _is_project(here):
            yield shown


def _subfolders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            found = [one for one in entries if one.name[0] != "." and one.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return sorted(folder / one.name for one in found)


def _is_project(folder: Path) -> bool:
    return any(os.path.lexists(folder / name) for name in (LOCK_FILE, SETTINGS_FILE))
