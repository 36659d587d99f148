"""A lock, committed by the plugin itself: made from what the branch holds, never from what was sent to us.

Whoever may look at an Application can have the plugin run, on any commit and on files of their own. So nothing that
came with the call is committed: the branch is fetched, resolved as it is there, and given its lock.
"""

from collections.abc import Mapping
from typing import NoReturn

from render import __version__
from render.app.reporter import SilentReporter
from render.app.resolving import Resolver
from render.argocd.branch import HERE, Branch, find_reads, open_branch, read_here
from render.argocd.push_queue import own_turn, patience
from render.argocd.request import Declined
from render.deadline import Deadline
from render.errors import Differs, RenderError
from render.git.landing import Change, InputFiles, push_change
from render.git.objects import changed_paths
from render.git.revisions import find_files, last_touch, read_message
from render.git.trailers import digest_inputs, find_trailers
from render.inputs.projects import Inputs
from render.lock.format import format_lock
from render.lock.freshness import require_fresh, require_lock
from render.system.files import LOCK_FILE
from render.views.commit_message import LockChange, format_message, format_subject


class LockCommitted(RenderError):
    """A lock that is in Git now, and not yet in the commit that was asked for."""

    def __init__(self, commit: str) -> None:
        super().__init__(f"lock committed as {commit}; the next refresh renders it")


class ReadAsStale(RenderError):
    """A lock of ours for these very inputs: committing it again would go on for ever."""

    def __init__(self, path: str, version: str) -> None:
        super().__init__(
            f"{path}: written by xplock {version}, read as stale by {__version__}",
            why="what it was made from has not changed since, so another commit would not help",
            next="use the same version of xplock everywhere, then run `xplock lock` and commit what it writes",
        )


def commit_lock(environ: Mapping[str, str], deadline: Deadline) -> NoReturn:
    """Commit the lock that the branch of an Application needs, or say why not; either way nothing is rendered."""
    with open_branch(environ, deadline) as branch:
        inputs = read_here(branch, environ)
        reads = find_reads(branch, inputs)
        _refuse_if_pointless(branch, inputs, reads)
        # Argo CD shows one line; the notes about the lock are in its commit.
        _commit(branch, reads, Resolver(environ, SilentReporter(), deadline=deadline))


def _refuse_if_pointless(branch: Branch, inputs: Inputs, reads: InputFiles) -> None:
    """Stop where the tip is not what was asked about, has a lock already, or would not be helped by one."""
    repository, path, tip = branch.repository, branch.request.path, branch.tip
    changed = changed_paths(repository, branch.request.commit, tip)
    if any(map(reads.includes, changed - {path})):
        raise Declined(f"what is asked for is another thing at the tip of branch {branch.name}")
    touched = last_touch(repository, tip, path)
    _refuse_if_answered(branch, inputs, touched if path in changed else None)
    _refuse_to_repeat(branch, inputs, reads, touched)


def _commit(branch: Branch, reads: InputFiles, resolver: Resolver) -> NoReturn:
    """Commit the lock of the current folder, which is that of the branch."""
    path, tip = branch.request.path, branch.tip
    outcome = resolver.resolve(HERE)
    told = [LockChange(branch.request.prefix.rstrip("/") or ".", outcome.before, outcome.after)]
    message = format_message(told, format_subject(told), outcome.notes)
    change = Change({path: format_lock(outcome.after).encode()}, message, made_from=reads)
    # The others may all be of our kind, each with a folder of its own: then it is a matter of time.
    with own_turn(f"{branch.request.url}#{branch.name}", patience(branch.deadline)):
        landed = push_change(branch.repository, change, branch.remote, tip, limit="commit_attempts")
    if landed.commit == tip:
        raise ReadAsStale(path, __version__)
    raise LockCommitted(last_touch(branch.repository, landed.commit, path) or landed.commit)


def _refuse_if_answered(branch: Branch, inputs: Inputs, later: str | None) -> None:
    """Stop where the tip has a lock that is up to date; or one that is neither that nor the one asked about."""
    try:
        require_fresh(require_lock(HERE, branch.limits), inputs.record, place=LOCK_FILE)
    except Differs:
        if later is not None:
            raise Declined(f"the lock is another one at the tip of branch {branch.name}") from None
        return
    if later is None:
        raise Declined(f"the files here are not those of commit {branch.request.commit}")
    raise LockCommitted(later)


def _refuse_to_repeat(branch: Branch, inputs: Inputs, reads: InputFiles, touched: str | None) -> None:
    """Stop where a lock was removed on purpose, or where our last commit did not help."""
    repository, tip, path = branch.repository, branch.tip, branch.request.path
    if touched is None:
        return
    if not find_files(repository, tip, [path]):
        raise Declined(f"commit {touched} removed the lock, and with it the names of installed objects")
    trailers = find_trailers(read_message(repository, touched), path)
    if trailers is None:
        return
    untouched = not any(map(reads.includes, changed_paths(repository, touched, tip) - {path}))
    if untouched or trailers.inputs.get(path) == digest_inputs(inputs.record):
        raise ReadAsStale(path, trailers.version)
