"""The folders that use a folder, as far as they are in reach: in the same repository, or beside it."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from render.errors import RenderError
from render.folders.members import Member
from render.inputs.folders import is_repository
from render.inputs.projects import read_settings
from render.limits import Limits
from render.lock.model import Lock
from render.references import Source
from render.settings import SETTINGS_FILE
from render.system.files import is_file, read_plain

# A search for folders stays cheap in any repository; a monorepo of clusters has some thousands of folders.
_MOST_FOLDERS = 20_000
# Git's own folder has thousands of folders, and no projects.
_GIT = ".git"
_KEY = b"uses"


class Users:
    """Finds the folders that use a folder; a repository is searched once, however many folders are asked about.

    `others` are searched wherever they are: the folders that a command names.
    """

    def __init__(self, limits: Limits, others: Iterable[Path] = ()) -> None:
        self._limits = limits
        self._others = _read_members((other.resolve() for other in others), limits)
        self._below: dict[Path, Mapping[Path, Sequence[Path]]] = {}

    def of(self, folder: Path) -> list[Path]:
        """Return the folders that use a folder, directly or not, sorted; as paths from the current folder."""
        target = folder.resolve()
        users = {target}
        members = self._members(_top(target))
        while more := {path for path, used in members.items() if users.intersection(used)} - users:
            users |= more
        return sorted(Path(os.path.relpath(path)) for path in users - {target})

    def _members(self, top: Path) -> Mapping[Path, Sequence[Path]]:
        """Return the folders in reach that use others, with those."""
        if top not in self._below:
            below = _read_members(_folders(top), self._limits)
            self._below[top] = {**self._others, **below}
        return self._below[top]


def needed_packages(folder: Path, users: Mapping[Path, Lock]) -> dict[Source, list[str]]:
    """Return the packages that using folders need of this one, with the names of these folders."""
    target = folder.resolve()
    found: dict[Source, list[str]] = {}
    for user, lock in sorted(users.items()):
        for source, provided in lock.provided.items():
            if (user / provided.folder).resolve() == target:
                found.setdefault(source, []).append(str(user))
    return found


def _read_members(folders: Iterable[Path], limits: Limits) -> dict[Path, Sequence[Path]]:
    members = {}
    for path in dict.fromkeys(folders):
        try:
            if _KEY in (read_plain(path / SETTINGS_FILE, limits.meta_bytes) or b""):
                members[path] = Member(path, read_settings(path, limits).uses).used
        except (OSError, RenderError):
            # Such a folder has its own error when it is locked.
            continue
    return {path: used for path, used in members.items() if used}


def _top(folder: Path) -> Path:
    """Return the top of the repository that a folder is in; without one, the folder around it."""
    return next((path for path in (folder, *folder.parents) if is_repository(path)), folder.parent)


def _folders(top: Path) -> Iterator[Path]:
    """Yield the folders with settings below a folder, the highest first."""
    waiting = [top]
    for path in waiting:
        if is_file(path / SETTINGS_FILE):
            yield path
        if len(waiting) < _MOST_FOLDERS:
            waiting += _subfolders(path)[: _MOST_FOLDERS - len(waiting)]


def _subfolders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            found = [one.name for one in entries if one.name != _GIT and one.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return [folder / name for name in sorted(found)]
