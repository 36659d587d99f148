"""xplock lock: resolve and write."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from render.cli.options import folders_argument, layout_option, output_option
from render.cli.output import Output, Progress
from render.errors import Differs, RenderError
from render.files import LOCK_FILE
from render.inputs.projects import Inputs, read_inputs
from render.limits import Limits
from render.lock.file import write_lock
from render.lock.format import format_lock
from render.lock.model import Lock, LockedPackage
from render.lock.update import LockedTags
from render.lock.verify import VerifyFinding, verify_tag
from render.packages import Package
from render.pipeline import LockOptions, is_current, read_current, update_lock
from render.references import Reference, Source
from render.resolve.model import Catalog
from render.views.report import format_report, report_document

if TYPE_CHECKING:
    from render.connect import World
    from render.xpkg.catalog import Catalog as PackageCatalog


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a folder's lock was, and what it will be."""

    folder: Path
    before: Lock
    after: Lock
    changes: bool


@click.command(
    epilog="Examples: xplock lock; xplock lock -P provider-aws-s3=v1.2.0; xplock lock --check clusters/*"
)
@folders_argument
@click.option(
    "-U", "--upgrade", "everything", is_flag=True, help="Let every pin move to the newest version that fits."
)
@click.option(
    "-P",
    "--upgrade-package",
    "packages",
    multiple=True,
    metavar="SRC[=VERSION]",
    help="Let this pin move, to VERSION if given; its family moves along. May be repeated.",
)
@click.option("--check", is_flag=True, help="Write nothing; exit 3 if the lock would change.")
@click.option("--dry-run", is_flag=True, help="Write nothing; tell what would change.")
@click.option(
    "--offline", is_flag=True, help="Ask no registry; what is locked, cached or in a layout has to do."
)
@click.option("--new", is_flag=True, help="Start over: forget the names and pins of the lock that was.")
@click.option(
    "--allow-downgrade",
    is_flag=True,
    help="Accept another version, a lower one too, where the locked one is no longer offered.",
)
@layout_option
@output_option("text", "json")
@click.pass_obj
def lock(
    output: Output,
    folders: tuple[Path, ...],
    everything: bool,
    packages: tuple[str, ...],
    check: bool,
    dry_run: bool,
    offline: bool,
    new: bool,
    allow_downgrade: bool,
    layouts: list[tuple[str, Path]],
    form: str,
) -> None:
    """Resolve everything that each DIR asks for, and write the answer to its crossplane.lock.yaml.

    Pins that still fit stay. With several folders all are written, or none.
    """
    options = LockOptions(packages, everything, allow_downgrade)
    run = _Run(output, options, layouts, offline=offline, new=new)
    outcomes = run.resolve_all(folders)
    changed = [outcome for outcome in outcomes if outcome.changes]
    if not check and not dry_run:
        for outcome in changed:
            write_lock(outcome.folder, format_lock(outcome.after), limits=run.limits)
    reports = [(str(outcome.folder), outcome.before, outcome.after) for outcome in outcomes]
    if form == "json":
        output.result_json([report_document(*report) for report in reports])
    elif output.verbosity >= 0:
        output.report("".join(format_report(*report, several=len(reports) > 1) for report in reports))
    if check and changed:
        raise Differs(
            f"{len(changed)} of {len(outcomes)} locks would change",
            why=[str(outcome.folder / LOCK_FILE) for outcome in changed],
            next="run `xplock lock` and commit what it writes",
        )


class _SeveralFailed(RenderError):
    """Folders that failed; each of their errors was shown already."""

    def __init__(self, failures: Sequence[RenderError], folders: int) -> None:
        super().__init__(
            f"{len(failures)} of {folders} folders could not be locked",
            why="with several folders all locks are written, or none",
            next="correct the errors above",
        )
        self.exit_code = max(error.exit_code for error in failures)  # type: ignore[misc]  # an instance's own


