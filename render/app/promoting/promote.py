"""Promoting into folders: a lock of each in which the versions and digests of another lock are the only ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from render.app.operator_settings import OperatorSettings
from render.app.promoting.mirrored import require_bytes
from render.app.promoting.origins import Origin
from render.app.promoting.targets import (
    Packages,
    PromotionOptions,
    bounded,
    choose_packages,
    edit_files,
    find_edits,
    new_roots,
    refuse_newer,
    require_common,
    root_files,
)
from render.app.reporter import Reporter
from render.app.resolving.outcome import Outcome, ReadFolder
from render.app.resolving.resolver import Resolver
from render.commands import LockCall, as_path, shell
from render.errors import InvalidInput, RenderError
from render.folders.neighbours import Neighbours
from render.inputs.projects import Edits
from render.lifecycle.update import LockOptions, LockUpdate
from render.limits import Limits
from render.lock.fleets import same_versions, with_needed
from render.lock.model import Lock, LockedPackage, Promotion
from render.lock.text.format import format_lock
from render.references import Source
from render.resolve.conflict import NoSolution
from render.system.boundary import real_path
from render.system.files import replace_file

# How many packages are tried one by one, to find those that can be promoted.
_MOST_TRIES = 40


@dataclass(frozen=True, slots=True)
class Promoter:
    """Promotes one origin into folders; `lock_folders` asks it where it asks the resolver otherwise."""

    origin: Origin
    resolver: Resolver
    operator: OperatorSettings
    reporter: Reporter
    options: PromotionOptions
    layouts: Sequence[tuple[str, Path]] = ()
    offline: bool = False
    # The files of each folder that change beside its lock.
    files: dict[Path, Mapping[str, bytes]] = field(default_factory=dict, init=False)

    @property
    def limits(self) -> Limits:
        """The limits of reading and resolving."""
        return self.resolver.limits

    @property
    def packages(self) -> Packages:
        """The packages that are promoted."""
        return choose_packages(self.origin, self.options.packages)

    def read(self, folder: Path) -> ReadFolder:
        """Read a folder as it will be: with the requests that the promotion edits."""
        if self.is_origin(folder):
            what = f"{folder} is where the versions come from"
            raise InvalidInput(what, next="name the folders that get them")
        read, self.files[folder] = self._read(folder, self.packages)
        return read

    def answer(self, read: ReadFolder, around: Neighbours) -> Outcome:
        """Resolve a folder with the promoted versions, and see that it can pull them."""
        if not self.offline:
            new = self._coming(read)
            require_bytes(read.inputs, new, self.layouts, self.operator, self.reporter, self.origin)
        around = replace(around, using=tuple((name, self._as_promoted(lock)) for name, lock in around.using))
        try:
            update = self._resolve(read, around, self.packages)
        except NoSolution as error:
            error.why = (*error.why, f"only versions that {self.origin.name} has locked are promoted")
            error.next = self._ways_on(read.inputs.folder, around)
            raise
        before, after = read.current.lock, self._with_origin(read, update.lock)
        for note in update.notes:
            self.reporter.warn(note)
        return Outcome(read.inputs, before, after, read.text, format_lock(after).encode(), notes=update.notes)

    def is_origin(self, folder: Path) -> bool:
        """Return whether a folder is the one that the versions come from."""
        return self.origin.path is not None and real_path(self.origin.path) == real_path(folder)

    def write_files(self, folder: Path) -> None:
        """Write the files of a folder that change beside its lock."""
        for name, data in self.files[folder].items():
            replace_file(folder / name, data)

    def _read(self, folder: Path, chosen: Packages) -> tuple[ReadFolder, Mapping[str, bytes]]:
        """Return a folder as it will be, and the files that change for that."""
        read, options = self.resolver.read(folder), self.options
        inputs, before = read.inputs, read.current.lock
        require_common(inputs, before, chosen, self.origin, adds=options.with_roots)
        if not options.allow_downgrade:
            refuse_newer(before, chosen, self.origin, folder)
        added = new_roots(inputs, before, self.origin, chosen) if options.with_roots else []
        files = {
            **edit_files(inputs, find_edits(inputs, chosen), self.limits, allowed=options.edits),
            **root_files(folder, added, self.limits),
        }
        return (self.resolver.read(folder, Edits(files)) if files else read), files

    def _resolve(self, read: ReadFolder, around: Neighbours, chosen: Packages) -> LockUpdate:
        folder = str(read.inputs.folder)
        # A lower version was allowed, or refused before.
        options = LockOptions(
            allow_lower=True, call=LockCall((folder,)), promoted=chosen, origin=self.origin.name
        )
        self.resolver.follow(options)
        return self.resolver.promote(read, around, bounded(chosen, read.current.lock))

    def _coming(self, read: ReadFolder) -> list[LockedPackage]:
        """Return the packages that a folder gets with other bytes than it has."""
        before, chosen = read.current.lock.packages, self.packages
        known = {*before, *(root.source for root in read.inputs.roots)}
        needed = with_needed(self.origin.lock, known & chosen.keys())
        return [
            package
            for source, package in chosen.items()
            if source in needed and (source not in before or before[source].digest != package.digest)
        ]

    def _as_promoted(self, lock: Lock) -> Lock:
        """Return the lock of a using folder of the call as it will be: it gets these versions, too, or none gets them."""
        chosen = self.packages
        packages = {
            source: replace(one, dependencies=chosen[source].dependencies, crds=chosen[source].crds)
            if source in chosen
            else one
            for source, one in lock.packages.items()
        }
        return replace(lock, packages=packages)

    def _with_origin(self, read: ReadFolder, lock: Lock) -> Lock:
        """Return the lock with where its versions are from; one that is a copy of the origin's lock says nothing more."""
        if format_lock(replace(lock, promoted=self.origin.lock.promoted)).encode() == self.origin.text:
            return self.origin.lock
        if same_versions(read.current.lock, lock):
            return lock
        chosen = self.packages
        taken = [s for s, p in lock.packages.items() if s in chosen and chosen[s].digest == p.digest]
        where = self.origin.seen_from(read.inputs.folder, self.limits)
        return replace(lock, promoted=Promotion(where, self.origin.digest, len(taken))) if taken else lock

    def _ways_on(self, folder: Path, around: Neighbours) -> tuple[str, ...]:
        """Return the command for the packages that can be promoted."""
        names = self._find_suiting(folder, around)
        if not names:
            return (
                f"no part of it suits: change what {folder} asks for, or lock in the origin what suits both",
            )
        words = [word for name in names for word in ("-P", str(name))]
        command = shell("xplock", "promote", *words, as_path(self.origin.name), as_path(folder))
        return (f"these packages suit everyone: {command}",)

    def _find_suiting(self, folder: Path, around: Neighbours) -> list[Source]:
        """Return packages that can be promoted together with what they need: each is added if that still works."""
        before = self.resolver.read(folder).current.lock.packages
        changed = [s for s, p in self.packages.items() if s in before and before[s].digest != p.digest]
        named: list[Source] = []
        taken: Packages = {}
        for source in changed[:_MOST_TRIES]:
            more = {**taken, **with_needed(self.origin.lock, [source])}
            if source not in taken and self._suits(folder, around, more):
                named, taken = (
                    [*(one for one in named if one not in with_needed(self.origin.lock, [source])), source],
                    more,
                )
        return named

    def _suits(self, folder: Path, around: Neighbours, chosen: Packages) -> bool:
        try:
            read, _ = self._read(folder, chosen)
            self._resolve(read, around, chosen)
        except RenderError:
            return False
        return True
