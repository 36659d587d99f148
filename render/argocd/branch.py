"""The branch that an Application follows: fetched from its server, checked out, and read as it is there."""

from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path

from render.argocd.request import (
    Declined,
    Request,
    read_authorities,
    read_request,
    read_token,
    require_listed,
)
from render.deadline import Deadline
from render.errors import InvalidInput
from render.folders.members import Member, read_members
from render.git.checkout import checked_out
from render.git.landing import InputFiles
from render.git.objects import require_identity
from render.git.remotes import Remote, fetch_tip, find_default_branch, list_refs
from render.git.repository import Repository
from render.git.revisions import require_small, resolve_commit
from render.git.temporary import REMOTE, open_server
from render.inputs.folders import is_linked, reads_elsewhere
from render.inputs.projects import Inputs, read_inputs
from render.limits import Limits, setting

HERE = Path()


@dataclass(frozen=True, slots=True)
class Branch:
    """The branch that was asked about: as it is on the server, and checked out."""

    repository: Repository
    remote: Remote
    tip: str
    root: Path
    request: Request
    limits: Limits
    deadline: Deadline

    @property
    def name(self) -> str:
        """What it is called."""
        return self.remote.branch


@contextmanager
def open_branch(environ: Mapping[str, str], deadline: Deadline) -> Iterator[Branch]:
    """Check out the branch of an Application, if the operator listed it, and stand in the folder that is meant."""
    limits = Limits.from_environment(environ)
    request = read_request(environ)
    require_listed(environ, request.url)
    with open_server(
        request.url,
        request.branch or "HEAD",
        limits=limits,
        token=read_token(environ, request.url, limits),
        authorities=read_authorities(environ, limits),
        deadline=deadline,
    ) as server:
        repository = server.repository
        remote = Remote(REMOTE, _find_branch(repository, request))
        require_listed(environ, request.url, remote.branch)
        require_identity(repository)
        tip = _fetch(repository, remote, request)
        what = f"branch {remote.branch} of {request.url}"
        require_small(repository, tip, what)
        with checked_out(repository, remote, tip, request.prefix, what) as root:
            branch = Branch(repository, remote, tip, root, request, limits, deadline)
            with chdir(_find_folder(branch)):
                yield branch


def read_here(branch: Branch, environ: Mapping[str, str]) -> Inputs:
    """Read the folder; whoever asked has sent one that can be read, and that may be another one."""
    try:
        return read_inputs(HERE, branch.limits, environ)
    except InvalidInput as error:
        told = "; ".join([error.what, *error.why])
        raise Declined(f"the folder cannot be read at the tip of branch {branch.name}: {told}") from None


def find_reads(branch: Branch, inputs: Inputs) -> InputFiles:
    """Return which files the lock is made from: those of the folder, and of all that it uses."""
    members = read_members({Path.cwd(): Member(HERE, inputs.settings.uses)}, branch.limits)
    if any(not path.is_relative_to(branch.root) for path in members):
        raise Declined(f"{branch.request.prefix or '.'} uses a folder that is not in the repository")
    names = [path.relative_to(branch.root).as_posix() for path in members]
    folders = frozenset("" if name == "." else f"{name}/" for name in names)
    elsewhere = (
        is_linked(HERE, member.folder) or reads_elsewhere(path, branch.limits)
        for path, member in members.items()
    )
    return InputFiles(folders, everything=any(elsewhere))


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


def _fetch(repository: Repository, remote: Remote, request: Request) -> str:
    """Return the tip of the branch, and have so much of its history here; a commit before that is not compared."""
    most = repository.limits.branch_commits
    tip = fetch_tip(repository, remote, depth=most)
    if tip is None or resolve_commit(repository, request.commit) is None:
        raise Declined(
            f"{request.commit} is not among the last {most} commits of branch {remote.branch} "
            f"({setting('branch_commits')})"
        )
    return tip


def _find_folder(branch: Branch) -> Path:
    folder = branch.root / branch.request.prefix
    if not folder.is_dir() or folder.resolve() != folder:
        raise Declined(f"branch {branch.name} has no folder {branch.request.prefix or '.'}")
    return folder