class _Run:
    """One call: many folders, one set of connections, opened only if something has to be asked."""

    def __init__(
        self,
        output: Output,
        options: LockOptions,
        layouts: Sequence[tuple[str, Path]],
        *,
        offline: bool,
        new: bool,
    ) -> None:
        self.limits = Limits.from_environment(os.environ)
        self._output = output
        self._options = options
        self._layouts = layouts
        self._offline = offline
        self._new = new
        self._world: World | None = None

    def resolve_all(self, folders: Sequence[Path]) -> list[Outcome]:
        """Resolve every folder; whatever fails, all of it is told before anything is written."""
        outcomes: list[Outcome] = []
        failures: list[RenderError] = []
        for folder in folders:
            try:
                outcomes.append(self._resolve(folder))
            except RenderError as error:
                failures.append(error)
                if len(folders) > 1:
                    self._output.say(f"in {folder}:")
                    self._output.error(error)
        if not failures:
            return outcomes
        raise failures[0] if len(folders) == 1 else _SeveralFailed(failures, len(folders))

    def _resolve(self, folder: Path) -> Outcome:
        inputs = read_inputs(folder, self.limits, os.environ)
        current = read_current(folder, self.limits, new=self._new)
        for note in current.notes:
            self._output.say(note)
        if not current.merged and not self._options.upgrades and is_current(current.lock, inputs):
            return Outcome(folder, current.lock, current.lock, changes=False)
        after = self._update(inputs, current.lock)
        unchanged = not current.merged and format_lock(after) == format_lock(current.lock)
        return Outcome(folder, current.lock, after, changes=not unchanged)

    def _update(self, inputs: Inputs, current: Lock) -> Lock:
        # Only who has to ask pays for HTTP.
        from render.connect import open_world

        if self._world is None:
            self._world = open_world(os.environ, warn=self._output.warn, trace=self._output.trace)
        layouts = [*self._layouts, *inputs.settings.layouts]
        catalog = self._world.catalog(layouts, inputs.rewrites, offline=self._offline)
        known = LockedTags(catalog, current) if self._offline else catalog
        with self._output.progress(f"resolving {inputs.folder}") as progress:
            update = update_lock(inputs, current, _Watched(known, progress), self.limits, self._options)
        moved = [] if self._offline else self._moved_tags(current, update.lock, catalog)
        for note in (*update.notes, *moved):
            self._output.warn(note)
        return update.lock

    def _moved_tags(self, before: Lock, after: Lock, catalog: "PackageCatalog") -> list[str]:
        """Tell which pins stay although their tags no longer name those bytes."""
        kept = [
            p
            for s, p in after.packages.items()
            if s in before.packages and before.packages[s].digest == p.digest
        ]
        with ThreadPoolExecutor(self.limits.parallel, thread_name_prefix="xplock-tags") as pool:
            found = [
                finding
                for findings in pool.map(lambda p: _tag_trouble(p, catalog), kept)
                for finding in findings
            ]
        return [
            f"{finding.package.source} {finding.package.version}: {finding.trouble} since it was locked; "
            f"the locked bytes stay (to take others: xplock lock -P {finding.package.source})"
            for finding in found
        ]


def _tag_trouble(package: LockedPackage, catalog: "PackageCatalog") -> list[VerifyFinding]:
    try:
        return list(verify_tag(package, catalog))
    except RenderError:
        # Not what was asked for; `xplock verify` tells the whole story.
        return []


@dataclass(frozen=True, slots=True)
class _Watched:
    """A catalog that tells how far it is."""

    catalog: Catalog
    progress: Progress

    def tags(self, source: Source) -> Sequence[str]:
        """Return all tags of a source."""
        return self.catalog.tags(source)

    def package(self, reference: Reference) -> Package:
        """Return the package that a reference names."""
        self.progress.expect()
        package = self.catalog.package(reference)
        self.progress.advance()
        return package
