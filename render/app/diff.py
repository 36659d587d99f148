"""Comparing locks: of a folder, a file, a Git revision, or a cluster."""

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from render.errors import Differs
from render.inputs.projects import read_settings
from render.limits import LimitExceeded, Limits
from render.live.diff import diff_live
from render.live.lock import LiveLock, parse_live_lock
from render.lock.diff import LockDiff
from render.lock.freshness import require_lock
from render.lock.model import Lock
from render.lock.text.parse import parse_lock
from render.system.files import LOCK_FILE, is_file, is_folder, read_plain
from render.versions.version import Version


class UnlockedRevision(Differs):
    """A revision without a lock, where one is to be compared."""

    def __init__(self, revision: str, folder: Path) -> None:
        super().__init__(
            self.say(revision, folder),
            why="nothing was locked there at that commit",
            next="name a revision with a lock, or another folder: -C DIR",
        )

    @staticmethod
    def say(revision: str, folder: Path) -> str:
        """Return the fact alone."""
        return f"{revision} has no {LOCK_FILE} in {folder}"


def read_live_lock(stream: BinaryIO, limits: Limits) -> LiveLock:
    """Read a cluster's Lock, as kubectl prints it."""
    # One byte above the limit is enough to know that there is too much.
    return parse_live_lock(stream.read(limits.lock_bytes + 1), limits)


@dataclass(frozen=True, slots=True)
class LockPair:
    """Two locks that are compared."""

    old: Lock
    new: Lock
    # The folders that say where the packages of the new one and of the old one are.
    folders: tuple[Path, ...]
    notes: tuple[str, ...] = ()


def read_lock_pair(old: str, new: str, folder: Path, limits: Limits) -> LockPair:
    """Read two locks by name: of a folder or a file, else that of `folder` at a Git revision.

    A revision without a lock has no packages, which is noted; but one of the two has to have a lock.
    """
    before, after = (_find_lock(name, folder, limits) for name in (old, new))
    if before is None and after is None:
        raise UnlockedRevision(new, folder)
    notes = [f"{UnlockedRevision.say(old, folder)}, so everything is new"] if before is None else []
    notes += [f"{UnlockedRevision.say(new, folder)}, so everything is removed"] if after is None else []
    folders = tuple(dict.fromkeys(_folder_of(name, folder) for name in (new, old)))
    return LockPair(before or Lock(), after or Lock(), folders, tuple(notes))


def read_named_lock(name: str, folder: Path, limits: Limits) -> Lock:
    """Read a lock by name: of a folder or a file, else that of `folder` at a Git revision."""
    lock = _find_lock(name, folder, limits)
    if lock is None:
        raise UnlockedRevision(name, folder)
    return lock


def compare_with_cluster(
    stream: BinaryIO, new: str, folder: Path, crossplane: Version | None, limits: Limits
) -> LockDiff:
    """Compare a cluster's Lock with a lock by name; by default its settings name the Crossplane."""
    live = read_live_lock(stream, limits)
    lock = read_named_lock(new, folder, limits)
    crossplane = crossplane or _find_crossplane(new, folder, limits)
    return diff_live(lock, live, crossplane, _folder_of(new, folder))


def _find_crossplane(name: str, folder: Path, limits: Limits) -> Version | None:
    return read_settings(_folder_of(name, folder), limits).crossplane_version


def _folder_of(name: str, folder: Path) -> Path:
    """Return the folder of a lock by name."""
    path = Path(name)
    if path.name == LOCK_FILE and is_file(path):
        path = path.parent
    return path if is_folder(path) else folder


def _find_lock(name: str, folder: Path, limits: Limits) -> Lock | None:
    path = Path(name)
    if is_folder(path):
        return require_lock(path, limits)
    return _read_file(path, limits) if is_file(path) else _read_revision(name, folder, limits)


def _read_file(path: Path, limits: Limits) -> Lock:
    data = read_plain(path, limits.lock_bytes)
    if data is None:
        raise LimitExceeded(f"{path} is too large", "lock_bytes", limits)
    return parse_lock(data, limits, place=str(path))


def _read_revision(revision: str, folder: Path, limits: Limits) -> Lock | None:
    # Imported late: GitPython takes long to import.
    from render.git.revisions import UnknownRevision, read_at

    try:
        data = read_at(folder, revision, LOCK_FILE, limits=limits)
    except UnknownRevision as error:
        error.why = (*error.why, "there is no file or folder of that name either")
        raise
    return None if data is None else parse_lock(data, limits, place=f"{revision}:{LOCK_FILE}")
