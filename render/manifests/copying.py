"""A bounded copy of a folder: plain files and folders, and nothing that leads elsewhere."""

from collections.abc import Iterator
from pathlib import Path

from render.errors import RenderError
from render.files import InvalidFile, read_plain
from render.limits import LimitExceeded, Limits

# A repository's own folder: large, and no part of what is built.
_SKIPPED = ".git"


def copy_folder(source: Path, target: Path, limits: Limits) -> None:
    """Copy a folder to a place that is not there yet."""
    left = limits.kustomize_bytes
    try:
        target.mkdir()
        for path in _walk(source, limits):
            data = _read(path, source, left, limits)
            left -= len(data or b"")
            _put(target / path.relative_to(source), data)
    except OSError as error:
        raise RenderError(
            f"{source} cannot be copied", why=(error.strerror or str(error)).lower(), next="check the folder"
        ) from None


def _walk(folder: Path, limits: Limits) -> Iterator[Path]:
    """Yield everything below a folder, each folder before what is in it."""
    waiting, found = [folder], 0
    while waiting:
        for path in sorted(waiting.pop().iterdir()):
            if path.name == _SKIPPED:
                continue
            found += 1
            if found > limits.files:
                raise LimitExceeded(f"{folder} has too many files", "files", limits)
            yield path
            if path.is_dir():
                waiting.append(path)


def _read(path: Path, source: Path, left: int, limits: Limits) -> bytes | None:
    """Return the bytes of a file; a folder has none."""
    if path.is_symlink():
        raise InvalidFile(
            f"{path} is not copied", why="it is a symbolic link", next="put the file itself there"
        )
    if path.is_dir():
        return None
    data = read_plain(path, left)
    if data is None:
        raise LimitExceeded(f"{source} is too large", "kustomize_bytes", limits)
    return data


def _put(path: Path, data: bytes | None) -> None:
    if data is None:
        path.mkdir()
    else:
        path.write_bytes(data)
