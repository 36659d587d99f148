"""Is a lock up to date with its inputs?"""

from collections.abc import Mapping
from pathlib import Path

from render.errors import Differs
from render.limits import Limits
from render.lock.consistency import check_closure
from render.lock.file import read_lock
from render.lock.model import Lock
from render.system.files import LOCK_FILE
from render.texts import first_lines

_SHOWN = 20


class MissingLock(Differs):
    """A folder without a lock."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder} has no {LOCK_FILE}",
            why="nothing has been locked there yet",
            next=f"run: xplock lock {folder}",
        )


class StaleLock(Differs):
    """A lock that does not match its inputs, or that contradicts itself."""

    def __init__(self, place: str, why: list[str]) -> None:
        super().__init__(
            f"{place} is out of date",
            why=first_lines(why, _SHOWN),
            next="run `xplock lock` and commit what it writes",
        )


def require_lock(folder: Path, limits: Limits) -> Lock:
    """Read a folder's lock; raise if it is missing."""
    lock = read_lock(folder, limits)
    if lock is None:
        raise MissingLock(folder)
    return lock


def require_consistent_lock(folder: Path, limits: Limits) -> Lock:
    """Read a folder's lock; raise if it is missing or contradicts itself."""
    lock = require_lock(folder, limits)
    problems = check_closure(lock)
    if problems:
        raise StaleLock(str(folder / LOCK_FILE), problems)
    return lock


def compare_inputs(lock: Lock, record: Mapping[str, str]) -> list[str]:
    """Return which inputs were added, removed or changed since the lock was written."""
    locked = lock.inputs
    return [
        f"{name} {'was added' if name not in locked else 'was removed' if name not in record else 'changed'}"
        for name in sorted(locked.keys() | record.keys())
        if locked.get(name) != record.get(name)
    ]


def require_fresh(lock: Lock, record: Mapping[str, str], *, place: str) -> None:
    """Raise if a lock is stale, with the reasons."""
    why = compare_inputs(lock, record) + check_closure(lock)
    if why:
        raise StaleLock(place, why)
