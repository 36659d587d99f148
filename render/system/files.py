"""The user's files: only plain ones are read, and a file is replaced as a whole."""

import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from errno import ELOOP
from io import BufferedReader
from pathlib import Path

from render.errors import RenderError
from render.limits import LimitExceeded, Limits
from render.system.boundary import real_path
from render.system.faults import raise_fault

# Names of files in a project folder: its lock, and the metadata of a package on disk.
LOCK_FILE = "crossplane.lock.yaml"
META_FILE = "crossplane.yaml"
PROJECT_FILES = ("crossplane-project.yaml", "upbound.yaml")
PACKAGE_FILES = (META_FILE, *PROJECT_FILES)
# Of a package of the first format: its folder, and the file there that describes it.
REGISTRY_FOLDER, APP_FILE = ".registry", "app.yaml"


class InvalidFile(RenderError):
    """A path that is not a plain file that can be read."""

    exit_code = 2


def is_there(path: Path) -> bool:
    """Return whether a path exists, even as a broken link; raise if its folder cannot be entered."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise_fault(error, f"the folder {path.parent} cannot be read")
        raise InvalidFile(
            f"the folder {path.parent} cannot be read",
            why=(error.strerror or str(error)).lower(),
            next="check the path, and the permissions of the folder",
        ) from None
    return True


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder; one that cannot be accessed counts as none."""
    try:
        return path.is_dir()
    except OSError:
        # The name is too long, or a folder above it cannot be entered.
        return False


def is_file(path: Path) -> bool:
    """Return whether a path is a file; one that cannot be accessed counts as none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        # The text has a character that no path can have.
        return False


def open_plain(path: Path) -> BufferedReader:
    """Open a regular file for reading; links, pipes and devices are refused."""
    try:
        # Without O_NONBLOCK, opening a pipe would block for ever.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise_fault(error, f"{path} cannot be read")
        raise InvalidFile(
            f"{path} cannot be read",
            # The error of O_NOFOLLOW for a link.
            why="it is a symbolic link" if error.errno == ELOOP else (error.strerror or "").lower(),
            next="check the path",
        ) from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise InvalidFile(f"{path} cannot be read", why="it is not a plain file", next="check the path")
    return os.fdopen(handle, "rb")


def read_plain(path: Path, most: int) -> bytes | None:
    """Read a regular file; return nothing if it is larger than `most` bytes."""
    with open_plain(path) as file:
        data = file.read(most + 1)
    return data if len(data) <= most else None


def replace_file(path: Path, data: bytes) -> None:
    """Put a file in place in one step: a reader sees the old bytes or the new ones, never a part."""
    replace_with(path, [data])


def replace_with(path: Path, parts: Iterable[bytes]) -> None:
    """Put a file in place in one step, as `replace_file` does, out of parts that need not be in memory together."""
    if path.is_symlink():
        raise InvalidFile(f"{path} is not written", why="it is a symbolic link", next="remove the link")
    if path.exists() and not (path.is_file() or path.is_dir()):
        # A device or a pipe would be gone.
        raise InvalidFile(f"{path} is not written", why="it is not a plain file", next="use another path")
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:
        with temporary.open("xb") as file:
            # Before the first byte is written, so that a file that only some may read is never open to others.
            _keep_mode(path, file.fileno())
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise RenderError(
            f"{path} cannot be written", why=(error.strerror or str(error)).lower(), next="check the folder"
        ) from None
    finally:
        # After a success it is gone already; after an error or an interrupt it must not be left behind.
        _remove(temporary)
    _sync_folder(path.parent)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it; one that is there already is no error."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise_fault(error, f"the folder {folder} cannot be made")
        raise RenderError(
            f"the folder {folder} cannot be made",
            why="a file of that name is there" if folder.exists() else (error.strerror or str(error)).lower(),
            next="name another folder",
        ) from None


def remove_file(path: Path) -> None:
    """Remove a file; one that is gone already is no error."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise RenderError(
            f"{path} cannot be removed", why=(error.strerror or str(error)).lower(), next="check the folder"
        ) from None
    _sync_folder(path.parent)


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


def _keep_mode(old: Path, new: int) -> None:
    try:
        known = old.stat()
    except FileNotFoundError:
        return
    # Only a member of the group may set it; without it, the file is written all the same.
    with suppress(PermissionError):
        os.fchown(new, -1, known.st_gid)
    os.fchmod(new, stat.S_IMODE(known.st_mode))


def _sync_folder(folder: Path) -> None:
    # The file is in place already, even if its folder cannot be synchronised.
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def read_mounted(environ: Mapping[str, str], variable: str, limit: str, limits: Limits) -> bytes:
    """Read a file that an operator's variable names; return nothing if it cannot be read."""
    try:
        # Kubernetes mounts a secret as a link to a link.
        data = read_plain(real_path(Path(environ[variable])), getattr(limits, limit))
    except (InvalidFile, ValueError, OSError, RuntimeError):
        # RuntimeError: links in a circle, up to Python 3.12.
        return b""
    if data is None:
        raise LimitExceeded(f"the file that {variable} names is too large", limit, limits)
    return data
