"""The lock that commands look at, without the inputs that it answers."""

from pathlib import Path

from render.limits import Limits
from render.lock.consistency import check_closure
from render.lock.freshness import StaleLock, require_lock
from render.lock.model import Lock
from render.system.files import LOCK_FILE


def read_whole_lock(folder: Path, limits: Limits) -> Lock:
    """Read the lock of a folder; raise if it is missing or contradicts itself."""
    lock = require_lock(folder, limits)
    problems = check_closure(lock)
    if problems:
        raise StaleLock(str(folder / LOCK_FILE), problems)
    return lock
