"""The lock that a command looks at."""

import os
from pathlib import Path

import click

from render.app import locked as app
from render.limits import Limits
from render.lock.model import Lock

folder_argument = click.argument(
    "folder",
    metavar="[DIR]",
    default=Path(),
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)


def read_whole_lock(folder: Path) -> Lock:
    """Read the lock of a folder; raise if it is missing or contradicts itself."""
    return app.read_whole_lock(folder, Limits.from_environment(os.environ))
