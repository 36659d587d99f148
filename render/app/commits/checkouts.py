"""The repositories that folders are committed to, each with its branch and its remote."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from render.app.commits.options import CommitOptions
from render.app.commits.updates import UpdateBranch
from render.app.operator_settings import OperatorSettings
from render.errors import InvalidInput
from render.git.branches import (
    current_branch,
    find_branch,
    refuse_checked_out_elsewhere,
    refuse_rebased,
    require_branch,
)
from render.git.changes import CommitTarget
from render.git.credentials import (
    FILES,
    hide_secrets,
    read_authorities,
    read_token,
    with_authorities,
    with_token,
)
from render.git.names import check_branch
from render.git.objects import require_identity
from render.git.remotes import Remote, choose_remote, fetch_tip, read_urls
from render.git.repository import FolderInRepository, Repository, locate_folder
from render.git.revisions import find_commit
from render.system.boundary import real_path
from render.system.deadline import read_deadline
from render.system.scratch import scratch_folder

_GiveAccess = Callable[[Repository, Remote], Repository]


@dataclass(frozen=True, slots=True)
class Checkout:
    """A repository, the folders of it that are committed, and the branch they are committed to."""

    repository: Repository
    git_folder: Path
    # Every folder as it was given, and its path from the root.
    folders: Mapping[Path, str]
    branch: str
    # Whether the work tree is on it.
    current: bool
    remote: Remote | None

    def find_target(
        self, options: CommitOptions, *, dry_run: bool
    ) -> tuple[CommitTarget, UpdateBranch | None, Sequence[str]]:
        """Return the branch as it is now; of another branch than the current one, also the commits of others."""
        if self.current:
            return self._find_current(options), None, ()
        return self._find_update(options, dry_run=dry_run)

    def _find_current(self, options: CommitOptions) -> CommitTarget:
        if options.start is not None:
            raise InvalidInput(
                f"branch {self.branch} is the current one",
                why="--from says where a branch for updates starts",
                next="leave --from out, or name another branch",
            )
        at = find_branch(self.repository, self.branch)
        start = at or find_commit(self.repository, "HEAD")
        return CommitTarget(self.branch, start, at, self.git_folder, self.remote, hooks=options.pre_push)

    def _find_update(
        self, options: CommitOptions, *, dry_run: bool
    ) -> tuple[CommitTarget, UpdateBranch, Sequence[str]]:
        """Look at a branch here and on the server, which a dry run does not ask."""
        at = find_branch(self.repository, self.branch)
        server = fetch_tip(self.repository, self.remote) if self.remote and not dry_run else None
        base = find_commit(self.repository, "HEAD" if options.start is None else options.start)
        tips = list(dict.fromkeys(tip for tip in (server, at) if tip))
        update = UpdateBranch(self.repository, self.branch, base, tips, self.remote)
        start, others = update.find_start()
        target = CommitTarget(
            self.branch,
            start,
            at,
            remote=self.remote,
            hooks=options.pre_push,
            again=not others,
            server=server,
        )
        return target, update, others


def open_checkouts(
    folders: Sequence[Path], options: CommitOptions, operator: OperatorSettings, resources: ExitStack
) -> list[Checkout]:
    """Find the repositories of folders, and raise for anything that would stop a commit there."""
    limits = operator.limits
    deadline = read_deadline(operator.environ, limits)
    given: dict[Path, Path] = {}
    for folder in folders:
        # One folder may be given in two spellings.
        given.setdefault(real_path(folder), folder)
    places = {folder: locate_folder(folder, limits, deadline) for folder in given.values()}
    roots = dict.fromkeys(place.repository.root for place in places.values())
    return [
        _open(
            {folder: place for folder, place in places.items() if place.repository.root == root},
            options,
            lambda repository, remote: _give_access(repository, remote, operator, resources),
        )
        for root in roots
    ]


def _open(
    places: Mapping[Path, FolderInRepository], options: CommitOptions, give_access: _GiveAccess
) -> Checkout:
    place = next(iter(places.values()))
    repository = place.repository
    current = current_branch(repository)
    if options.branch is None or options.branch == current:
        branch = require_branch(place)
    else:
        branch = check_branch(options.branch)
        refuse_rebased(place, branch)
        refuse_checked_out_elsewhere(repository, branch)
    if options.author is None:
        require_identity(repository)
    remote = choose_remote(repository, branch, options.remote) if options.push else None
    return Checkout(
        give_access(repository, remote) if remote else repository,
        place.git_folder,
        {folder: one.prefix for folder, one in places.items()},
        branch,
        branch == current,
        remote,
    )


def _give_access(
    repository: Repository, remote: Remote, operator: OperatorSettings, resources: ExitStack
) -> Repository:
    """Give git the operator's token and authorities if they are for this remote; secrets are never shown."""
    urls = read_urls(repository, remote)
    if any(url.startswith("https://") for url in urls):
        repository = _trust(repository, operator, resources)
    token = read_token(operator.environ, urls, repository.limits)
    return hide_secrets(with_token(repository, urls[0], token) if token else repository)


def _trust(repository: Repository, operator: OperatorSettings, resources: ExitStack) -> Repository:
    authorities = read_authorities(operator.environ, repository.limits)
    if authorities is None:
        return repository
    folder = resources.enter_context(scratch_folder(FILES))
    return with_authorities(repository, authorities, folder)
