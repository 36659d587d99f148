"""The lock that a command looks at."""

import os
from pathlib import Path

import click

from render.limits import Limits
from render.lock.consistency import check_closure
from render.lock.freshness import StaleLock, require_lock
from render.lock.model import Lock
from render.system.files import LOCK_FILE

folder_argument = click.argument(
    "folder",
    metavar="[DIR]",
    default=Path(),
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)


def read_whole_lock(folder: Path) -> Lock:
    """Read the lock of a folder; there has to be one, and it has to hold together."""
    lock = require_lock(folder, Limits.from_environment(os.environ))
    problems = check_closure(lock)
    if problems:
        raise StaleLock(str(folder / LOCK_FILE), problems)
    return lock
