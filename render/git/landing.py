"""Files → git: committed on top of a branch and pushed, each only if nobody else was faster.

Nothing here needs a work tree: the branch of a bare repository, or that of a server by way of a temporary one, is
committed to in the same way. With a push the server comes first, so that a push that fails has changed nothing.
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from render.errors import Differs, RenderError
from render.git.branches import (
    current_branch,
    find_branch,
    move_branch,
    put_into_users_index,
    require_index,
    restore_users_index,
)
from render.git.failures import GitFailed, RepositoryLocked
from render.git.names import Author
from render.git.objects import (
    Entries,
    changed_paths,
    count_commits,
    make_entries,
    tree_of,
    write_blob,
    write_commit,
    write_tree,
)
from render.git.remotes import PushRefused, Remote, fetch_tip, push_commit
from render.git.repository import Repository
from render.git.revisions import find_files
from render.limits import Limits, format_amount, setting
from render.system.files import LOCK_FILE
from render.texts import first_lines

Done = TypeVar("Done")

_FIRST_SECONDS, _MOST_SECONDS = 0.05, 0.5
# How often a file that another git holds is waited for.
_PATIENCE = 6


def attempts(repository: Repository, most: int) -> Iterator[int]:
    """Count tries, with a wait before each but the first: a random one, so that rivals do not meet again."""
    for number in range(most):
        if number:
            _pause(repository, number)
        yield number


def patiently(repository: Repository, act: Callable[[], Done]) -> Done:
    """Do what another git may hold up for a moment; what one that was killed left behind is named in the end."""
    for number in range(_PATIENCE):
        try:
            return act()
        except RepositoryLocked:
            _pause(repository, number)
    return act()


def _pause(repository: Repository, number: int) -> None:
    longest = min(_FIRST_SECONDS * 2**number, _MOST_SECONDS)
    seconds = random.uniform(0, longest)  # noqa: S311 - nothing secret depends on it
    if repository.deadline is None:
        time.sleep(seconds)
    else:
        repository.deadline.wait(seconds, "git")


_SHOWN_PATHS = 5


class MovedOn(Differs):
    """A branch on which a lock, or what it was made from, is not what it is here."""

    def __init__(self, branch: str, paths: list[str], *, next: str) -> None:
        lines = [f"{path} is another one there" for path in paths]
        super().__init__(
            f"branch {branch} is not what the lock was made for",
            why=first_lines(lines, _SHOWN_PATHS),
            next=next,
        )


class LostRace(RenderError):
    """A branch that others moved every time."""

    def __init__(self, branch: str, limit: str, limits: Limits) -> None:
        super().__init__(
            f"others moved branch {branch} every time, and nothing was committed to it",
            why=f"the limit is {format_amount(limit, getattr(limits, limit))}",
            next=f"try again when it is calmer, or raise the limit with {setting(limit)}",
        )


@dataclass(frozen=True, slots=True)
class Reads:
    """What is read of a repository: the own files of folders, or everything but locks might be."""

    # By their paths from the root: "", or "shop/".
    folders: frozenset[str] = frozenset()
    everything: bool = False

    def has(self, path: str) -> bool:
        """Tell whether a file may have been read."""
        folder, _, name = path.rpartition("/")
        own = (f"{folder}/" if folder else "") in self.folders
        return own or (self.everything and name != LOCK_FILE)


@dataclass(frozen=True, slots=True)
class Change:
    """Files that are committed together, by their paths from the root, and what they were made from."""

    files: Mapping[str, bytes]
    message: str
    author: Author | None = None
    sign: bool = False
    made_from: Reads = Reads()

    def depends_on(self, path: str) -> bool:
        """Tell whether the files may have to be others if this one is another."""
        return path not in self.files and self.made_from.has(path)


@dataclass(frozen=True, slots=True)
class Target:
    """A branch to commit to."""

    branch: str
    # The commit to begin with; where the branch is, if it exists; and the git folder of the work tree that is on it.
    start: str | None
    at: str | None
    git_folder: Path | None = None
    # Where it is pushed to, and whether the user's own hook is asked about that.
    remote: Remote | None = None
    hooks: bool = False


@dataclass(frozen=True, slots=True)
class Landed:
    """Where files are now."""

    commit: str
    # The commit below it, and what an index holds of the files.
    parent: str | None
    entries: Entries
    # Whether the commit was made for them; otherwise it had them already.
    new: bool
    pushed: bool = False
    # How many other commits a push took along.
    along: int = 0
    # Whether the server has more than the branch here.
    behind: bool = False


def land(repository: Repository, change: Change, target: Target) -> Landed:
    """Commit files to a branch, and push it first if it has a remote."""
    if target.remote is None:
        return commit_change(repository, change, target)
    folder = target.git_folder
    if folder is not None:
        patiently(repository, lambda: require_index(repository, folder))
    landed = push_change(repository, change, target.remote, target.start, hooks=target.hooks)
    return _bring_here(repository, target, landed)


def commit_change(repository: Repository, change: Change, target: Target) -> Landed:
    """Commit files to a branch of this repository."""
    blobs = _write_blobs(repository, change)
    tip, at = target.start, target.at
    for _ in attempts(repository, repository.limits.commit_attempts):
        landed = _build(repository, change, tip, blobs)
        if not landed.new or _advance(repository, target, landed, at):
            return landed
        at = find_branch(repository, target.branch)
        tip = at or target.start
        _refuse_changes(repository, change, target.branch, target.start, tip, blobs)
    raise LostRace(target.branch, "commit_attempts", repository.limits)


def push_change(
    repository: Repository,
    change: Change,
    remote: Remote,
    start: str | None,
    *,
    hooks: bool = False,
    limit: str = "push_attempts",
) -> Landed:
    """Commit files on top of what a server has, and push that; no branch of this repository is moved."""
    blobs = _write_blobs(repository, change)
    tip, stuck = start, 0
    for _ in attempts(repository, getattr(repository.limits, limit)):
        landed = _build(repository, change, tip, blobs)
        if not landed.new and tip != start:
            return landed
        answer = push_commit(repository, remote, landed.commit, hooks=hooks)
        if answer.taken:
            along = count_commits(repository, answer.before, landed.commit) if answer.before else 0
            return replace(landed, pushed=answer.moved, along=max(along - landed.new, 0))
        there = fetch_tip(repository, remote, known=tip)
        stuck = stuck + 1 if there in (None, tip) else 0
        # A lock file that a killed git left on the server stays, so a race is believed only so often.
        if stuck and (not answer.race or stuck >= repository.limits.push_attempts):
            raise PushRefused(repository, remote, answer.why)
        tip = there or tip
        _refuse_changes(repository, change, remote.branch, start, tip, blobs)
    raise LostRace(remote.branch, limit, repository.limits)


def refuse_other_inputs(
    repository: Repository, change: Change, branch: str, here: str | None, there: str
) -> None:
    """Refuse a branch on which something else is asked for than here."""
    other = sorted(path for path in changed_paths(repository, here, there) if change.depends_on(path))
    if other:
        raise MovedOn(branch, other, next="bring that branch up to date, or name a new one")


def _refuse_changes(
    repository: Repository,
    change: Change,
    branch: str,
    base: str | None,
    tip: str | None,
    blobs: Mapping[str, str],
) -> None:
    """Refuse a branch that moved on, if the files or what they were made from are others there."""
    if tip is None or tip == base:
        return
    there = find_files(repository, tip, list(blobs))
    other = {path for path, blob in blobs.items() if path not in there or there[path].blob != blob}
    if not other:
        # Somebody else came to the same answer.
        return
    changed = changed_paths(repository, base, tip)
    paths = sorted(path for path in changed if path in other or change.depends_on(path))
    if paths:
        advice = "bring this clone up to date (git pull), then run `xplock lock` again"
        raise MovedOn(branch, paths, next=advice)


def _write_blobs(repository: Repository, change: Change) -> dict[str, str]:
    return {path: write_blob(repository, data) for path, data in sorted(change.files.items())}


def _build(repository: Repository, change: Change, tip: str | None, blobs: Mapping[str, str]) -> Landed:
    """Make the commit on top of another one, if the files are not in that already."""
    entries = make_entries(repository, tip, blobs)
    tree = write_tree(repository, tip, entries)
    if tip is not None and tree == tree_of(repository, tip):
        return Landed(tip, tip, entries, new=False)
    commit = write_commit(repository, tree, tip, change.message, author=change.author, sign=change.sign)
    return Landed(commit, tip, entries, new=True)


def _bring_here(repository: Repository, target: Target, landed: Landed) -> Landed:
    """Move the branch here to what was pushed, if nothing else has to come along."""
    if landed.commit == target.at:
        return landed
    # A branch that is not here yet may begin anywhere, unless the work tree is on it, where the files are missing.
    begins = target.at is None and target.git_folder is None
    if not landed.new or not (begins or target.at == landed.parent):
        return replace(landed, behind=True)
    try:
        moved = _advance(repository, target, landed, target.at)
    except GitFailed:
        # The commit is safe where it counts.
        moved = False
    return landed if moved else replace(landed, behind=True)


def _advance(repository: Repository, target: Target, landed: Landed, at: str | None) -> bool:
    """Move a branch, and before it the index of the work tree that is on it.

    Whoever is killed in between leaves a lock that is staged. The other way round it would be the old lock that is.
    """
    put: Entries = {}
    # Since it was looked at, the user may have gone to another branch.
    if target.git_folder is not None and current_branch(repository) == target.branch:
        put = patiently(repository, lambda: put_into_users_index(repository, at, landed.entries))
    moved = False
    try:
        moved = patiently(repository, lambda: move_branch(repository, target.branch, landed.commit, at))
    finally:
        if not moved:
            patiently(repository, lambda: restore_users_index(repository, target.branch, put))
    return moved
