"""The policy `commit`: the plugin commits the lock of a branch, made from the branch and not from the files it was sent.

Everyone who may see an Application can run the plugin on any commit and on files of their own. So nothing that came
with the call is committed: the branch is fetched, its folder resolved as it is there, and the lock pushed to it.
"""

from pathlib import PurePath
from typing import NoReturn

from render import __version__
from render.app.operator_settings import OperatorSettings
from render.app.render import read_fresh_lock
from render.app.reporter import SilentReporter
from render.app.resolving.resolver import Resolver
from render.argocd.branch import Branch, find_reads, open_branch, read_tip
from render.argocd.push_queue import exclusive, queue_seconds
from render.argocd.request import Declined
from render.commands import xplock
from render.errors import Differs, RenderError
from render.git.changes import Change, InputFiles
from render.git.landing import push_change
from render.git.objects import changed_paths
from render.git.revisions import find_files, last_touch, read_message
from render.git.trailers import digest_inputs, find_trailers
from render.inputs.projects import Inputs
from render.lean import replace
from render.lock.text.format import format_lock
from render.system.deadline import Deadline
from render.views.commits.commit_message import LockChange, format_message, format_subject


class LockCommitted(RenderError):
    """The lock is in Git now, but not in the commit that is rendered."""

    def __init__(self, commit: str) -> None:
        super().__init__(f"lock committed as {commit}; the next refresh renders it")


class ReadAsStale(RenderError):
    """xplock committed this lock for these inputs already; another commit would start an endless loop."""

    def __init__(self, path: str, version: str) -> None:
        command = xplock("lock", folder=PurePath(path).parent)
        super().__init__(
            f"{path}: written by xplock {version}, read as stale by {__version__}",
            why="what it was made from has not changed since, so another commit would not help",
            next=f"use the same version of xplock everywhere, then run `{command}` and commit what it writes",
        )


def commit_lock(operator: OperatorSettings, deadline: Deadline) -> NoReturn:
    """Commit the lock of an Application's branch; raise LockCommitted, or the reason why not."""
    with open_branch(operator, deadline) as branch:
        operator = replace(operator, boundary=branch.boundary)
        inputs = read_tip(branch, operator)
        reads = find_reads(branch, inputs)
        _refuse_if_pointless(branch, inputs, reads)
        # Argo CD shows one line; the notes about the lock are in its commit.
        _commit(branch, reads, Resolver(operator, SilentReporter(), deadline=deadline))


def _refuse_if_pointless(branch: Branch, inputs: Inputs, reads: InputFiles) -> None:
    """Raise if the folder differs at the tip, has a fresh lock there, or would not get one by another commit."""
    repository, path, tip = branch.repository, branch.request.path, branch.tip
    changed = changed_paths(repository, branch.request.commit, tip)
    if any(map(reads.includes, changed - {path})):
        raise Declined(f"what is asked for is another thing at the tip of branch {branch.name}")
    touched = last_touch(repository, tip, path)
    _refuse_if_answered(branch, inputs, touched if path in changed else None)
    _refuse_to_repeat(branch, inputs, reads, touched)


def _commit(branch: Branch, reads: InputFiles, resolver: Resolver) -> NoReturn:
    """Resolve the folder, and push its lock to the branch."""
    path, tip = branch.request.path, branch.tip
    outcome = resolver.resolve(branch.folder)
    notes = [branch.relative(note) for note in outcome.notes]
    changes = [LockChange(branch.request.prefix.rstrip("/") or ".", outcome.before, outcome.after)]
    message = format_message(changes, format_subject(changes), notes)
    change = Change({path: format_lock(outcome.after).encode()}, message, made_from=reads)
    # Other plugin calls may push locks of other folders to this branch: one at a time, they need no retries.
    with exclusive(f"{branch.request.url}#{branch.name}", queue_seconds(branch.deadline)):
        landed = push_change(branch.repository, change, branch.remote, tip, limit="commit_attempts")
    if landed.commit == tip:
        raise ReadAsStale(path, __version__)
    raise LockCommitted(last_touch(branch.repository, landed.commit, path) or landed.commit)


def _refuse_if_answered(branch: Branch, inputs: Inputs, later: str | None) -> None:
    """Raise if the lock at the tip is fresh, or differs from the lock of the commit that is rendered."""
    try:
        read_fresh_lock(inputs, branch.limits)
    except Differs:
        if later is not None:
            raise Declined(f"the lock is another one at the tip of branch {branch.name}") from None
        return
    if later is None:
        raise Declined(f"the files here are not those of commit {branch.request.commit}")
    raise LockCommitted(later)


def _refuse_to_repeat(branch: Branch, inputs: Inputs, reads: InputFiles, touched: str | None) -> None:
    """Raise if a commit removed the lock on purpose, or if xplock's last commit was for the same inputs."""
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
