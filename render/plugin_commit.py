"""A lock, committed by the plugin itself: made from what the branch holds, never from what was sent to us.

Whoever may look at an Application can have the plugin run, on any commit and on files of their own. So nothing that
came with the call is committed: the branch is fetched, resolved as it is there, and given its lock.
"""

from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from render import __version__
from render.cli.output import Output
from render.cli.resolving import Resolver
from render.commit import Change, push_change
from render.errors import Differs, RenderError
from render.files import LOCK_FILE
from render.git.objects import changed_paths, require_identity, temporary_folder
from render.git.remotes import Remote, fetch_tip, find_default_branch, list_refs
from render.git.repository import Repository
from render.git.revisions import find_files, resolve_commit
from render.git.secrets import hide_secrets
from render.git.temporary import REMOTE, open_server
from render.inputs.folders import list_kustomizations
from render.inputs.projects import Inputs, read_inputs
from render.limits import Limits
from render.lock.cluster import Member, read_members
from render.lock.format import format_lock
from render.lock.staleness import require_fresh, require_lock
from render.plugin_request import Declined, Request, read_request, read_token, require_listed
from render.registry.deadline import read_deadline
from render.trailers import digest_inputs, find_trailers
from render.views.commit_message import LockChange, format_message, format_subject

# So much of a branch is fetched; a commit before that is not compared with its tip.
_COMMITS = 100
_HERE = Path()


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


class _Silent(Output):
    """Where the notes about a lock go: its commit tells them."""

    def _write(self, text: str) -> None:
        """Write nothing."""


@dataclass(frozen=True, slots=True)
class _Branch:
    """The branch that was asked about: as it is on the server, and checked out."""

    repository: Repository
    remote: Remote
    tip: str
    root: Path
    request: Request
    limits: Limits


def commit_lock(limits: Limits, environ: Mapping[str, str]) -> NoReturn:
    """Commit the lock that the branch of an Application needs, or say why not; either way nothing is rendered."""
    request = read_request(environ)
    require_listed(environ, request.url)
    token, deadline = read_token(environ, request.url), read_deadline(environ, limits)
    with open_server(
        request.url, request.branch or "HEAD", limits=limits, token=token, deadline=deadline
    ) as server:
        repository = hide_secrets(server.repository)
        name = _find_branch(repository, request)
        require_listed(environ, request.url, name)
        require_identity(repository)
        remote = Remote(REMOTE, name)
        tip = fetch_tip(repository, remote, depth=_COMMITS)
        if tip is None or resolve_commit(repository, request.commit) is None:
            raise Declined(f"{request.commit} is not among the last {_COMMITS} commits of branch {name}")
        with _checked_out(repository, tip) as root:
            branch = _Branch(repository, remote, tip, root, request, limits)
            with chdir(_find_folder(branch)):
                _commit(branch, read_inputs(_HERE, limits, environ))


def _find_branch(repository: Repository, request: Request) -> str:
    """Return the branch that is meant; Argo CD would also take a tag of that name."""
    if not request.branch:
        name = find_default_branch(repository, REMOTE)
        if name is None:
            raise Declined(f"{request.url} has no default branch")
        return name
    head, tag = f"refs/heads/{request.branch}", f"refs/tags/{request.branch}"
    refs = list_refs(repository, REMOTE, head, tag)
    if head not in refs or tag in refs:
        raise Declined(f"no lock is committed for target revision {request.branch!r}, which is not a branch")
    return request.branch


@contextmanager
def _checked_out(repository: Repository, commit: str) -> Iterator[Path]:
    """Write the files of a commit to a folder, and remove it afterwards; no hook is run for that."""
    with temporary_folder() as folder:
        root = folder / "tree"
        root.mkdir()
        environment = {
            "GIT_DIR": str(repository.root),
            "GIT_WORK_TREE": str(root),
            "GIT_INDEX_FILE": str(folder / "index"),
        }
        repository.run("read-tree", "--end-of-options", commit, environment=environment)
        repository.run("checkout-index", "--all", "--quiet", environment=environment)
        yield root.resolve()


