"""Comparing locks: of a folder, a file, a Git revision, or a cluster."""

from pathlib import Path
from typing import BinaryIO

from render.limits import LimitExceeded, Limits
from render.live.diff import diff_live
from render.live.lock import LiveLock, parse_live_lock
from render.lock.diff import LockDiff, diff_locks
from render.lock.file import read_lock
from render.lock.model import Lock
from render.lock.parse import parse_lock
from render.system.files import LOCK_FILE, is_file, is_folder, read_plain
from render.versions import Version


def read_live_lock(stream: BinaryIO, limits: Limits) -> LiveLock:
    """Read a cluster's Lock, as kubectl prints it."""
    # One byte above the limit is enough to know that there is too much.
    return parse_live_lock(stream.read(limits.lock_bytes + 1), limits)


def read_named_lock(name: str, folder: Path, limits: Limits) -> Lock:
    """Read the lock of a folder or a file; else that of `folder` at a Git revision."""
    path = Path(name)
    if is_folder(path):
        return read_lock(path, limits) or Lock()
    return _read_file(path, limits) if is_file(path) else _read_revision(name, folder, limits)


def compare_locks(old: Lock | LiveLock, new: Lock, crossplane: Version | None) -> LockDiff:
    """Compare a lock with another one, or with a cluster's."""
    return diff_live(new, old, crossplane) if isinstance(old, LiveLock) else diff_locks(old, new)


def _read_file(path: Path, limits: Limits) -> Lock:
    data = read_plain(path, limits.lock_bytes)
    if data is None:
        raise LimitExceeded(f"{path} is too large", "lock_bytes", limits)
    return parse_lock(data, limits, place=str(path))


def _read_revision(revision: str, folder: Path, limits: Limits) -> Lock:
    # Imported late: GitPython takes long to import.
    from render.git.revisions import read_at

    data = read_at(folder, revision, LOCK_FILE, limits=limits)
    # Without a lock at that revision, everything is new.
    return parse_lock(data, limits, place=f"{revision}:{LOCK_FILE}") if data is not None else Lock()
