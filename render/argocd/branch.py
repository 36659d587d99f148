"""The branch that an Application follows: fetched from its server, checked out, and read there."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from render.app.operator_settings import OperatorSettings
from render.argocd.request import (
    Declined,
    Request,
    read_authorities,
    read_request,
    read_token,
    require_listed,
)
from render.errors import InvalidInput, RenderError
from render.folders.members import Member, UsedOutside, read_members
from render.git.changes import InputFiles
from render.git.checkout import checked_out
from render.git.objects import require_identity
from render.git.remotes import Remote, fetch_tip, find_default_branch, list_refs
from render.git.repository import Repository
from render.git.revisions import require_small, resolve_commit
from render.git.temporary import REMOTE, open_server
from render.inputs.folders import is_linked, reads_elsewhere
from render.inputs.projects import Inputs, read_inputs
from render.limits import Limits, setting
from render.system.boundary import Boundary, real_path
from render.system.deadline import Deadline


@dataclass(frozen=True, slots=True)
class Branch:
    """The branch of an Application: as it is on the server, and checked out."""

    repository: Repository
    remote: Remote
    tip: str
    root: Path
    # The Application's folder below the root.
    folder: Path
    request: Request
    limits: Limits
    deadline: Deadline

    @property
    def name(self) -> str:
        """The name of the branch."""
        return self.remote.branch

    @property
    def boundary(self) -> Boundary:
        """The repository that no path may leave."""
        return Boundary(self.root)

    def relative(self, text: str) -> str:
        """Return a text with all paths as seen from the folder: the root is another path in every call."""
        text = re.sub(rf"{re.escape(str(self.folder))}(?![\w./+~@=-])", ".", text)
        up = len(self.folder.relative_to(self.root).parts)
        for steps, ancestor in enumerate([self.folder, *self.folder.parents][: up + 1]):
            text = text.replace(f"{ancestor}/", "../" * steps)
        return text.replace(str(self.root), "/".join([".."] * up) or ".")


@contextmanager
def open_branch(operator: OperatorSettings, deadline: Deadline) -> Iterator[Branch]:
    """Check out the branch of an Application, if the operator listed it."""
    environ, limits = operator.environ, operator.limits
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
            folder = _find_folder(root, remote.branch, request)
            branch = Branch(repository, remote, tip, root, folder, request, limits, deadline)
            with _relative_errors(branch):
                yield branch


def read_tip(branch: Branch, operator: OperatorSettings) -> Inputs:
    """Read the folder at the tip of the branch, which may differ from the folder that is rendered."""
    try:
        return read_inputs(branch.folder, operator.limits, operator.environ, operator.boundary)
    except InvalidInput as error:
        why = "; ".join([error.what, *error.why])
        raise Declined(f"the folder cannot be read at the tip of branch {branch.name}: {why}") from None


def find_reads(branch: Branch, inputs: Inputs) -> InputFiles:
    """Return the files that the lock is made from: those of the folder and of all folders that it uses."""
    start = {branch.folder: Member(branch.folder, inputs.settings.uses)}
    try:
        members = read_members(start, branch.limits, boundary=branch.boundary)
    except UsedOutside:
        raise Declined(
            f"{branch.request.prefix or '.'} uses a folder that is not in the repository"
        ) from None
    names = [path.relative_to(branch.root).as_posix() for path in members]
    folders = frozenset("" if name == "." else f"{name}/" for name in names)
    elsewhere = (
        is_linked(branch.folder, member.folder) or reads_elsewhere(path, branch.limits)
        for path, member in members.items()
    )
    return InputFiles(folders, everything=any(elsewhere))


def _find_branch(repository: Repository, request: Request) -> str:
    """Return the name of the branch; raise if Argo CD would take a tag of that name."""
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
    """Fetch the last commits of the branch, which must have the commit that is rendered; return the tip."""
    most = repository.limits.branch_commits
    tip = fetch_tip(repository, remote, depth=most)
    if tip is None or resolve_commit(repository, request.commit) is None:
        raise Declined(
            f"{request.commit} is not among the last {most} commits of branch {remote.branch} "
            f"({setting('branch_commits')})"
        )
    return tip


def _find_folder(root: Path, branch: str, request: Request) -> Path:
    folder = root / request.prefix
    if not folder.is_dir() or real_path(folder) != folder:
        raise Declined(f"branch {branch} has no folder {request.prefix or '.'}")
    return folder


@contextmanager
def _relative_errors(branch: Branch) -> Iterator[None]:
    """Name files in errors as seen from the folder of the branch."""
    try:
        yield
    except RenderError as error:
        error.what = branch.relative(error.what)
        error.why = tuple(map(branch.relative, error.why))
        error.next = tuple(map(branch.relative, error.next))
        raise
