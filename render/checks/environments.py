"""Environments in their order: which folder versions come from before they reach another one."""

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from render.errors import RenderError
from render.inputs.folders import is_repository
from render.inputs.projects import read_settings
from render.lean import dataclass
from render.limits import Limits
from render.lock.model import Lock
from render.settings import SETTINGS_FILE
from render.system.boundary import real_path
from render.system.files import LOCK_FILE, is_there, read_plain

# How many folders above one are looked at outside of a repository: others may be anyone's.
_LEVELS = 3


@dataclass(frozen=True, slots=True)
class Earlier:
    """The folder of the environment before, as the user would write it, and its lock."""

    name: str
    lock: Lock


class Environments:
    """Finds the folder that comes before another one; every folder above is read once."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._orders: dict[Path, tuple[Path, ...]] = {}

    def before(self, folder: Path) -> Path | None:
        """Return the folder of the environment before, in the order of the nearest settings above; by real paths."""
        for above in _above(folder):
            order = self._order(above)
            if order:
                return _before(folder, order)
        return None

    def _order(self, folder: Path) -> tuple[Path, ...]:
        if folder not in self._orders:
            self._orders[folder] = read_order(folder, self._limits)
        return self._orders[folder]


def read_order(folder: Path, limits: Limits) -> tuple[Path, ...]:
    """Return the folders of environments that the settings of a folder name; none, if they cannot be read."""
    path = folder / SETTINGS_FILE
    try:
        # Most settings name none, and need no parser.
        if not is_there(path) or b"environments" not in (read_plain(path, limits.file_bytes) or b""):
            return ()
        return tuple(real_path(folder / name) for name in read_settings(folder, limits).environments)
    except (RenderError, OSError):
        return ()


def pair_in_order(folders: Sequence[Path]) -> Mapping[Path, Path]:
    """Return the folder before each, in the order of a call; by real paths, each once."""
    return {after: before for before, after in pairwise(folders)}


def as_named(path: Path, folder: Path) -> str:
    """Return a real path as the user would write it who named a folder."""
    return os.path.normpath(folder / os.path.relpath(path, real_path(folder)))


def _before(folder: Path, order: Sequence[Path]) -> Path | None:
    for before, own in pairwise(order):
        if folder.is_relative_to(own):
            beside = before / folder.relative_to(own)
            return next((path for path in (beside, before) if is_there(path / LOCK_FILE)), None)
    return None


def _above(folder: Path) -> Iterator[Path]:
    """Yield the folders above one, up to the root of its repository, or a few where there is none."""
    inside = any(map(is_repository, folder.parents))
    for path in folder.parents if inside else folder.parents[:_LEVELS]:
        yield path
        if is_repository(path):
            return
