"""Folders that are ours for a while, and gone however a call ends."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from render.errors import RenderError

_USUAL_PLACES = ("/tmp", "/var/tmp")  # noqa: S108 - a folder below them is made new, for us alone, or not at all

# Those that may be there. A name is here before its folder is, and until that is gone.
_ours: set[Path] = set()


class NoPlace(RenderError):
    """A folder that cannot be made, or has no room for what belongs there."""

    def __init__(self, what_for: str, why: str) -> None:
        super().__init__(
            f"there is no place for {what_for}", why=why, next="set TMPDIR to a folder that can be written to"
        )


@contextmanager
def scratch_folder(what_for: str) -> Iterator[Path]:
    """Make a folder that only we can read, and remove it afterwards."""
    folder = _make(what_for)
    try:
        yield folder
    finally:
        _remove(folder)


@contextmanager
def writing(what_for: str) -> Iterator[None]:
    """Tell that there is no place for something, where it cannot be written to such a folder."""
    try:
        yield
    except OSError as error:
        raise NoPlace(what_for, _reason(error)) from None


def remove_scratch_folders() -> None:
    """Remove what a call that was ended in mid-sentence has left."""
    for folder in tuple(_ours):
        _remove(folder)


def hide_scratch_folders(text: str) -> str:
    """Return what another program says without the names of our folders, which are others every time."""
    for folder in _ours:
        text = text.replace(f"{folder}/", "").replace(f"{folder}", ".")
    return text


def _make(what_for: str) -> Path:
    named = os.environ.get("TMPDIR")
    reason = ""
    for place in (named,) if named else _USUAL_PLACES:
        folder = Path(place).resolve() / f"xplock-{os.urandom(8).hex()}"
        _ours.add(folder)
        try:
            folder.mkdir(mode=0o700)
        except OSError as error:
            _ours.discard(folder)
            reason = _reason(error)
        else:
            return folder
    raise NoPlace(what_for, reason)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _remove(folder: Path) -> None:
    # Whoever only renders has nothing to remove.
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
    _ours.discard(folder)
