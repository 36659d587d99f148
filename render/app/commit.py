"""Committing the locks of folders: one commit for each repository."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from render.app.commit_checkouts import Checkout, open_checkouts
from render.app.commit_options import CommitOptions
from render.app.commit_projects import Project, make_project
from render.app.operator_settings import OperatorSettings
from render.app.reporter import Reporter
from render.errors import RenderError
from render.git.landing import Change, InputFiles, land, refuse_other_inputs
from render.git.names import Author, parse_author
from render.git.objects import read_committer
from render.git.revisions import find_commit
from render.git.signing import signs_commits
from render.git.trailers import add_signoff
from render.limits import Limits
from render.views.commit_message import LockChange, format_message, format_subject
from render.views.committed import Committed, committed_hints, format_committed


@contextmanager
def open_committer(
    reporter: Reporter, options: CommitOptions, folders: Sequence[Path], operator: OperatorSettings
) -> Iterator["Committer"]:
    """Open the repositories of folders; raise for anything that would stop a commit, before anything is written."""
    options.check()
    author = parse_author(options.author) if options.author is not None else None
    with ExitStack() as resources:
        checkouts = open_checkouts(folders, options, operator, resources)
        yield Committer(reporter, options, author, checkouts, operator.limits)


@dataclass(frozen=True, slots=True)
class Committer:
    """Commits the locks of folders, one commit for each repository."""

    _reporter: Reporter
    _options: CommitOptions
    _author: Author | None
    _checkouts: Sequence[Checkout]
    _limits: Limits

    def commit(self, locks: Mapping[Path, bytes], *, dry_run: bool) -> list[Committed]:
        """Commit the text of every folder's lock."""
        made: list[Committed] = []
        try:
            for checkout in self._checkouts:
                made.append(self._commit(checkout, locks, dry_run=dry_run))
        except RenderError:
            # Commits in other repositories stay, so they are reported.
            for one in made:
                self._reporter.say(format_committed(one))
            raise
        for hint in [hint for one in made for hint in committed_hints(one)]:
            self._reporter.warn(hint)
        return made

    def _commit(self, checkout: Checkout, locks: Mapping[Path, bytes], *, dry_run: bool) -> Committed:
        projects = [
            make_project(folder, prefix, locks[folder], self._limits)
            for folder, prefix in checkout.folders.items()
        ]
        target = checkout.find_target(self._options, dry_run=dry_run)
        compared = [(project, project.compare(checkout.repository, target.start)) for project in projects]
        changed = [project for project, difference in compared if difference]
        made = self._describe(checkout, [difference for _, difference in compared if difference])
        if not changed and (checkout.remote is None or dry_run):
            return made
        change = self._make_change(checkout, changed or projects, made.message)
        here = find_commit(checkout.repository, "HEAD")
        if target.start not in (None, here):
            refuse_other_inputs(checkout.repository, change, checkout.branch, here, target.start)
        for project in changed:
            self._warn_uncommitted(project, project.uncommitted(checkout.repository, target.start))
        return made if dry_run else replace(made, landed=land(checkout.repository, change, target))

    def _describe(self, checkout: Checkout, changes: Sequence[LockChange]) -> Committed:
        """Return the commit that would be made, with its message."""
        if not changes:
            return Committed(checkout.branch, remote=checkout.remote, current=checkout.current)
        subject = self._options.subject or format_subject(changes)
        message = format_message(changes, subject)
        if self._options.signoff:
            message = add_signoff(message, self._author or read_committer(checkout.repository))
        return Committed(checkout.branch, changes, subject, message, checkout.remote, checkout.current)

    def _make_change(self, checkout: Checkout, projects: Sequence[Project], message: str) -> Change:
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
        )

    def _warn_uncommitted(self, project: Project, names: Sequence[str]) -> None:
        if names:
            self._reporter.warn(
                f"the committed lock was made for files of {project.folder} that are not in that commit as they are "
                f"here: {', '.join(names)}"
            )