def _find_folder(branch: _Branch) -> Path:
    folder = branch.root / branch.request.prefix
    if not folder.is_dir() or folder.resolve() != folder:
        raise Declined(f"branch {branch.remote.branch} has no folder {branch.request.prefix or '.'}")
    return folder


def _commit(branch: _Branch, inputs: Inputs) -> NoReturn:
    """Commit the lock of the current folder, which is that of the branch."""
    repository, path, tip = branch.repository, branch.request.path, branch.tip
    reads = _what_is_read(branch, inputs)
    changed = changed_paths(repository, branch.request.commit, tip)
    if any(map(reads.reads, changed)):
        raise Declined(f"what is asked for is another thing at the tip of branch {branch.remote.branch}")
    touched = _last_touch(repository, tip, path)
    _refuse_if_answered(branch, inputs, touched if path in changed else None)
    _refuse_to_repeat(branch, inputs, reads, touched)
    outcome = Resolver(_Silent(), (), offline=False).resolve(_HERE)
    data = format_lock(outcome.after).encode()
    told = [LockChange(branch.request.prefix.rstrip("/") or ".", outcome.before, outcome.after)]
    message = format_message(told, format_subject(told))
    change = Change({path: data}, message, inputs=reads.inputs, reads_everything=reads.reads_everything)
    landed = push_change(repository, change, branch.remote, tip)
    if landed.commit == tip:
        raise ReadAsStale(path, __version__)
    raise LockCommitted(_last_touch(repository, landed.commit, path) or landed.commit)


def _what_is_read(branch: _Branch, inputs: Inputs) -> Change:
    """Return which files the lock is made from: those of the folder, and of all that it uses."""
    members = read_members({Path.cwd(): Member(_HERE, inputs.settings.uses)}, branch.limits)
    outside = [path for path in members if not path.is_relative_to(branch.root)]
    if outside:
        raise Declined(f"{branch.request.prefix or '.'} uses a folder that is not in the repository")
    names = [path.relative_to(branch.root).as_posix() for path in members]
    folders = frozenset("" if name == "." else f"{name}/" for name in names)
    kustomized = any(list_kustomizations(path) for path in members)
    return Change({branch.request.path: b""}, "", inputs=folders, reads_everything=kustomized)


def _refuse_if_answered(branch: _Branch, inputs: Inputs, later: str | None) -> None:
    """Stop where the tip has a lock that is up to date; or one that is neither that nor the one asked about."""
    try:
        require_fresh(require_lock(_HERE, branch.limits), inputs.record, place=LOCK_FILE)
    except Differs:
        if later is not None:
            raise Declined(f"the lock is another one at the tip of branch {branch.remote.branch}") from None
        return
    if later is None:
        raise Declined(f"the files here are not those of commit {branch.request.commit}")
    raise LockCommitted(later)


def _refuse_to_repeat(branch: _Branch, inputs: Inputs, reads: Change, touched: str | None) -> None:
    """Stop where a lock was removed on purpose, or where our last commit did not help."""
    repository, tip, path = branch.repository, branch.tip, branch.request.path
    if touched is not None and not find_files(repository, tip, [path]):
        raise Declined(f"commit {touched} removed the lock, and with it the names of installed objects")
    trailers = find_trailers(repository, tip, path)
    if touched is None or trailers is None:
        return
    untouched = not any(map(reads.reads, changed_paths(repository, touched, tip)))
    if untouched or trailers.inputs.get(path) == digest_inputs(inputs.record):
        raise ReadAsStale(path, trailers.version)


def _last_touch(repository: Repository, tip: str, path: str) -> str | None:
    """Return the last commit that changed a file, as far as its history is here."""
    return repository.run("rev-list", "--max-count=1", tip, "--", path).decode().strip() or None
