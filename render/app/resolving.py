"""Resolving for a command: many folders, one set of connections, and what people should know on stderr."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from render.app.reporter import Progress, Reporter
from render.deadline import Deadline
from render.errors import RenderError
from render.folders.neighbours import Neighbours, read_neighbours
from render.folders.provided import find_unsuited
from render.inputs.projects import Inputs, read_inputs
from render.lifecycle.preferences import LockedTags
from render.lifecycle.update import CurrentLock, LockOptions, is_current, read_current, update_lock
from render.limits import Limits
from render.lock.format import format_lock
from render.lock.model import Lock, LockedPackage
from render.lock.parse import parse_lock
from render.lock.verify import VerifyFinding, verify_tag
from render.packages import Package
from render.references import Reference, Source
from render.resolve.model import Catalog

if TYPE_CHECKING:
    from render.app.world import World
    from render.xpkg.catalog import Catalog as PackageCatalog

_FOLLOW_INPUTS = LockOptions()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a folder asks for, what its lock was, and what it will be."""

    inputs: Inputs
    before: Lock
    after: Lock
    changes: bool
    # What other folders provide by now and packages of the lock before do not accept.
    unsuited: tuple[str, ...] = ()
    # What people should know about the lock that it will be.
    notes: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """The folder."""
        return self.inputs.folder

    def as_written(self, limits: Limits) -> Lock:
        """Return the lock as its file would have it, so that the same is rendered with a file and without."""
        return parse_lock(format_lock(self.after).encode(), limits, place=str(self.folder))


@dataclass(frozen=True, slots=True)
class Asked:
    """What a folder asks for, and the lock that it starts from."""

    inputs: Inputs
    current: CurrentLock


class Resolver:
    """One call: connections are opened only if something has to be asked, and kept for the next folder."""

    def __init__(
        self,
        environ: Mapping[str, str],
        reporter: Reporter,
        layouts: Sequence[tuple[str, Path]] = (),
        *,
        offline: bool = False,
        options: LockOptions = _FOLLOW_INPUTS,
        new: bool = False,
        deadline: Deadline | None = None,
        in_memory: bool = False,
    ) -> None:
        self.limits = Limits.from_environment(environ)
        self._environ = environ
        self._reporter = reporter
        self._layouts = layouts
        self._offline = offline
        self._options = options
        self._new = new
        # Of the whole call, if more than this is done in it.
        self._deadline = deadline
        # Whether nobody writes the lock that comes out.
        self._in_memory = in_memory
        self._world: World | None = None

    def resolve(self, folder: Path) -> Outcome:
        """Resolve what a folder asks for, starting from its lock; nothing is written."""
        asked = self.read(folder)
        return self.answer(asked, read_neighbours(folder, asked.inputs.settings.uses, self.limits))

    def read(self, folder: Path) -> Asked:
        """Read what a folder asks for and has locked."""
        inputs = read_inputs(folder, self.limits, self._environ)
        current = read_current(folder, self.limits, new=self._new, in_memory=self._in_memory)
        for note in current.notes:
            self._reporter.say(note)
        return Asked(inputs, current)

    def answer(self, asked: Asked, around: Neighbours) -> Outcome:
        """Resolve what a folder asks for, among other folders of its cluster; nothing is written."""
        inputs, current = asked.inputs, asked.current
        if (
            not current.merged
            and not self._options.asks_for_more
            and is_current(current.lock, inputs, around)
        ):
            return Outcome(inputs, current.lock, current.lock, changes=False)
        after, notes = self._update(inputs, current.lock, around)
        unchanged = not current.merged and format_lock(after) == format_lock(current.lock)
        unsuited = find_unsuited(current.lock, around.after_moves(inputs.settings.moves, current.lock))
        return Outcome(inputs, current.lock, after, not unchanged, tuple(unsuited), notes)

    def _update(self, inputs: Inputs, current: Lock, around: Neighbours) -> tuple[Lock, tuple[str, ...]]:
        # Only who has to ask pays for HTTP.
        from render.app.world import open_world

        if self._world is None:
            self._world = open_world(
                self._environ, warn=self._reporter.warn, trace=self._reporter.trace, deadline=self._deadline
            )
        layouts = [*self._layouts, *inputs.settings.layouts]
        catalog = self._world.catalog(layouts, inputs.rewrites, offline=self._offline)
        known = LockedTags(catalog, current) if self._offline else catalog
        with self._reporter.progress(f"resolving {inputs.folder}") as progress:
            watched = _Watched(known, progress)
            update = update_lock(inputs, current, watched, self.limits, self._options, around)
        moved = [] if self._offline else self._moved_tags(current, update.lock, catalog)
        notes = (*update.notes, *moved)
        for note in notes:
            self._reporter.warn(note)
        return update.lock, notes

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
