"""Committing the locks of folders: one commit for each repository."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from render.app.commits.checkouts import Checkout, open_checkouts
from render.app.commits.inputs import find_own_changes, find_uncommitted, require_answer
from render.app.commits.options import CommitOptions
from render.app.commits.projects import Project, make_project
from render.app.commits.refusals import WITH_INPUTS, InputsNotCommitted
from render.app.commits.updates import UpdateBranch
from render.app.definitions import ContentPlaces, compare_lock_definitions
from render.app.operator_settings import OperatorSettings
from render.app.reporter import Reporter
from render.commands import as_path, git, xplock
from render.definitions.model import Comparison
from render.errors import RenderError
from render.git.changes import Change, CommitTarget, InputFiles
from render.git.landing import BranchDiffers, BranchMoved, LostRace, find_other_inputs, land
from render.git.names import Author, parse_author
from render.git.objects import read_committer
from render.git.revisions import find_commit
from render.git.signing import signs_commits
from render.git.snapshots import Snapshot
from render.git.trailers import add_signoff
from render.views.commits.commit_message import LockChange, format_message, format_subject
from render.views.commits.committed import Committed, committed_hints, format_committed


@contextmanager
def open_committer(
    reporter: Reporter,
    options: CommitOptions,
    folders: Sequence[Path],
    operator: OperatorSettings,
    *,
    with_inputs: bool = False,
    origin: str = "",
) -> Iterator["Committer"]:
    """Open the repositories of folders; raise for anything that would stop a commit, before anything is written."""
    options = replace(options, with_inputs=options.with_inputs or with_inputs)
    options.check()
    author = parse_author(options.author) if options.author is not None else None
    with ExitStack() as resources:
        checkouts = open_checkouts(folders, options, operator, resources)
        yield Committer(reporter, options, author, checkouts, operator, origin)


@dataclass(frozen=True, slots=True)
class Planned:
    """The commit to one repository: where to, and what; without a change there is nothing to do."""

    checkout: Checkout
    target: CommitTarget
    locks: Mapping[Path, bytes]
    made: Committed
    change: Change | None = None


@dataclass(frozen=True, slots=True)
class Committer:
    """Commits the locks of folders, one commit for each repository."""

    _reporter: Reporter
    _options: CommitOptions
    _author: Author | None
    _checkouts: Sequence[Checkout]
    _operator: OperatorSettings
    # Where the versions were promoted from, which the message says.
    _origin: str = ""

    def plan(self, locks: Mapping[Path, bytes], *, dry_run: bool) -> list[Planned]:
        """Return the commits with the text of every folder's lock; raise if one of them could not be rendered."""
        # Where a folder failed, its lock is not among these.
        there = [one for one in self._checkouts if not locks.keys().isdisjoint(one.folders)]
        return [self._plan(checkout, locks, dry_run=dry_run) for checkout in there]

    def commit(self, plans: Sequence[Planned], *, dry_run: bool) -> list[Committed]:
        """Commit what is planned."""
        made: list[Committed] = []
        try:
            for planned in plans:
                made.append(planned.made if dry_run else self._land(planned))
        except RenderError:
            # Commits in other repositories stay, so they are reported.
            for one in made:
                self._reporter.say(format_committed(one))
            raise
        for hint in [hint for one in made for hint in committed_hints(one)]:
            self._reporter.warn(hint)
        return made

    def _land(self, planned: Planned) -> Committed:
        """Commit what is planned, and plan again if others move the branch at the same time."""
        repository = planned.checkout.repository
        for _ in range(repository.limits.push_attempts):
            if planned.change is None:
                return planned.made
            try:
                return replace(planned.made, landed=land(repository, planned.change, planned.target))
            except BranchMoved:
                planned = self._plan(planned.checkout, planned.locks, dry_run=False)
        raise LostRace(planned.checkout.branch, "push_attempts", repository.limits)

    def _plan(self, checkout: Checkout, locks: Mapping[Path, bytes], *, dry_run: bool) -> Planned:
        target, update, others = checkout.find_target(self._options, dry_run=dry_run)
        projects = [
            make_project(folder, prefix, locks[folder], self._operator.limits)
            for folder, prefix in checkout.folders.items()
            if folder in locks
        ]
        snapshot = Snapshot(checkout.repository, target.start)
        inputs = self._find_inputs(projects, snapshot)
        changed = [project for project in projects if _changes(project, snapshot, inputs)]
        made = self._describe(checkout, changed, projects, target, update)
        planned = Planned(checkout, target, locks, replace(made, others=others))
        pushes = checkout.remote is not None and target.at is not None and target.start == target.at
        if not changed and (target.again or not pushes):
            return planned
        change = self._make_change(checkout, changed or projects, inputs, made.message)
        here = find_commit(checkout.repository, "HEAD")
        if target.start not in (None, here):
            other = find_other_inputs(checkout.repository, change, here, target.start)
            if other:
                raise self._other_inputs(target, projects, other)
        committed = snapshot.with_changes({**inputs, **{one.path: one.data for one in projects}})
        self._require_inputs(projects, committed)
        if update is not None and target.again:
            update.require_only_locks(committed)
        return replace(
            planned, made=replace(planned.made, files=change.paths if changed else ()), change=change
        )

    def _find_inputs(self, projects: Sequence[Project], snapshot: Snapshot) -> dict[str, bytes | None]:
        """Return the inputs that are committed as well: of every folder whose lock the commit does not answer."""
        if not self._options.with_inputs:
            return {}
        found: dict[str, bytes | None] = {}
        for project in projects:
            stays = snapshot.holds(project.path, project.data)
            if not stays or find_uncommitted(project, snapshot, self._operator.environ):
                found |= find_own_changes(project, snapshot)
        return found

    def _require_inputs(self, projects: Sequence[Project], committed: Snapshot) -> None:
        """Raise if a commit would not have all that its locks were made from."""
        environ = self._operator.environ
        found = [one for project in projects if (one := find_uncommitted(project, committed, environ))]
        for one in found:
            if not one.used:
                require_answer(one.project, self._operator.limits, environ)
        if found:
            raise InputsNotCommitted(found, with_inputs=self._options.with_inputs)

    def _describe(
        self,
        checkout: Checkout,
        changed: Sequence[Project],
        projects: Sequence[Project],
        target: CommitTarget,
        update: UpdateBranch | None,
    ) -> Committed:
        """Return the commit that would be made: its message is about its parent, a pull request about the base."""
        repository, start = checkout.repository, target.start
        made = Committed(
            checkout.branch,
            remote=checkout.remote,
            current=checkout.current,
            folder=str(projects[0].folder),
        )
        if update is not None and not changed and target.again:
            made = replace(made, left_over=update.is_left_over())
        changes = [project.compare(repository, start) for project in changed]
        shown = changes
        if update is not None and not target.again:
            compared = [project.compare(repository, update.base) for project in projects]
            shown = [change for change in compared if change.before != change.after]
        if self._options.branch is not None:
            # Only a pull request has room for it. Its packages were just locked, so the cache has them.
            shown = self._with_definitions(shown, projects)
        if not changes:
            subject = self._options.subject or (format_subject(shown) if shown else "")
            return replace(made, changes=shown, subject=subject)
        subject = self._options.subject or format_subject(changes)
        base = start or "" if target.again else ""
        message = format_message(changes, subject, base=base, origin=self._origin)
        if self._options.signoff:
            message = add_signoff(message, self._author or read_committer(repository))
        return replace(made, changes=shown, subject=subject, message=message)

    def _with_definitions(self, shown: Sequence[LockChange], projects: Sequence[Project]) -> list[LockChange]:
        """Return changes with what they do to definitions, as far as layouts and the cache have them."""
        folders = {project.path: project.folder for project in projects}

        def compare(one: LockChange) -> Comparison:
            places = ContentPlaces((folders[one.path],), offline=True)
            return compare_lock_definitions(one.before, one.after, places, self._operator, self._reporter)

        return [replace(one, compared=compare(one)) for one in shown]

    def _make_change(
        self,
        checkout: Checkout,
        projects: Sequence[Project],
        inputs: Mapping[str, bytes | None],
        message: str,
    ) -> Change:
        sign = self._options.sign
        return Change(
            {project.path: project.data for project in projects},
            message,
            self._author,
            sign=signs_commits(checkout.repository) if sign is None else sign,
            made_from=InputFiles(
                frozenset(folder for project in projects for folder in project.inputs(checkout.repository)),
                everything=any(project.reads_everything(checkout.repository) for project in projects),
            ),
            inputs=inputs,
            again=_again(projects),
        )

    def _other_inputs(
        self, target: CommitTarget, projects: Sequence[Project], paths: Sequence[str]
    ) -> BranchDiffers:
        """Return the error of a commit whose parent has other inputs; a branch that starts again has those of its base."""
        own = any(path.startswith(project.prefix) for path in paths for project in projects)
        ways = [WITH_INPUTS] if own and not self._options.with_inputs else []
        if target.again:
            base = self._options.start or "HEAD"
            ways.append("or lock what is there, or name another start with --from")
            return BranchDiffers(f"{base}, where branch {target.branch} starts,", paths, next=ways)
        ways.append("bring that branch up to date, or name a new one")
        return BranchDiffers(f"branch {target.branch}", paths, next=ways)


def _again(projects: Sequence[Project]) -> str:
    folders = [project.folder for project in projects]
    names = [] if folders == [Path()] else map(as_path, folders)
    return f"bring this clone up to date, then lock again: {git('pull', folder=folders[0])} && {xplock('lock', *names)}"


def _changes(project: Project, snapshot: Snapshot, inputs: Mapping[str, bytes | None]) -> bool:
    own = any(path.startswith(project.prefix) for path in inputs)
    return own or not snapshot.holds(project.path, project.data)
