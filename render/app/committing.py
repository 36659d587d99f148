"""Committing for a command: the locks of all folders, one commit for each repository."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from render.app.commit_groups import Group, open_groups
from render.app.commit_options import CommitOptions
from render.app.commit_projects import Project, make_project
from render.app.reporter import Reporter
from render.errors import RenderError
from render.git.landing import Change, InputFiles, land, refuse_other_inputs
from render.git.names import Author, parse_author
from render.git.revisions import find_commit
from render.limits import Limits
from render.views.commit_message import LockChange, format_message, format_subject
from render.views.committed import Committed, committed_hints, format_committed


@contextmanager
def open_committer(
    reporter: Reporter, options: CommitOptions, folders: Sequence[Path], limits: Limits
) -> Iterator["Committer"]:
    """Find where folders are committed to; what would stop a commit is found before anything is resolved or written."""
    options.check()
    author = parse_author(options.author) if options.author is not None else None
    with ExitStack() as resources:
        groups = open_groups(folders, options, limits, resources)
        yield Committer(reporter, options, author, groups, limits)


@dataclass(frozen=True, slots=True)
class Committer:
    """Commits the locks of folders, one commit for each repository."""

    _reporter: Reporter
    _options: CommitOptions
    _author: Author | None
    _groups: Sequence[Group]
    _limits: Limits

    def commit(self, locks: Mapping[Path, bytes], *, dry_run: bool) -> list[Committed]:
        """Commit the text of every folder's lock."""
        made: list[Committed] = []
        try:
            for group in self._groups:
                made.append(self._commit(group, locks, dry_run=dry_run))
        except RenderError:
            # What is done is done, in other repositories.
            for one in made:
                self._reporter.say(format_committed(one))
            raise
        for hint in [hint for one in made for hint in committed_hints(one)]:
            self._reporter.warn(hint)
        return made

    def _commit(self, group: Group, locks: Mapping[Path, bytes], *, dry_run: bool) -> Committed:
        projects = [
            make_project(folder, prefix, locks[folder], self._limits)
            for folder, prefix in group.folders.items()
        ]
        target = group.find_target(self._options, dry_run=dry_run)
        compared = [(project, project.compare(group.repository, target.start)) for project in projects]
        changed = [project for project, difference in compared if difference]
        made = self._describe(group, [difference for _, difference in compared if difference])
        if not changed and (group.remote is None or dry_run):
            return made
        change = self._make_change(group, changed or projects, made.message)
        here = find_commit(group.repository, "HEAD")
        if target.start not in (None, here):
            refuse_other_inputs(group.repository, change, group.branch, here, target.start)
        for project in changed:
            self._tell_uncommitted(project, project.uncommitted(group.repository, target.start))
        return made if dry_run else replace(made, landed=land(group.repository, change, target))

    def _describe(self, group: Group, changes: Sequence[LockChange]) -> Committed:
        """Return what would be committed, in words."""
        if not changes:
            return Committed(group.branch, remote=group.remote, current=group.current)
        subject = self._options.subject or format_subject(changes)
        message = format_message(changes, subject)
        return Committed(group.branch, changes, subject, message, group.remote, group.current)

    def _make_change(self, group: Group, projects: Sequence[Project], message: str) -> Change:
        return Change(
            {project.path: project.data for project in projects},
            message,
            self._author,
            sign=self._options.sign,
            made_from=InputFiles(
                frozenset(folder for project in projects for folder in project.inputs(group.repository)),
                everything=any(project.reads_everything(group.repository) for project in projects),
            ),
        )

    def _tell_uncommitted(self, project: Project, names: Sequence[str]) -> None:
        if names:
            self._reporter.warn(
                f"the committed lock was made for files of {project.folder} that are not in that commit as they are "
                f"here: {', '.join(names)}"
            )
