"""Temporary folders, removed however a call ends."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from render.errors import RenderError
from render.system.boundary import real_path

_USUAL_PLACES = ("/tmp", "/var/tmp")  # noqa: S108 - a new folder is made below them, readable by this user alone

# All that may exist: a name is added before its folder is made, and removed after it.
_known: set[Path] = set()


class NoPlace(RenderError):
    """A temporary folder that cannot be made, or a file that cannot be written to it."""

    def __init__(self, what_for: str, why: str) -> None:
        super().__init__(
            f"there is no place for {what_for}", why=why, next="set TMPDIR to a folder that can be written to"
        )


@contextmanager
def scratch_folder(what_for: str) -> Iterator[Path]:
    """Make a folder that only this user can read, and remove it afterwards."""
    folder = _make(what_for)
    try:
        yield folder
    finally:
        _remove(folder)


@contextmanager
def writing(what_for: str) -> Iterator[None]:
    """Raise NoPlace for an error while something is written to such a folder."""
    try:
        yield
    except OSError as error:
        raise NoPlace(what_for, _reason(error)) from None


def remove_scratch_folders() -> None:
    """Remove the folders of a call that was ended early."""
    for folder in tuple(_known):
        _remove(folder)


def hide_scratch_folders(text: str) -> str:
    """Return the output of a program without the names of these folders, which differ with every call."""
    for folder in _known:
        text = text.replace(f"{folder}/", "").replace(f"{folder}", ".")
    return text


def _make(what_for: str) -> Path:
    named = os.environ.get("TMPDIR")
    reason = ""
    for place in (named,) if named else _USUAL_PLACES:
        folder = real_path(Path(place)) / f"xplock-{os.urandom(8).hex()}"
        _known.add(folder)
        try:
            folder.mkdir(mode=0o700)
        except OSError as error:
            _known.discard(folder)
            reason = _reason(error)
        else:
            return folder
    raise NoPlace(what_for, reason)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _remove(folder: Path) -> None:
    # Imported late: rendering a lock makes no such folder.
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
    _known.discard(folder)
