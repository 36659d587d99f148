"""The lock that a command looks at."""

import os
from pathlib import Path

import click

from render.errors import Differs
from render.limits import Limits
from render.lock.closure import check_closure
from render.lock.file import read_lock
from render.lock.model import LOCK_FILE, Lock
from render.lock.staleness import StaleLock

folder_argument = click.argument(
    "folder",
    metavar="[DIR]",
    default=Path(),
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)


class MissingLock(Differs):
    """A folder in which nothing was locked yet."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder / LOCK_FILE} is missing",
            why="there is nothing to look at before the packages are locked",
            next="run `xplock lock`, or name the folder that holds the lock",
        )


def read_whole_lock(folder: Path) -> Lock:
    """Read the lock of a folder; there has to be one, and it has to hold together."""
    lock = read_lock(folder, Limits.from_environment(os.environ))
    if lock is None:
        raise MissingLock(folder)
    problems = check_closure(lock)
    if problems:
        raise StaleLock(str(folder / LOCK_FILE), problems)
    return lock
