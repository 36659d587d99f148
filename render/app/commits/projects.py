"""A folder that is committed: its lock, what that changes on a branch, and the folders it was made from."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from render.errors import RenderError
from render.git.repository import Repository
from render.git.revisions import read_file
from render.inputs.folders import is_linked, reads_elsewhere
from render.limits import Limits
from render.lock.model import Lock
from render.lock.text.parse import parse_lock
from render.system.boundary import real_path
from render.system.files import LOCK_FILE
from render.views.commits.commit_message import LockChange


@dataclass(frozen=True, slots=True)
class Project:
    """A folder, its path from the root of a repository, and the lock to commit."""

    folder: Path
    prefix: str
    data: bytes
    lock: Lock

    @property
    def path(self) -> str:
        """The lock's path from the root."""
        return self.prefix + LOCK_FILE

    def reads_everything(self, repository: Repository) -> bool:
        """Return whether the lock may have been made from any file of the repository."""
        linked = (is_linked(self.folder, Path(used)) for used in self.used_folders())
        return reads_elsewhere(self.folder, repository.limits) or any(linked)

    def compare(self, repository: Repository, start: str | None) -> LockChange:
        """Return what the lock changes on top of a commit."""
        before = read_file(repository, start, self.path) if start else None
        lock = self.lock if before == self.data else _parse_before(before, repository.limits)
        return LockChange(self.prefix.rstrip("/") or ".", lock, self.lock)

    def inputs(self, repository: Repository) -> Iterator[str]:
        """Yield the folders that the lock was made from, by their paths from the root."""
        yield self.prefix
        for used in self.used_folders():
            path = real_path(self.folder / used)
            if path.is_relative_to(repository.root):
                inside = path.relative_to(repository.root).as_posix()
                yield "" if inside == "." else f"{inside}/"

    def used_folders(self) -> list[str]:
        """Return the folders that provide packages of the lock, as seen from its own."""
        return sorted({provided.folder for provided in self.lock.provided.values()})


def make_project(folder: Path, prefix: str, data: bytes, limits: Limits) -> Project:
    """Return a folder with the text of its lock."""
    # Git may have changed the line ends when it wrote the file; ours are always the same.
    text = data.replace(b"\r\n", b"\n")
    return Project(folder, prefix, text, parse_lock(text, limits, place=str(folder / LOCK_FILE)))


def _parse_before(data: bytes | None, limits: Limits) -> Lock:
    try:
        return parse_lock(data, limits, place=LOCK_FILE) if data is not None else Lock()
    except RenderError:
        # The committed file is no lock, so everything is new.
        return Lock()
