"""Resolving a folder: inputs, current lock and other folders in, the new lock out; nothing is written."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from render.app.head_start import HeadStart
from render.app.operator_settings import OperatorSettings
from render.app.reporter import Progress, Reporter
from render.errors import RenderError
from render.folders.neighbours import Neighbours, read_neighbours
from render.folders.provided import find_unsuited
from render.inputs.projects import Inputs, read_inputs
from render.lifecycle.preferences import LockedTags
from render.lifecycle.update import CurrentLock, LockOptions, is_current, read_current, update_lock
from render.lock.format import check_revision
from render.lock.model import Lock, LockedPackage
from render.lock.verify import VerifyFinding, verify_tag
from render.packages import Package
from render.references import Reference, Source
from render.resolve.model import Catalog
from render.system.deadline import Deadline

if TYPE_CHECKING:
    from render.app.world import World
    from render.xpkg.catalog import Catalog as PackageCatalog

_FOLLOW_INPUTS = LockOptions()


@dataclass(frozen=True, slots=True)
class Outcome:
    """The inputs of a folder, its lock before, and the lock that answers the inputs."""

    inputs: Inputs
    before: Lock
    after: Lock
    changes: bool
    # Versions that other folders provide now and that packages of the lock before do not accept.
    unsuited: tuple[str, ...] = ()
    # Warnings about the new lock.
    notes: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """The folder."""
        return self.inputs.folder


@dataclass(frozen=True, slots=True)
class ReadFolder:
    """A folder as read: its inputs, and the lock that resolving starts from."""

    inputs: Inputs
    current: CurrentLock


class Resolver:
    """Resolves folders; opens connections only when it needs them, and keeps them for the next folder."""

    def __init__(
        self,
        operator: OperatorSettings,
        reporter: Reporter,
        layouts: Sequence[tuple[str, Path]] = (),
        *,
        offline: bool = False,
        options: LockOptions = _FOLLOW_INPUTS,
        new: bool = False,
        deadline: Deadline | None = None,
        in_memory: bool = False,
        head_start: HeadStart | None = None,
    ) -> None:
        self.limits = operator.limits
        self._operator = operator
        self._reporter = reporter
        self._layouts = layouts
        self._offline = offline
        self._options = options
        self._new = new
        # The deadline of the whole call, where resolving is a part of it.
        self._deadline = deadline
        # Whether the new lock is only rendered, never written.
        self._in_memory = in_memory
        self._head_start = head_start
        self._world: World | None = head_start.world if head_start else None

    def resolve(self, folder: Path) -> Outcome:
        """Resolve one folder, starting from its lock."""
        read = self.read(folder)
        return self.answer(read, read_neighbours(folder, read.inputs.settings.uses, self.limits))

    def render(self, folder: Path) -> list[dict[str, Any]]:
        """Resolve one folder, and return the objects that its new lock renders."""
        # Imported late: locking renders nothing.
        from render.manifests.objects import render_lock

        outcome = self.resolve(folder)
        return render_lock(outcome.after, outcome.inputs, self.limits, self._operator.environ)

    def read(self, folder: Path) -> ReadFolder:
        """Read the inputs and the lock of a folder."""
        inputs = self._read_inputs(folder)
        current = read_current(folder, self.limits, new=self._new, in_memory=self._in_memory)
        for note in current.notes:
            self._reporter.say(note)
        return ReadFolder(inputs, current)

    def _read_inputs(self, folder: Path) -> Inputs:
        if self._head_start and self._head_start.inputs.folder == folder:
            return self._head_start.inputs
        return read_inputs(folder, self.limits, self._operator.environ)

    def answer(self, read: ReadFolder, around: Neighbours) -> Outcome:
        """Resolve a folder among the other folders of its cluster."""
        inputs, current = read.inputs, read.current
        if (
            not current.merged
            and not self._options.asks_for_more
            and is_current(current.lock, inputs, around)
        ):
            return Outcome(inputs, current.lock, current.lock, changes=False)
        check_revision(current.lock)
        after, notes = self._update(inputs, current.lock, around)
        unchanged = not current.merged and after == current.lock
        unsuited = find_unsuited(current.lock, around.after_moves(inputs.settings.moves, current.lock))
        return Outcome(inputs, current.lock, after, not unchanged, tuple(unsuited), notes)

    def _update(self, inputs: Inputs, current: Lock, around: Neighbours) -> tuple[Lock, tuple[str, ...]]:
        # Imported late: a lock that is up to date needs no HTTP.
        from render.app.world import open_world

        if self._world is None:
            self._world = open_world(self._operator, self._reporter, deadline=self._deadline)
        layouts = [*self._layouts, *inputs.settings.layouts]
        catalog = self._world.catalog(layouts, inputs.rewrites, offline=self._offline)
        known = LockedTags(catalog, current) if self._offline else catalog
        with self._reporter.progress(f"resolving {inputs.folder}") as progress:
            watched = _Watched(known, progress, self._head_start_of(inputs))
            update = update_lock(inputs, current, watched, self.limits, self._options, around)
        moved = [] if self._offline else self._moved_tags(current, update.lock, catalog)
        notes = (*update.notes, *moved)
        for note in notes:
            self._reporter.warn(note)
        return update.lock, notes

    def _head_start_of(self, inputs: Inputs) -> HeadStart | None:
        # Another folder may have other rewrites.
        return self._head_start if self._head_start and self._head_start.inputs is inputs else None

    def _moved_tags(self, before: Lock, after: Lock, catalog: "PackageCatalog") -> list[str]:
        """Describe the pins that are kept although their tags now name other bytes."""
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
        # Only a hint; `xplock verify` reports errors.
        return []


@dataclass(frozen=True, slots=True)
class _Watched:
    """A catalog that reports progress."""

    catalog: Catalog
    progress: Progress
    head_start: HeadStart | None

    def tags(self, source: Source) -> Sequence[str]:
        """Return all tags of a source."""
        start = self.head_start
        return start.tags(source, self.catalog) if start else self.catalog.tags(source)

    def package(self, reference: Reference) -> Package:
        """Return the package that a reference names."""
        self.progress.expect()
        start = self.head_start
        package = start.package(reference, self.catalog) if start else self.catalog.package(reference)
        self.progress.advance()
        return package
