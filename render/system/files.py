"""Files of the user's: read only if they are plain files, replaced and never edited."""

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from errno import ELOOP
from io import BufferedReader
from pathlib import Path

from render.errors import RenderError
from render.limits import LimitExceeded, Limits

# What a project folder holds: its lock, and the descriptions of a package on disk.
LOCK_FILE = "crossplane.lock.yaml"
META_FILE = "crossplane.yaml"
PROJECT_FILES = ("crossplane-project.yaml", "upbound.yaml")
PACKAGE_FILES = (META_FILE, *PROJECT_FILES)


class InvalidFile(RenderError):
    """A path that is not the plain file we expect."""

    exit_code = 2


def is_there(path: Path) -> bool:
    """Tell whether anything has this name, be it a link to nothing; a folder that may not be entered tells neither."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise InvalidFile(
            f"the files of {path.parent} cannot be looked at",
            why=(error.strerror or str(error)).lower(),
            next="check the path, and who may enter the folder",
        ) from None
    return True


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder; one that may not be looked at counts as none."""
    try:
        return path.is_dir()
    except OSError:
        # A name that is too long, or a folder that may not be looked into.
        return False


def is_file(path: Path) -> bool:
    """Return whether a path is a file; one that may not be looked at counts as none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        # The text has a character that no path can have.
        return False


def open_plain(path: Path) -> BufferedReader:
    """Open a regular file for reading; links, pipes and devices are refused."""
    try:
        # Without O_NONBLOCK a pipe in the file's place would hold us for ever.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise InvalidFile(
            f"{path} cannot be read",
            # What O_NOFOLLOW says of a link.
            why="it is a symbolic link" if error.errno == ELOOP else (error.strerror or "").lower(),
            next="check the path",
        ) from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise InvalidFile(f"{path} cannot be read", why="it is not a plain file", next="check the path")
    return os.fdopen(handle, "rb")


def read_plain(path: Path, most: int) -> bytes | None:
    """Read a regular file whole, or return nothing if it is larger than so many bytes."""
    with open_plain(path) as file:
        data = file.read(most + 1)
    return data if len(data) <= most else None


def replace_file(path: Path, data: bytes) -> None:
    """Put a file in place in one step: a reader sees the old bytes or the new ones, never a part."""
    if path.is_symlink():
        raise InvalidFile(f"{path} is not written", why="it is a symbolic link", next="remove the link")
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:
        with temporary.open("xb") as file:
            # Before the first byte: what only some may read is never open to others.
            _keep_mode(path, file.fileno())
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise RenderError(
            f"{path} cannot be written", why=(error.strerror or str(error)).lower(), next="check the folder"
        ) from None
    finally:
        # Gone after a success; after anything else, an interrupt too, it must not stay behind.
        _remove(temporary)
    _sync_folder(path.parent)


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


def _keep_mode(old: Path, new: int) -> None:
    try:
        known = old.stat()
    except FileNotFoundError:
        return
    # Who is not in the group cannot give it; the file is written all the same.
    with suppress(PermissionError):
        os.fchown(new, -1, known.st_gid)
    os.fchmod(new, stat.S_IMODE(known.st_mode))


def _sync_folder(folder: Path) -> None:
    # The file is in place already; a folder that cannot be opened or synchronised changes nothing about that.
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def read_mounted(environ: Mapping[str, str], variable: str, limit: str, limits: Limits) -> bytes:
    """Return what is in a file that the operator names; nothing, if it cannot be read."""
    try:
        # Kubernetes mounts a secret as a link to a link.
        data = read_plain(Path(environ[variable]).resolve(), getattr(limits, limit))
    except (InvalidFile, ValueError, OSError, RuntimeError):
        # The last one, up to Python 3.12, is a link that leads in a circle.
        return b""
    if data is None:
        raise LimitExceeded(f"the file that {variable} names is too large", limit, limits)
    return data
