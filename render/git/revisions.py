"""Reading commits: files at a revision, the last change of a file, and the size of a whole commit."""

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from render.errors import InvalidInput
from render.git.failures import LacksObjects
from render.git.repository import Repository
from render.limits import LimitExceeded, Limits
from render.system.boundary import real_path

# The characters of git-check-ref-format(1) and the suffixes of gitrevisions(7), without a leading dash.
_REVISION = re.compile(r"(?!-)[^\x00-\x20\x7f:?*\[\\]{1,255}")
_DEFAULTS = Limits()
_NO_NAMES = ("", ".", "..")
_PLAIN_FILES = ("100644", "100755", "100664")


class UnknownRevision(InvalidInput):
    """A revision that names no commit of this repository."""

    def __init__(self, revision: str, why: str) -> None:
        super().__init__(f"{revision} is not a revision", why=why, next="name a branch, a tag or a commit")


class FileEntry(NamedTuple):
    """A file in a commit or an index: its mode, and the object with its bytes."""

    mode: str
    blob: str


# By their paths from the root.
FileEntries: TypeAlias = Mapping[str, FileEntry]


def read_at(folder: Path, revision: str, name: str, *, limits: Limits = _DEFAULTS) -> bytes | None:
    """Return a file of a folder at a revision, or None if it did not exist."""
    here = Repository(folder, limits)
    commit = find_commit(here, revision)
    return read_file(here, commit, name) if commit and _is_name(name) else None


def has_at_head(folder: Path, name: str, *, limits: Limits = _DEFAULTS) -> bool:
    """Return whether the current commit has a file in this folder; False outside of a repository."""
    if not _in_repository(folder):
        return False
    here = Repository(folder, limits)
    commit = find_commit(here, "HEAD")
    return commit is not None and _is_name(name) and find_file(here, commit, name) is not None


def find_commit(repository: Repository, revision: str) -> str | None:
    """Return the commit of a revision; None for HEAD before the first commit."""
    if not _REVISION.fullmatch(revision):
        raise UnknownRevision(revision, "it has characters that no revision has")
    found = resolve_commit(repository, revision)
    if found is None and revision != "HEAD":
        raise UnknownRevision(revision, f"the repository of {repository.where} has no such commit")
    return found


def resolve_commit(repository: Repository, name: str) -> str | None:
    """Return the commit of a name, which must be checked before, or None."""
    command = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    try:
        answer = repository.ask(*command)
    except LacksObjects:
        # A partial clone knows of the commit, and would have fetched it.
        return None
    return answer.output.decode().strip() if answer.status == 0 else None


def last_touch(repository: Repository, tip: str, path: str) -> str | None:
    """Return the last commit that changed a file, or None if it is not in the local history."""
    return repository.run("rev-list", "--max-count=1", tip, "--", path).decode().strip() or None


def read_message(repository: Repository, commit: str) -> str:
    """Return the message of a commit."""
    _, _, message = repository.run("cat-file", "commit", commit).decode(errors="replace").partition("\n\n")
    return message


class LoggedCommit(NamedTuple):
    """A commit, its parents, its author's name and its message."""

    id: str
    parents: tuple[str, ...]
    author: str
    message: str

    @property
    def subject(self) -> str:
        """The first line of the message."""
        return self.message.partition("\n")[0]


def list_commits(repository: Repository, base: str | None, tip: str) -> list[LoggedCommit]:
    """Return the commits of a branch that its base does not have, the newest first; one more than the limit at most."""
    most = repository.limits.branch_commits + 1
    without = [f"^{base}"] if base else []
    command = ("rev-list", "--topo-order", f"--max-count={most}", "--end-of-options", tip, *without)
    ids = repository.run(*command).decode().split()
    objects = read_objects(repository, ids) if ids else {}
    return [_parse_commit(one, objects[one]) for one in ids]


def _parse_commit(name: str, data: bytes) -> LoggedCommit:
    head, _, message = data.decode(errors="replace").partition("\n\n")
    lines = [line.partition(" ") for line in head.splitlines()]
    parents = tuple(value for key, _, value in lines if key == "parent")
    author = next((value for key, _, value in lines if key == "author"), "")
    return LoggedCommit(name, parents, author.partition(" <")[0], message)


def is_ancestor(repository: Repository, old: str, new: str) -> bool:
    """Return whether a commit has another one in its history, or is the same."""
    return repository.ask("merge-base", "--is-ancestor", old, new).status == 0


def read_file(repository: Repository, commit: str, path: str) -> bytes | None:
    """Return a plain file of a commit, or None if there is none."""
    found = find_file(repository, commit, path)
    if found is None:
        return None
    size = int(repository.run("cat-file", "-s", found.blob))
    if size > repository.limits.lock_bytes:
        what = f"{path} of {repository.where} is too large"
        raise LimitExceeded(what, "lock_bytes", repository.limits, found=f"{size:,} bytes")
    return repository.run("cat-file", "blob", found.blob)


def find_file(repository: Repository, commit: str, path: str) -> FileEntry | None:
    """Return a plain file of a commit, without reading it."""
    return find_files(repository, commit, [path]).get(path)


def find_files(repository: Repository, commit: str, paths: Sequence[str]) -> dict[str, FileEntry]:
    """Return the plain files of a commit at these paths, and directly in folders among them."""
    found = _parse_listing(repository.run("ls-tree", "-z", commit, "--", *paths))
    return {path: file for path, file in found.items() if file.mode in _PLAIN_FILES}


