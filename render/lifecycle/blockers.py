"""Who needs an installed package: in its own lock, in folders that use it, and by the cluster's own Lock."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from render.crossplane import keeps_stale_entries
from render.lock.graph import LockGraph, Target
from render.lock.model import Lock, LockedPackage, Provided
from render.lock.stale_entries import stale_names
from render.names import object_name
from render.references import Source
from render.versions import Version


@dataclass(frozen=True, slots=True)
class LockedFolder:
    """A folder with its lock, and what its settings say about letting go."""

    # As the user writes it.
    name: str
    lock: Lock
    guard: bool = True
    crossplane: Version | None = None
    # The folders that provide something to it: as its lock names each, and as the user does.
    uses: Mapping[str, str] = field(default_factory=dict)


class Place(NamedTuple):
    """One package in one folder, by the source that the cluster knows it by."""

    folder: str
    source: Source


class Hold(StrEnum):
    """How one package needs another."""

    DEPENDS = "depends"
    # It was switched off in favour of the other, which has what it installed.
    REPLACED = "replaced"
    # It is detached, and its entry in the cluster's Lock still names the other.
    STALE = "stale"
    # The same, and the entry names what Crossplane would give the other's name to.
    IN_PLACE = "in place"


@dataclass(frozen=True, slots=True)
class Holder:
    """A package that needs another one."""

    place: Place
    package: LockedPackage
    hold: Hold

    @property
    def brings_back(self) -> bool:
        """Whether Crossplane would install again what it needs, since an entry in its Lock says so."""
        return self.is_stale or (self.hold is Hold.DEPENDS and not self.package.detached)

    @property
    def is_stale(self) -> bool:
        """Whether it needs the other only because of its stale entry."""
        return self.hold in (Hold.STALE, Hold.IN_PLACE)


Holders: TypeAlias = Mapping[Place, Sequence[Holder]]


def find_holders(folders: Sequence[LockedFolder]) -> Holders:
    """Return who needs each package that is needed; every holder once."""
    found: dict[Place, dict[Place, Holder]] = {}
    for folder in folders:
        # Of a detached package, its stale entry tells more than that it depends.
        stale = (*_stale(folder), *_in_place(folder, folders))
        for target, holder in (*stale, *_dependants(folder), *_replaced(folder)):
            found.setdefault(target, {}).setdefault(holder.place, holder)
    return {target: list(holders.values()) for target, holders in found.items()}


def _dependants(folder: LockedFolder) -> Iterator[tuple[Place, Holder]]:
    for source, needs in LockGraph(folder.lock).needs.items():
        holder = _holder(folder, folder.lock.packages[source], Hold.DEPENDS)
        for need in needs:
            for target in _places(folder, need.targets):
                yield target, holder


def _replaced(folder: LockedFolder) -> Iterator[tuple[Place, Holder]]:
    lock = folder.lock
    for _, package in sorted(lock.deactivated.items()):
        found = [lock.packages.get(source) or lock.provided.get(source) for source in package.replaced_by]
        for target in _places(folder, [one for one in found if one is not None]):
            yield target, _holder(folder, package, Hold.REPLACED)


def _stale(folder: LockedFolder) -> Iterator[tuple[Place, Holder]]:
    for source, package in _stale_entries(folder):
        for name in _around(folder):
            yield Place(name, source), _holder(folder, package, Hold.STALE)


def _in_place(folder: LockedFolder, folders: Sequence[LockedFolder]) -> Iterator[tuple[Place, Holder]]:
    """Yield the packages whose objects alone keep Crossplane from installing what stale entries name."""
    named: dict[str, list[Place]] = {}
    around = set(_around(folder))
    for other in folders:
        for package in other.lock.installed() if other.name in around else ():
            named.setdefault(package.object_name, []).append(Place(other.name, package.cluster_source))
    for source, package in _stale_entries(folder):
        holder = _holder(folder, package, Hold.IN_PLACE)
        for place in named.get(object_name(source), ()):
            if place.source != source and place != holder.place:
                yield place, holder


def _stale_entries(folder: LockedFolder) -> Iterator[tuple[Source, LockedPackage]]:
    if not keeps_stale_entries(folder.crossplane):
        return
    for source, packages in stale_names(folder.lock.packages.values()).items():
        for package in packages:
            yield source, package


def _around(folder: LockedFolder) -> list[str]:
    # The cluster's Lock knows nothing of folders.
    return sorted({folder.name, *folder.uses.values()})


def _holder(folder: LockedFolder, package: LockedPackage, hold: Hold) -> Holder:
    return Holder(Place(folder.name, package.cluster_source), package, hold)


def _places(folder: LockedFolder, targets: Iterable[Target]) -> Iterator[Place]:
    for target in targets:
        name = folder.uses.get(target.folder) if isinstance(target, Provided) else folder.name
        # Of folders that are not at hand nothing is let go of.
        if name is not None:
            yield Place(name, target.cluster_source)
