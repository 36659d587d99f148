"""The lock on disk: `crossplane.lock.yaml` in a project's folder."""

import re
import time
from contextlib import suppress
from pathlib import Path

from render.errors import RenderError
from render.limits import LimitExceeded, Limits
from render.lock.model import FORMAT_REVISION, FORMAT_VERSION, Lock
from render.lock.text.format import NewerRevision
from render.lock.text.parse import UnsupportedLock, parse_lock
from render.system.files import LOCK_FILE, is_there, read_plain, replace_file

# Only top-level keys start at the beginning of a line.
_FORMAT = rb"(?m)^(version|revision): *([0-9]{1,9})\s*$"
_LEFTOVER = r"\.[0-9a-f]{16}"
_LEFTOVER_SECONDS = 60
_DEFAULTS = Limits()
_SUPPORTED = {b"version": FORMAT_VERSION, b"revision": FORMAT_REVISION}


class LinkedLock(RenderError):
    """A symbolic link in place of the lock; following it would read or overwrite another file."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} is neither read nor written", why="it is a symbolic link", next="remove the link"
        )


def read_lock(folder: Path, limits: Limits) -> Lock | None:
    """Read the lock of a folder, if there is one."""
    data = read_lock_bytes(folder, limits)
    return None if data is None else parse_lock(data, limits, place=str(folder / LOCK_FILE))


def read_lock_bytes(folder: Path, limits: Limits) -> bytes | None:
    """Read the text of a folder's lock, if there is one; it may hold a merge conflict."""
    path = folder / LOCK_FILE
    if not is_there(path):
        return None
    if path.is_symlink():
        raise LinkedLock(path)
    data = read_plain(path, limits.lock_bytes)
    if data is None:
        raise LimitExceeded(f"{path} is too large", "lock_bytes", limits)
    return data


def write_lock(folder: Path, text: str, *, limits: Limits = _DEFAULTS) -> bool:
    """Replace the lock of a folder if its text has changed; return whether it has."""
    old = read_lock_bytes(folder, limits)
    data = text.encode()
    if old == data:
        return False
    if old is not None:
        _refuse_newer(old, folder / LOCK_FILE)
    replace_file(folder / LOCK_FILE, data)
    _sweep(folder)
    return True


def _refuse_newer(old: bytes, path: Path) -> None:
    for key, digits in re.findall(_FORMAT, old):
        if int(digits) > _SUPPORTED[key]:
            raise UnsupportedLock(str(path), int(digits)) if key == b"version" else NewerRevision(int(digits))


def _sweep(folder: Path) -> None:
    """Remove temporary files of killed runs; a run that is writing now needs less than a minute."""
    # The lock is in place already, so nothing here is an error.
    with suppress(OSError):
        for path in folder.glob(f".{LOCK_FILE}.*"):
            _sweep_one(path)


def _sweep_one(path: Path) -> None:
    with suppress(OSError):
        old = time.time() - path.lstat().st_mtime > _LEFTOVER_SECONDS
        if old and re.fullmatch(_LEFTOVER, path.suffix):
            path.unlink()
