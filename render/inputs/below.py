"""Project folders below a folder: what a recursive call works on."""

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from render.errors import InvalidInput, RenderError
from render.inputs.nearby import is_project
from render.inputs.projects import read_settings
from render.limits import LimitExceeded, Limits
from render.settings import SETTINGS_FILE
from render.system.files import LOCK_FILE, is_there, read_plain


@dataclass(frozen=True, slots=True)
class Shard:
    """One part of a recursive call that several machines share: the folders whose paths fall to it."""

    index: int
    count: int

    def takes(self, path: Path) -> bool:
        """Return whether a path, relative to the folder of the call, belongs to this part."""
        # By the text of the path alone, so that a new folder moves no other one to another part.
        digest = hashlib.sha256(path.as_posix().encode(errors="surrogateescape")).digest()
        return int.from_bytes(digest[:8]) % self.count == self.index - 1


@dataclass(frozen=True, slots=True)
class FoundBelow:
    """The project folders below a folder, sorted, and the folders that cannot be read."""

    projects: tuple[Path, ...]
    unreadable: tuple[Path, ...]


def parse_shard(text: str) -> Shard:
    """Parse I/N: part I of N, counted from 1."""
    first, slash, last = text.partition("/")
    if slash and first.isascii() and last.isascii() and first.isdigit() and last.isdigit() and len(text) < 10:
        shard = Shard(int(first), int(last))
        if 1 <= shard.index <= shard.count:
            return shard
    raise InvalidInput(
        f"{text!r} is not a part of a call",
        why="a part is written I/N: the number of the part from 1 on, and how many there are",
        next="write for example --shard 1/4",
    )


def find_projects_below(folder: Path, limits: Limits, shard: Shard | None = None) -> FoundBelow:
    """Find the folders with a lock or with settings, the folder itself included; links and hidden folders are passed over."""
    projects: list[Path] = []
    unreadable: list[Path] = []
    waiting = [folder]
    for here in waiting:
        if is_project(here) and not _only_names_environments(here, limits):
            projects.append(here)
        try:
            waiting += _subfolders(here)
        except OSError:
            unreadable.append(here)
        if len(waiting) > limits.walked_folders:
            raise LimitExceeded(f"{folder} has too many folders below it", "walked_folders", limits)
    mine = _of_shard(projects, folder, shard) if shard else projects
    return FoundBelow(tuple(sorted(mine)), tuple(sorted(unreadable)))


def _only_names_environments(folder: Path, limits: Limits) -> bool:
    """Return whether settings say nothing but the order of the environments below: there is nothing to lock."""
    if is_there(folder / LOCK_FILE):
        return False
    try:
        data = read_plain(folder / SETTINGS_FILE, limits.file_bytes) or b""
        # Most settings name none, and need no parser.
        return b"environments" in data and read_settings(folder, limits).given.keys() == {"environments"}
    except (RenderError, OSError):
        return False


def _of_shard(projects: Iterable[Path], folder: Path, shard: Shard) -> list[Path]:
    return [path for path in projects if shard.takes(path.relative_to(folder))]


def _subfolders(folder: Path) -> list[Path]:
    with os.scandir(folder) as entries:
        names = [one.name for one in entries if one.name[0] != "." and one.is_dir(follow_symlinks=False)]
    return [folder / name for name in sorted(names)]
