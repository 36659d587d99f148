"""What is committed, to which branch, and the commit that has it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from render.git.names import Author
from render.git.remotes import Remote
from render.git.revisions import FileEntries
from render.system.files import LOCK_FILE


@dataclass(frozen=True, slots=True)
class InputFiles:
    """The files of a repository that a lock was made from: those directly in some folders, or possibly all but locks."""

    # Paths from the root: "", or "shop/".
    folders: frozenset[str] = frozenset()
    everything: bool = False

    def includes(self, path: str) -> bool:
        """Return whether a file may be an input."""
        folder, _, name = path.rpartition("/")
        own = (f"{folder}/" if folder else "") in self.folders
        return own or (self.everything and name != LOCK_FILE)


@dataclass(frozen=True, slots=True)
class Change:
    """Files to commit together, by their paths from the root, and their inputs."""

    files: Mapping[str, bytes]
    message: str
    author: Author | None = None
    sign: bool = False
    made_from: InputFiles = InputFiles()
    # Those inputs that are committed as well; None removes one.
    inputs: Mapping[str, bytes | None] = field(default_factory=dict)
    # What to do where the branch has moved and its inputs differ.
    again: str = "bring this clone up to date, then lock again"

    @property
    def paths(self) -> list[str]:
        """The paths of all files to commit."""
        return sorted({*self.files, *self.inputs})

    def depends_on(self, path: str) -> bool:
        """Return whether a change of this file may change the files to commit."""
        return path not in self.files and path not in self.inputs and self.made_from.includes(path)


@dataclass(frozen=True, slots=True)
class CommitTarget:
    """A branch to commit to."""

    branch: str
    # The parent of the new commit; the branch's commit, if it exists; and the `.git` folder if it is checked out.
    start: str | None
    at: str | None
    git_folder: Path | None = None
    # The remote to push to, and whether the user's pre-push hook is run.
    remote: Remote | None = None
    hooks: bool = False
    # Whether the new commit replaces all that the branch has on top of its base; and its commit on the server.
    again: bool = False
    server: str | None = None


@dataclass(frozen=True, slots=True)
class Landed:
    """The commit that has the files now."""

    commit: str
    # Its parent, and the index entries of the files.
    parent: str | None
    entries: FileEntries
    # Whether the commit was made now; otherwise it already had the files.
    new: bool
    pushed: bool = False
    # How many other local commits were pushed with it.
    along: int = 0
    # Whether the server's branch is ahead of the local one.
    behind: bool = False