def list_tree(repository: Repository, commit: str) -> dict[str, FileEntry]:
    """Return all files, links and submodules of a commit."""
    return _parse_listing(repository.run("ls-tree", "-r", "-z", commit))


def _parse_listing(output: bytes) -> dict[str, FileEntry]:
    # Without sizes: those of objects that a partial clone lacks are unknown.
    found: dict[str, FileEntry] = {}
    for line in output.split(b"\0")[:-1]:
        facts, _, path = line.partition(b"\t")
        mode, _, blob = facts.decode().split()
        found[os.fsdecode(path)] = FileEntry(mode, blob)
    return found


def _is_name(name: str) -> bool:
    return name not in _NO_NAMES and "/" not in name


def _in_repository(folder: Path) -> bool:
    here = real_path(folder)
    return any(_has_content(parent / ".git") for parent in (here, *here.parents))


def _has_content(path: Path) -> bool:
    # Argo CD can be configured to leave out `.git/*`; the empty folder remains.
    if path.is_dir() and os.access(path, os.R_OK):
        return any(path.iterdir())
    return path.exists()


_SHA256_DIGITS = 64


def blob_id(data: bytes, digits: int) -> str:
    """Return git's blob id of these bytes."""
    whole = b"blob %d\0" % len(data) + data
    made = hashlib.sha256(whole) if digits == _SHA256_DIGITS else hashlib.sha1(whole, usedforsecurity=False)
    return made.hexdigest()


_FOLDER = b"40000"


class _TreeEntry(NamedTuple):
    """A file or a folder in a tree."""

    mode: bytes
    id: str


def require_small(repository: Repository, commit: str, what: str) -> None:
    """Raise if a commit has more files, or more bytes in them, than the limits allow us to write."""
    limits = repository.limits
    listed = _list_objects(repository, commit)
    # Every file is listed at least once, besides the tree itself.
    if len(listed) > limits.branch_files + 1:
        raise LimitExceeded(f"{what} has too many files", "branch_files", limits)
    # The sizes of missing blobs are unknown until they are fetched.
    present = b"".join(name + b"\n" for name in listed if not name.startswith(b"?"))
    facts = [line.split() for line in repository.run("cat-file", "--batch-check", data=present).splitlines()]
    sizes = {name.decode(): int(size) for name, kind, size in facts if kind == b"blob"}
    trees = _read_trees(repository, [name for name, kind, _ in facts if kind == b"tree"])
    files, data = 0, 0
    # Level by level, with counts: a few small trees nested in each other can stand for billions of files.
    level = Counter(name.decode() for name, _, _ in facts[:1])
    while level:
        below: Counter[str] = Counter()
        for tree, times in level.items():
            for entry in trees[tree]:
                files += times
                data += times * sizes.get(entry.id, 0)
                if entry.mode == _FOLDER:
                    below[entry.id] += times
        if files > limits.branch_files:
            raise LimitExceeded(f"{what} has too many files", "branch_files", limits)
        if data > limits.branch_bytes:
            raise LimitExceeded(f"{what} is too large", "branch_bytes", limits)
        level = below


def _list_objects(repository: Repository, commit: str) -> list[bytes]:
    """Return the ids of a commit's trees and blobs; `?` marks those that a partial clone lacks."""
    command = ("rev-list", "--objects", "--no-object-names", "--missing=print", f"{commit}^{{tree}}", "--")
    return repository.run(*command).splitlines()


def find_missing(repository: Repository, commit: str) -> set[str]:
    """Return the blobs of a commit that a partial clone lacks."""
    return {name[1:].decode() for name in _list_objects(repository, commit) if name.startswith(b"?")}


def read_sizes(repository: Repository, blobs: Iterable[str]) -> dict[str, int]:
    """Return the sizes of blobs; a partial clone must have all of them."""
    data = "".join(f"{blob}\n" for blob in sorted(blobs)).encode()
    lines = [
        line.split() for line in repository.run("cat-file", "--batch-check", data=data).decode().splitlines()
    ]
    if any(line[-1] == "missing" for line in lines):
        raise LacksObjects(repository.where)
    return {name: int(size) for name, _, size in lines}


def read_objects(repository: Repository, ids: Iterable[str]) -> dict[str, bytes]:
    """Return the bytes of objects; their sizes must be known to be small."""
    names = sorted(set(ids))
    output = repository.run("cat-file", "--batch", data="".join(f"{name}\n" for name in names).encode())
    found: dict[str, bytes] = {}
    start = 0
    for name in names:
        end = output.index(b"\n", start)
        size = int(output[start:end].split()[-1])
        found[name] = output[end + 1 : end + 1 + size]
        start = end + 1 + size + 1
    return found


def _read_trees(repository: Repository, names: list[bytes]) -> dict[str, list[_TreeEntry]]:
    output = repository.run("cat-file", "--batch", data=b"".join(name + b"\n" for name in names))
    trees: dict[str, list[_TreeEntry]] = {}
    start = 0
    while start < len(output):
        end = output.index(b"\n", start)
        name, _, size = output[start:end].split()
        start = end + 1 + int(size)
        trees[name.decode()] = list(_parse_tree(output[end + 1 : start], len(name) // 2))
        start += 1
    return trees


def _parse_tree(data: bytes, id_bytes: int) -> Iterator[_TreeEntry]:
    """Yield the entries of a tree; each is a mode, a name that ends with a zero byte, and an id."""
    start = 0
    while start < len(data):
        end = data.index(b"\0", start) + 1
        mode = data[start : data.index(b" ", start)]
        start = end + id_bytes
        yield _TreeEntry(mode, data[end:start].hex())
