"""A commit as files on disk, with changes that are not committed yet: what a clone of the next commit would have.

Blobs are read as they are stored: no filter, hook or other program of the repository is run, and nothing is fetched.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from render.git.checkout import largest_input, write_hole
from render.git.repository import Repository
from render.git.revisions import FileEntry, blob_id, list_tree, read_objects, read_sizes, resolve_commit
from render.limits import LimitExceeded
from render.system.scratch import writing

_LINK, _SUBMODULE = "120000", "160000"
_FILES = "git's files"
# Names that git never checks out: a tree that has them was made to write elsewhere.
_NO_NAMES = frozenset({"", ".", "..", ".git"})
_NONE: Mapping[str, bytes | None] = MappingProxyType({})


class _Stored(NamedTuple):
    """A file, and the repository that has its bytes: a submodule has its own."""

    repository: Repository
    entry: FileEntry


class Snapshot:
    """The files of a commit and its submodules, by their paths from the root, with some of them changed."""

    def __init__(
        self, repository: Repository, commit: str | None, changes: Mapping[str, bytes | None] = _NONE
    ) -> None:
        self.repository = repository
        # None: the file is deleted.
        self._changes = dict(changes)
        self._stored: dict[str, _Stored] = {}
        # Those that are not read yet, and the names of all.
        self._submodules: dict[str, _Stored] = {}
        self._all_submodules: set[str] = set()
        if commit is not None:
            self._add(repository, commit, "")

    def with_changes(self, changes: Mapping[str, bytes | None]) -> "Snapshot":
        """Return the same commit with more changes."""
        made = Snapshot(self.repository, None, {**self._changes, **changes})
        made._stored, made._submodules = self._stored, self._submodules
        made._all_submodules = self._all_submodules
        return made

    def list_folder(self, folder: str, *, deep: bool) -> list[str]:
        """Return the files in a folder, which is "" or ends with a slash; `deep` includes those in its subfolders."""
        self._enter_submodules(folder)
        found = [path for path in {*self._stored, *self._changes} if path.startswith(folder)]
        return sorted(path for path in found if self.has(path) and (deep or "/" not in path[len(folder) :]))

    def has(self, path: str) -> bool:
        """Return whether there is such a file or link."""
        self._enter_submodules(path)
        return self._changes[path] is not None if path in self._changes else path in self._stored

    def is_link(self, path: str) -> bool:
        """Return whether a path is a symbolic link."""
        return self.has(path) and path not in self._changes and self._stored[path].entry.mode == _LINK

    def submodule_of(self, path: str) -> str:
        """Return the submodule that a path is in, if any: it has commits of its own."""
        return max((name for name in self._all_submodules if path.startswith(f"{name}/")), default="")

    def holds(self, path: str, data: bytes) -> bool:
        """Return whether a file has these bytes, but for line ends: git may have converted them."""
        texts = (data, data.replace(b"\r\n", b"\n"))
        if path in self._changes:
            return self._changes[path] in texts
        if not self.has(path):
            return False
        blob = self._stored[path].entry.blob
        return blob in [blob_id(text, len(blob)) for text in texts]

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a file; None if there is none, or if it is too large for any input."""
        return dict(self._read([path], self._sizes([path]))).get(path) if self.has(path) else None

    def write(self, paths: Sequence[str], root: Path) -> None:
        """Write files below a folder; one that is too large for any input takes no space, and readers refuse it."""
        limits, sizes = self.repository.limits, self._sizes(paths)
        large = {path: size for path, size in sizes.items() if size > largest_input(limits)}
        if sum(sizes.values()) - sum(large.values()) > limits.branch_bytes:
            raise LimitExceeded(f"the commit in {self.repository.where} is too large", "branch_bytes", limits)
        with writing(_FILES):
            for path, data in self._read(paths, sizes):
                self._write(root, path, data)
        for path, size in large.items():
            write_hole(root / path, size)

    def _write(self, root: Path, path: str, data: bytes) -> None:
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        # A hostile tree can have a link and a folder of one name.
        if not target.parent.resolve().is_relative_to(root.resolve()) or target.is_symlink():
            return
        if self.is_link(path):
            target.symlink_to(os.fsdecode(data))
        else:
            target.write_bytes(data)

    def _read(self, paths: Sequence[str], sizes: Mapping[str, int]) -> Iterator[tuple[str, bytes]]:
        changed = {path: data for path in paths if (data := self._changes.get(path)) is not None}
        yield from changed.items()
        most = largest_input(self.repository.limits)
        stored = {path: self._stored[path] for path in paths if sizes.get(path, most + 1) <= most}
        for repository, blobs in _by_repository(stored.values()):
            contents = read_objects(repository, blobs)
            for path, (owner, entry) in stored.items():
                if owner is repository:
                    yield path, contents[entry.blob]

    def _sizes(self, paths: Iterable[str]) -> dict[str, int]:
        """Return the size of every file that comes from the commit."""
        stored = {path: self._stored[path] for path in paths if path not in self._changes}
        found: dict[str, int] = {}
        for repository, blobs in _by_repository(stored.values()):
            sizes = read_sizes(repository, blobs)
            found |= {
                path: sizes[one.entry.blob] for path, one in stored.items() if one.repository is repository
            }
        return found

    def _add(self, repository: Repository, commit: str, prefix: str) -> None:
        for path, entry in list_tree(repository, commit).items():
            if _NO_NAMES.isdisjoint(path.split("/")):
                kind = self._submodules if entry.mode == _SUBMODULE else self._stored
                kind[prefix + path] = _Stored(repository, entry)
        self._all_submodules |= self._submodules.keys()

    def _enter_submodules(self, path: str) -> None:
        """Read the submodules that a path is in, or that are in it; one that is not checked out has no files."""
        while found := [name for name in self._submodules if _overlap(f"{name}/", path)]:
            for name in found:
                there = Repository(self.repository.root / name, self.repository.limits)
                commit = self._submodules.pop(name).entry.blob
                if (there.root / ".git").exists() and resolve_commit(there, commit):
                    self._add(there, commit, f"{name}/")


def _overlap(submodule: str, path: str) -> bool:
    return path.startswith(submodule) or ((path == "" or path.endswith("/")) and submodule.startswith(path))


def _by_repository(stored: Iterable[_Stored]) -> list[tuple[Repository, list[str]]]:
    """Return repositories, each with the blobs that are wanted of it."""
    found: dict[Path, tuple[Repository, list[str]]] = {}
    for repository, entry in stored:
        found.setdefault(repository.root, (repository, []))[1].append(entry.blob)
    return list(found.values())
