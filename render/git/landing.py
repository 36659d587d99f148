"""Files → a commit on a branch, pushed if asked for. Every move of a branch is a compare-and-swap with retries.

Nothing here needs a work tree: a bare repository, and a server's branch in a temporary repository, work the same way.
The push comes before the local branch is moved, so a failed push changes nothing.
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
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
from render.git.changes import Change, CommitTarget, Landed
from render.git.failures import GitFailed, RepositoryLocked
from render.git.objects import (
    changed_paths,
    count_commits,
    make_index_entries,
    parents_of,
    tree_of,
    write_blob,
    write_commit,
    write_tree,
)
from render.git.remotes import PushRefused, Remote, fetch_tip, push_commit
from render.git.repository import Repository
from render.git.revisions import FileEntries, find_files
from render.limits import Limits, format_amount, setting
from render.texts import first_lines

Result = TypeVar("Result")

_FIRST_SECONDS, _MOST_SECONDS = 0.05, 0.5
# How often an operation is tried while another git process holds a lock file.
_LOCKED_ATTEMPTS = 6


def attempts(repository: Repository, most: int) -> Iterator[int]:
    """Yield the number of each attempt, after a random pause before all but the first, so that rivals spread out."""
    for number in range(most):
        if number:
            _pause(repository, number)
        yield number


def retry_while_locked(repository: Repository, act: Callable[[], Result]) -> Result:
    """Run an operation, again while another git process holds a lock file; the last error names that file."""
    for number in range(_LOCKED_ATTEMPTS):
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


class BranchDiffers(Differs):
    """A branch on which a lock or one of its inputs differs from here."""

    def __init__(self, where: str, paths: Sequence[str], *, next: str | Sequence[str]) -> None:
        lines = [f"{path} differs there" for path in paths]
        super().__init__(
            f"{where} has other inputs than the lock was made from",
            why=first_lines(lines, _SHOWN_PATHS),
            next=next,
        )


class BranchMoved(Differs):
    """A branch that others moved while it was being started again."""

    def __init__(self, branch: str) -> None:
        super().__init__(
            f"others moved branch {branch} at the same time, so nothing was committed",
            why="its commits would be replaced, and theirs have not been looked at",
            next="run the command again",
        )


class LostRace(RenderError):
    """A branch that others moved before every attempt."""

    def __init__(self, branch: str, limit: str, limits: Limits) -> None:
        super().__init__(
            f"others moved branch {branch} before every attempt, so nothing was committed",
            why=f"the limit is {format_amount(limit, getattr(limits, limit))}",
            next=f"try again later, or raise the limit with {setting(limit)}",
        )


def land(repository: Repository, change: Change, target: CommitTarget) -> Landed:
    """Commit files to a branch; with a remote, push them before the local branch is moved."""
    if target.again:
        return _start_again(repository, change, target)
    if target.remote is None:
        return commit_change(repository, change, target)
    folder = target.git_folder
    if folder is not None:
        retry_while_locked(repository, lambda: require_index(repository, folder))
    landed = push_change(repository, change, target.remote, target.start, hooks=target.hooks)
    return _update_local_branch(repository, target, landed)


def _start_again(repository: Repository, change: Change, target: CommitTarget) -> Landed:
    """Commit files on top of the base of a branch, in place of the commits that the branch had."""
    landed = _build(repository, change, target.start, _write_blobs(repository, change))
    for known in (target.server, target.at):
        if known is not None and _is_same(repository, known, landed):
            # The same commit with another date would only start everybody's checks again.
            landed = replace(landed, commit=known, new=False)
            break
    if target.remote is not None and landed.commit != target.server:
        answer = push_commit(
            repository, target.remote, landed.commit, hooks=target.hooks, instead_of=target.server
        )
        if not answer.accepted:
            raise (
                BranchMoved(target.branch)
                if answer.race
                else PushRefused(repository, target.remote, answer.why)
            )
        landed = replace(landed, pushed=answer.moved)
    if landed.commit == target.at or move_branch(repository, target.branch, landed.commit, target.at):
        return landed
    if target.remote is None:
        raise BranchMoved(target.branch)
    return replace(landed, behind=True)


def _is_same(repository: Repository, commit: str, landed: Landed) -> bool:
    parents = [landed.parent] if landed.parent else []
    return tree_of(repository, commit) == tree_of(repository, landed.commit) and parents == parents_of(
        repository, commit
    )


def commit_change(repository: Repository, change: Change, target: CommitTarget) -> Landed:
    """Commit files to a local branch."""
    blobs = _write_blobs(repository, change)
    tip, at = target.start, target.at
    for _ in attempts(repository, repository.limits.commit_attempts):
        landed = _build(repository, change, tip, blobs)
        if not landed.new or _move_branch_and_index(repository, target, landed, at):
            return landed
        at = find_branch(repository, target.branch)
        tip = at or target.start
        _refuse_changed_branch(repository, change, target.branch, target.start, tip, blobs)
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
    """Commit files on top of a server's branch and push; no local branch is moved."""
    blobs = _write_blobs(repository, change)
    tip, stuck = start, 0
    for _ in attempts(repository, getattr(repository.limits, limit)):
        landed = _build(repository, change, tip, blobs)
        if not landed.new and tip != start:
            return landed
        answer = push_commit(repository, remote, landed.commit, hooks=hooks)
        if answer.accepted:
            along = count_commits(repository, answer.before, landed.commit) if answer.before else 0
            return replace(landed, pushed=answer.moved, along=max(along - landed.new, 0))
        there = fetch_tip(repository, remote, known=tip)
        stuck = stuck + 1 if there in (None, tip) else 0
        # The server may report a race for ever because of a leftover lock file, so the number of retries is limited.
        if stuck and (not answer.race or stuck >= repository.limits.push_attempts):
            raise PushRefused(repository, remote, answer.why)
        tip = there or tip
        _refuse_changed_branch(repository, change, remote.branch, start, tip, blobs)
    raise LostRace(remote.branch, limit, repository.limits)


