"""Blockers: the packages that keep another one from being retired, in its own lock, in using folders, and by stale entries."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from render.crossplane import keeps_stale_entries
from render.lock.graph import LockGraph, Target
from render.lock.model import Lock, LockedPackage, Provided
from render.lock.stale_entries import stale_names
from render.names import object_name
from render.references import Source
from render.versions.version import Version


@dataclass(frozen=True, slots=True)
class LockedFolder:
    """A folder with its lock, and the settings that matter for `retire`."""

    # As the user writes it.
    name: str
    lock: Lock
    guard: bool = True
    crossplane: Version | None = None
    # The folders that provide something to it: as its lock names each, and as the user does.
    uses: Mapping[str, str] = field(default_factory=dict)


class Place(NamedTuple):
    """One package in one folder, by the source that the cluster knows."""

    folder: str
    source: Source


class Reason(StrEnum):
    """Why one package blocks another."""

    DEPENDS = "depends"
    # It was deactivated for the other, which has the objects that it installed.
    REPLACED = "replaced"
    # It is detached, and its entry in the cluster's Lock still names the other.
    STALE = "stale"
    # The same, and the entry names a source whose derived object name the other one has.
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Blocker:
    """A package that needs another one."""

    place: Place
    package: LockedPackage
    reason: Reason

    @property
    def would_reinstall(self) -> bool:
        """Whether Crossplane would install the other package again, since an entry in its Lock names it."""
        return self.is_stale or (self.reason is Reason.DEPENDS and not self.package.detached)

    @property
    def is_stale(self) -> bool:
        """Whether it needs the other one only because of its stale entry."""
        return self.reason in (Reason.STALE, Reason.NAME)


Blockers: TypeAlias = Mapping[Place, Sequence[Blocker]]
_Found: TypeAlias = Iterator[tuple[Place, Blocker]]


def find_blockers(folders: Sequence[LockedFolder]) -> Blockers:
    """Return the blockers of each package that has any; every blocker once, with the first reason found."""
    found: dict[Place, dict[Place, Blocker]] = {}
    for folder in folders:
        for rule in BLOCKER_RULES:
            for target, blocker in rule(folder, folders):
                found.setdefault(target, {}).setdefault(blocker.place, blocker)
    return {target: list(blockers.values()) for target, blockers in found.items()}


def find_stale_entries(folder: LockedFolder, _: Sequence[LockedFolder]) -> _Found:
    """A stale entry blocks the package that it names."""
    for source, package in _stale_entries(folder):
        # The cluster's Lock knows nothing of folders.
        for name in _reachable(folder):
            yield Place(name, source), _blocker(folder, package, Reason.STALE)


def find_stale_names(folder: LockedFolder, folders: Sequence[LockedFolder]) -> _Found:
    """A stale entry blocks the package whose object alone keeps Crossplane from installing the named source."""
    named: dict[str, list[Place]] = {}
    reachable = set(_reachable(folder))
    for other in folders:
        for package in other.lock.installed() if other.name in reachable else ():
            named.setdefault(package.object_name, []).append(Place(other.name, package.cluster_source))
    for source, package in _stale_entries(folder):
        blocker = _blocker(folder, package, Reason.NAME)
        for place in named.get(object_name(source), ()):
            if place.source != source and place != blocker.place:
                yield place, blocker


def find_dependants(folder: LockedFolder, _: Sequence[LockedFolder]) -> _Found:
    """An active package blocks every package that it depends on."""
    for source, needs in LockGraph(folder.lock).needs.items():
        blocker = _blocker(folder, folder.lock.packages[source], Reason.DEPENDS)
        for need in needs:
            for target in _places(folder, need.targets):
                yield target, blocker


def find_deactivated(folder: LockedFolder, _: Sequence[LockedFolder]) -> _Found:
    """A deactivated package blocks its successors."""
    lock = folder.lock
    for package in (lock.deactivated[source] for source in sorted(lock.deactivated)):
        found = [lock.packages.get(source) or lock.provided.get(source) for source in package.replaced_by]
        for target in _places(folder, [one for one in found if one is not None]):
            yield target, _blocker(folder, package, Reason.REPLACED)


# Stale entries come first: they say more about a detached package than that it depends.
BLOCKER_RULES: tuple[Callable[[LockedFolder, Sequence[LockedFolder]], _Found], ...] = (
    find_stale_entries,
    find_stale_names,
    find_dependants,
    find_deactivated,
)


def _stale_entries(folder: LockedFolder) -> Iterator[tuple[Source, LockedPackage]]:
    if not keeps_stale_entries(folder.crossplane):
        return
    for source, packages in stale_names(folder.lock.packages.values()).items():
        for package in packages:
            yield source, package


def _reachable(folder: LockedFolder) -> list[str]:
    return sorted({folder.name, *folder.uses.values()})


def _blocker(folder: LockedFolder, package: LockedPackage, reason: Reason) -> Blocker:
    return Blocker(Place(folder.name, package.cluster_source), package, reason)


def _places(folder: LockedFolder, targets: Iterable[Target]) -> Iterator[Place]:
    for target in targets:
        name = folder.uses.get(target.folder) if isinstance(target, Provided) else folder.name
        # Nothing is retired in folders that this call does not read.
        if name is not None:
            yield Place(name, target.cluster_source)
