"""The files below `.registry/`, from a folder or out of an image; each is known by its name, wherever it lies."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from render.errors import RenderError, in_one_line
from render.limits import LimitExceeded, Limits
from render.packages_v1.findings import Findings
from render.system.files import APP_FILE, PACKAGE_FILES, REGISTRY_FOLDER, is_file, is_folder, read_plain

_LAYOUT_FILE = "index.json"


@dataclass(frozen=True, slots=True)
class File:
    """A file of a package, and its path below `.registry/`."""

    path: PurePosixPath
    data: bytes

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.name

    @property
    def folder(self) -> PurePosixPath:
        """The folder it lies in."""
        return self.path.parent

    @property
    def depth(self) -> int:
        """How many folders it lies below `.registry/`."""
        return len(self.folder.parts)

    def covers(self, other: "File") -> bool:
        """Return whether another file lies in the folder of this one, or below."""
        return other.path.is_relative_to(self.folder)

    def __str__(self) -> str:
        return f"{REGISTRY_FOLDER}/{self.path}"


@dataclass(frozen=True, slots=True)
class Tree:
    """All files of a package, sorted by path."""

    files: tuple[File, ...]

    @classmethod
    def of(cls, files: Mapping[str, bytes]) -> "Tree":
        """Return a tree of files, given by their paths below `.registry/`."""
        found = (File(PurePosixPath(path), data) for path, data in files.items())
        return cls(tuple(sorted(found, key=lambda file: file.path.parts)))

    def named(self, *names: str) -> list[File]:
        """Return the files with one of these names."""
        return [file for file in self.files if file.name in names]

    def ending(self, *ends: str) -> list[File]:
        """Return the files whose names end so."""
        return [file for file in self.files if file.name.endswith(ends)]


def find_registry(folder: Path) -> Path | None:
    """Return the folder with the files of a package of the first format; nothing if this is none."""
    if any(is_file(folder / name) for name in (*PACKAGE_FILES, _LAYOUT_FILE)):
        return None
    if is_folder(folder / REGISTRY_FOLDER):
        return folder / REGISTRY_FOLDER
    return folder if folder.name == REGISTRY_FOLDER or _is_registry(folder) else None


def _is_registry(folder: Path) -> bool:
    """Return whether a folder has what `.registry` has in an image: in a repository it often has another name."""
    if not is_file(folder / APP_FILE):
        return False
    return is_folder(folder / "resources") or any(folder.glob("*crd.yaml"))


def read_tree(registry: Path, limits: Limits, found: Findings) -> Tree:
    """Read every file of a folder; links are refused."""
    files: dict[str, bytes] = {}
    room = limits.package_bytes
    for path in list_files(registry, limits):
        shown = path.relative_to(registry).as_posix()
        try:
            data = read_plain(path, room)
        except RenderError as error:
            found.complain(f"{REGISTRY_FOLDER}/{shown}", "; ".join(error.why) or in_one_line(error))
            continue
        if data is None:
            raise LimitExceeded(f"the files of {registry} are too large", "package_bytes", limits)
        room -= len(data)
        files[shown] = data
    return Tree.of(files)


def list_files(registry: Path, limits: Limits) -> Iterator[Path]:
    """Yield the path of every file in a folder and below; links to folders are not followed."""
    count = 0
    for folder, _, names in os.walk(registry):
        for name in names:
            count += 1
            if count > limits.files:
                raise LimitExceeded(f"{registry} has too many files", "files", limits)
            yield Path(folder) / name