def find_other_inputs(repository: Repository, change: Change, here: str | None, there: str) -> list[str]:
    """Return the inputs of the files that differ between the current commit and another one."""
    return sorted(path for path in changed_paths(repository, here, there) if change.depends_on(path))


def _refuse_changed_branch(
    repository: Repository,
    change: Change,
    branch: str,
    base: str | None,
    tip: str | None,
    blobs: Mapping[str, str | None],
) -> None:
    """Raise if the branch moved, and the files or their inputs differ there."""
    if tip is None or tip == base:
        return
    there = find_files(repository, tip, list(blobs))
    other = {path for path, blob in blobs.items() if (there[path].blob if path in there else None) != blob}
    if not other:
        # Another run committed the same files.
        return
    changed = changed_paths(repository, base, tip)
    paths = sorted(path for path in changed if path in other or change.depends_on(path))
    if paths:
        raise BranchDiffers(f"branch {branch}", paths, next=change.again)


def _write_blobs(repository: Repository, change: Change) -> dict[str, str | None]:
    locks = {path: write_blob(repository, data) for path, data in sorted(change.files.items())}
    inputs = {
        path: None if data is None else write_blob(repository, data, path)
        for path, data in sorted(change.inputs.items())
    }
    return {**locks, **inputs}


def _build(
    repository: Repository, change: Change, tip: str | None, blobs: Mapping[str, str | None]
) -> Landed:
    """Make a commit on top of another one, unless that already has the files."""
    entries = make_index_entries(repository, tip, blobs)
    tree = write_tree(repository, tip, entries)
    if tip is not None and tree == tree_of(repository, tip):
        return Landed(tip, tip, entries, new=False)
    commit = write_commit(repository, tree, tip, change.message, author=change.author, sign=change.sign)
    return Landed(commit, tip, entries, new=True)


def _update_local_branch(repository: Repository, target: CommitTarget, landed: Landed) -> Landed:
    """Move the local branch to the pushed commit, if that is a single step."""
    if landed.commit == target.at:
        return landed
    # A new local branch may start anywhere, unless it is checked out: then files would be missing.
    begins = target.at is None and target.git_folder is None
    if not landed.new or not (begins or target.at == landed.parent):
        return replace(landed, behind=True)
    try:
        moved = _move_branch_and_index(repository, target, landed, target.at)
    except GitFailed:
        # The commit is on the server, which is enough.
        moved = False
    return landed if moved else replace(landed, behind=True)


def _move_branch_and_index(
    repository: Repository, target: CommitTarget, landed: Landed, at: str | None
) -> bool:
    """Move a branch, after updating the index of the work tree that has it checked out.

    Killed in between, this leaves the new lock staged. In the other order the old lock would be staged.
    """
    put: FileEntries = {}
    # The user may have switched branches in the meantime.
    if target.git_folder is not None and current_branch(repository) == target.branch:
        put = retry_while_locked(repository, lambda: put_into_users_index(repository, at, landed.entries))
    moved = False
    try:
        moved = retry_while_locked(
            repository, lambda: move_branch(repository, target.branch, landed.commit, at)
        )
    finally:
        if not moved:
            retry_while_locked(repository, lambda: restore_users_index(repository, target.branch, put))
    return moved
