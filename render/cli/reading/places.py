"""Locks that a command names: those of folders, files and Git revisions."""

from collections.abc import Sequence
from pathlib import Path

import click

from render.cli.options import default_folder
from render.system.files import LOCK_FILE, is_file, is_folder

LAST_COMMIT = "HEAD"


def find_places(context: click.Context, names: Sequence[str]) -> list[str]:
    """Return the names of locks; files and folders are relative to the folder that -C names."""
    paths = [(name, default_folder(context) / name) for name in names]
    return [str(path) if is_folder(path) or is_file(path) else name for name, path in paths]


def place_folder(old: str | None, new: str | None, chosen: Path | None) -> tuple[str, Path]:
    """Return the first of two locks, and the folder that is meant; a folder alone is not the first."""
    if old and not new and not chosen and is_folder(Path(old)):
        return LAST_COMMIT, Path(old)
    paths = [path for name in (old, new) if name and (path := _folder_of(Path(name)))] if new else []
    # What stands beside a single folder is a revision, and the same folder is meant.
    beside = paths[0] if len(paths) == 1 else Path()
    return old or LAST_COMMIT, chosen or beside


def _folder_of(path: Path) -> Path | None:
    if is_folder(path):
        return path
    return path.parent if path.name == LOCK_FILE and is_file(path) else None
