"""Writing the files of a scaffold: what exists stays, unless it is to be replaced, and no link is followed."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from render.app.scaffold.choices import Choices
from render.errors import RenderError
from render.system.files import InvalidFile, read_plain, replace_file

_SHARED = "is shared with others"


class File(NamedTuple):
    """The bytes of a file; for a shared file also the part that belongs into an existing one, and below which key."""

    data: bytes
    part: str = ""
    below: str = ""


@dataclass(frozen=True, slots=True)
class ScaffoldReport:
    """The files that were written, those left as they are with the reason, those that lack our part, and all of them."""

    written: tuple[Path, ...]
    left: Mapping[Path, str]
    lacking: Mapping[Path, File]
    files: Mapping[Path, File]
    choices: Choices = field(default_factory=Choices)
    # Whether git has a remote whose URL others can use.
    knows_repository: bool = False
    # The Application in another folder that has the name of the folder, or the one that was given; whether another
    # name was chosen for that.
    same_name: Path | None = None
    renamed: bool = False


def write_scaffold(files: Mapping[Path, File], *, force: bool, dry_run: bool) -> ScaffoldReport:
    """Write the files that do not exist; with force, also those that differ and are not shared."""
    left = {path: why for path, file in files.items() if (why := _reason_to_leave(path, file, force=force))}
    written = tuple(path for path in files if path not in left)
    lacking = {path: files[path] for path, why in left.items() if why == _SHARED}
    for path in () if dry_run else written:
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, files[path].data)
    return ScaffoldReport(written, left, lacking, files)


def check_way(base: Path, path: Path) -> None:
    """Raise for a link on the way, which may lead out of the repository."""
    for step in (base / part for part in path.relative_to(base).parents if part != Path()):
        if step.is_symlink() or (step.exists() and not step.is_dir()):
            raise InvalidFile(
                f"{path} is not written", why=f"{step} is not a folder", next="move it elsewhere"
            )
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise InvalidFile(f"{path} is not written", why="it is not a plain file", next="move it elsewhere")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise an error of ours for one of the operating system."""
    try:
        yield
    except OSError as error:
        raise RenderError(
            f"{path} cannot be written", why=os.strerror(error.errno or 0).lower(), next="check the folder"
        ) from None


def _reason_to_leave(path: Path, file: File, *, force: bool) -> str:
    if not path.exists():
        return ""
    if _holds(path, file.data):
        return "is the same"
    if file.part:
        return _SHARED
    return "" if force else "exists already"


def _holds(path: Path, data: bytes) -> bool:
    try:
        return read_plain(path, len(data)) == data
    except InvalidFile:
        # It may not be read, so it counts as different.
        return False
