"""Git, read: what a file was at a revision, and who changed it."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from render.errors import InvalidInput
from render.git.repository import Repository
from render.limits import LimitExceeded, Limits

# git-check-ref-format(1), and the suffixes of gitrevisions(7); no text that could be an option.
_REVISION = re.compile(r"(?!-)[^\x00-\x20\x7f:?*\[\\]{1,255}")
_DEFAULTS = Limits()
_NO_NAMES = ("", ".", "..")
_PLAIN_FILES = ("100644", "100755", "100664")


class UnknownRevision(InvalidInput):
    """A name that is no commit of this repository."""

    def __init__(self, revision: str, why: str) -> None:
        super().__init__(f"{revision} is not a revision", why=why, next="name a branch, a tag or a commit")


class FileEntry(NamedTuple):
    """A file in a commit: the object with its bytes, how many those are, and its mode."""

    blob: str
    size: int
    mode: str


def read_at(folder: Path, revision: str, name: str, *, limits: Limits = _DEFAULTS) -> bytes | None:
    """Return a file of a folder as it was at a revision, or nothing if it was not there."""
    here = Repository(folder, limits)
    commit = find_commit(here, revision)
    return read_file(here, commit, name) if commit and _is_name(name) else None


def has_at_head(folder: Path, name: str, *, limits: Limits = _DEFAULTS) -> bool:
    """Tell whether the current commit holds a file in this folder; outside of a repository none does."""
    if not _in_repository(folder):
        return False
    # It may have come to the plugin with files that somebody uploaded.
    here = Repository(folder, limits, offline=True)
    commit = find_commit(here, "HEAD")
    return commit is not None and _is_name(name) and find_file(here, commit, name) is not None


def find_commit(repository: Repository, revision: str) -> str | None:
    """Return the commit that a revision names, or nothing for the HEAD of a branch without a first commit."""
    if not _REVISION.fullmatch(revision):
        raise UnknownRevision(revision, "it is not written like one")
    found = resolve_commit(repository, revision)
    if found is None and revision != "HEAD":
        raise UnknownRevision(revision, f"the repository of {repository.where} has no such commit")
    return found


def resolve_commit(repository: Repository, name: str) -> str | None:
    """Return the commit of a name that was checked, if there is one."""
    command = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    answer = repository.ask(*command)
    return answer.output.decode().strip() if answer.status == 0 else None


def last_touch(repository: Repository, tip: str, path: str) -> str | None:
    """Return the last commit that changed a file, as far as its history is here."""
    return repository.run("rev-list", "--max-count=1", tip, "--", path).decode().strip() or None


def read_message(repository: Repository, commit: str) -> str:
    """Return what a commit says about itself."""
    _, _, message = repository.run("cat-file", "commit", commit).decode(errors="replace").partition("\n\n")
    return message


def read_file(repository: Repository, commit: str, path: str) -> bytes | None:
    """Return a file as it is in a commit, or nothing if there is no plain file."""
    found = find_file(repository, commit, path)
    if found is None:
        return None
    if found.size > repository.limits.lock_bytes:
        what = f"{path} of {repository.where} is too large"
        raise LimitExceeded(what, "lock_bytes", repository.limits, found=f"{found.size:,} bytes")
    return repository.run("cat-file", "blob", found.blob)


def find_file(repository: Repository, commit: str, path: str) -> FileEntry | None:
    """Return where a commit has a plain file."""
    return find_files(repository, commit, [path]).get(path)


def find_files(repository: Repository, commit: str, paths: Sequence[str]) -> dict[str, FileEntry]:
    """Return where a commit has plain files, of those paths or right below the folders among them."""
    found: dict[str, FileEntry] = {}
    for line in repository.run("ls-tree", "-l", "-z", commit, "--", *paths).split(b"\0")[:-1]:
        facts, _, path = line.partition(b"\t")
        mode, _, blob, size = facts.decode().split()
        if mode in _PLAIN_FILES:
            found[os.fsdecode(path)] = FileEntry(blob, int(size), mode)
    return found


def _is_name(name: str) -> bool:
    return name not in _NO_NAMES and "/" not in name


def _in_repository(folder: Path) -> bool:
    here = folder.resolve()
    return any(_is_something(parent / ".git") for parent in (here, *here.parents))


def _is_something(path: Path) -> bool:
    # Where Argo CD is told to leave out `.git/*`, the folder itself stays.
    if path.is_dir() and os.access(path, os.R_OK):
        return any(path.iterdir())
    return path.exists()
