"""Where versions are promoted from: a folder, a lock file, or a folder at a Git revision."""

import os
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from render.app.commits.clones import as_in_clone
from render.app.commits.projects import Project
from render.app.resolving.resolver import Resolver
from render.commands import as_path, xplock
from render.errors import InvalidInput, RenderError, Unsatisfiable, in_one_line
from render.folders.provided import compare_provided
from render.git.failures import GitMissing, NotARepository
from render.git.repository import FolderInRepository, Repository, locate_folder
from render.git.revisions import blob_id, find_commit, find_file, read_file
from render.git.snapshots import Snapshot
from render.inputs.projects import read_inputs
from render.limits import LimitExceeded, Limits
from render.lock.freshness import MissingLock, StaleLock, check_closure, find_staleness
from render.lock.model import Lock
from render.lock.text.file import read_lock_bytes
from render.lock.text.parse import ConflictedLock, DoubledLock, parse_lock
from render.references import Digest
from render.registry.oci import digest_of
from render.system.boundary import real_path
from render.system.files import LOCK_FILE, is_file, is_folder, read_plain

_SHOWN_DIGITS = 7


class NotPromotable(Unsatisfiable):
    """A lock whose versions are not promoted: it is not what its folder asks for, or it is not decided."""


class UnknownOrigin(InvalidInput):
    """A name that is no folder, no lock and no folder at a revision."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name!r} is nothing that versions can be promoted from",
            why="there is no folder and no file of that name",
            next="name a folder, a lock file, or a revision and a folder of it: main:clusters/staging",
        )


@dataclass(frozen=True, slots=True)
class Origin:
    """A lock whose versions are promoted."""

    # As the user wrote it.
    name: str
    text: bytes
    lock: Lock
    # The path of the folder or of the file, if it is on disk.
    path: Path | None = None
    # The commit that has this lock, if one is known, and the path in it that a revision was named with.
    commit: str = ""
    inside: str = ""

    @property
    def digest(self) -> Digest:
        """The digest of the lock's text."""
        return digest_of(self.text)

    @property
    def trailer(self) -> str:
        """What the message of a commit says: the commit that has this lock, or else its digest, and the name."""
        return f"{self.commit or self.digest} {self.inside or self.name}"

    def __str__(self) -> str:
        name = self.inside or self.name
        return f"{name}@{self.commit[:_SHOWN_DIGITS]}" if self.commit else name

    def seen_from(self, folder: Path, limits: Limits) -> str:
        """Return what a lock in a folder records: no path of this machine, and no name that may move."""
        if self.path is None:
            return f"{self.commit}:{self.inside}"
        here, there = real_path(folder), real_path(self.path)
        root = _root_of(folder, limits)
        together = there.is_relative_to(root) if root else there.parent == here.parent
        return posixpath.relpath(there, here) if together else there.name


def read_origin(name: str, start: Path, resolver: Resolver, environ: Mapping[str, str]) -> Origin:
    """Read the lock that a name means; raise for one that is out of date or holds a merge conflict."""
    path = start / name
    try:
        if is_folder(path):
            return _read_folder(name, path, resolver)
        if is_file(path):
            return _read_file(name, path, resolver.limits)
        revision, colon, inside = name.partition(":")
        if colon and revision:
            return _read_revision(name, revision, inside, start, resolver.limits, environ)
    except (MissingLock, StaleLock, ConflictedLock, DoubledLock) as error:
        raise NotPromotable(
            f"the versions of {name} are not promoted",
            why=in_one_line(error, advice=False),
            next=error.next,
        ) from None
    raise UnknownOrigin(name)


def _read_folder(name: str, path: Path, resolver: Resolver) -> Origin:
    data = read_lock_bytes(path, resolver.limits)
    if data is None:
        raise MissingLock(path)
    lock = parse_lock(data, resolver.limits, place=str(path / LOCK_FILE))
    inputs = resolver.read(path).inputs
    why = find_staleness(lock, inputs)
    around = resolver.neighbours(resolver.read(path)).after_moves(inputs.settings.moves, lock)
    why = why or compare_provided(lock, around)
    if why:
        raise StaleLock(str(path / LOCK_FILE), list(why))
    return Origin(name, data, lock, path, _commit_of(path, data, resolver.limits))


def _read_file(name: str, path: Path, limits: Limits) -> Origin:
    data = read_plain(path, limits.lock_bytes)
    if data is None:
        raise LimitExceeded(f"{path} is too large", "lock_bytes", limits)
    return Origin(name, data, _consistent(data, str(path), limits), path)


def _consistent(data: bytes, place: str, limits: Limits) -> Lock:
    lock = parse_lock(data, limits, place=place)
    problems = check_closure(lock)
    if problems:
        raise StaleLock(place, problems)
    return lock


def _read_revision(
    name: str, revision: str, inside: str, start: Path, limits: Limits, environ: Mapping[str, str]
) -> Origin:
    here = locate_folder(start, limits)
    commit = find_commit(here.repository, revision)
    path = _from_root(inside, here)
    prefix = "" if path == "." else f"{path}/"
    data = read_file(here.repository, commit, f"{prefix}{LOCK_FILE}") if commit else None
    if data is None or commit is None:
        raise NotPromotable(
            f"the versions of {name} are not promoted",
            why=f"{revision} has no {LOCK_FILE} in {path}",
            next="name a revision that has one, and the folder from the top of the repository",
        )
    lock = _consistent(data, f"{name}/{LOCK_FILE}", limits)
    why = _staleness_at(here.repository, commit, prefix, data, lock, environ)
    if why:
        raise NotPromotable(
            f"the versions of {name} are not promoted",
            why=[f"its {LOCK_FILE} is out of date", *why],
            next=f"lock it there first: {xplock('lock', folder=as_path(path))}",
        )
    return Origin(name, data, lock, None, commit, path)


def _from_root(inside: str, here: FolderInRepository) -> str:
    """Return a path of a revision from the top of the repository, as git reads it."""
    relative = inside.startswith(("./", "../")) or inside in (".", "..")
    path = posixpath.normpath(posixpath.join(here.prefix if relative else "", inside or "."))
    if path.startswith(("../", "/")) or path == "..":
        raise InvalidInput(
            f"{inside!r} leads out of the repository",
            why="a folder of a revision is named from the top of the repository, or from here with ./ before it",
            next="correct it",
        )
    return path


def _staleness_at(
    repository: Repository, commit: str, prefix: str, data: bytes, lock: Lock, environ: Mapping[str, str]
) -> list[str]:
    """Return why a lock does not answer the files that its commit has beside it."""
    snapshot = Snapshot(repository, commit)
    project = Project(Path(prefix or "."), prefix, data, lock)
    with as_in_clone(project, snapshot) as clone:
        try:
            return find_staleness(lock, read_inputs(clone.folder, repository.limits, environ))
        except RenderError as error:
            return [clone.as_here(in_one_line(error, advice=False))]


def _commit_of(folder: Path, data: bytes, limits: Limits) -> str:
    """Return the current commit if it has exactly this lock; empty if not, or outside of a repository."""
    try:
        here = locate_folder(folder, limits)
        commit = find_commit(here.repository, "HEAD")
        found = find_file(here.repository, commit, here.prefix + LOCK_FILE) if commit else None
    except (NotARepository, GitMissing):
        return ""
    return commit if commit and found and found.blob == blob_id(data, len(found.blob)) else ""


def _root_of(folder: Path, limits: Limits) -> Path | None:
    try:
        return Path(os.path.realpath(locate_folder(folder, limits).repository.root))
    except (NotARepository, GitMissing):
        return None
