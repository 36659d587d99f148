"""The changes between two locks: packages that are added, updated, moved, leaving, deactivated, or held."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from render.lock.diff import pair_packages
from render.lock.graph import Successor, find_successors
from render.lock.model import KeptPin, Lock, LockedPackage, Provided, Replaced, State, pin_places
from render.lock.stale_entries import stale_bounds, stale_names
from render.moves import Strategy
from render.references import Source

# A package before and after.
Pair: TypeAlias = tuple[LockedPackage, LockedPackage]
# How a source was replaced, and by which packages.
_Record: TypeAlias = tuple[Replaced, tuple[LockedPackage, ...]]
_Records: TypeAlias = Mapping[Source, _Record]


@dataclass(frozen=True, slots=True)
class Moved:
    """A source that was replaced, or is replaced in another way than before."""

    replaced: Replaced
    targets: tuple[LockedPackage, ...]
    # The package that was installed from that source before.
    old: LockedPackage | None = None
    earlier: Strategy | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """A package whose version must not change yet, since the cluster's Lock still names it for others."""

    package: LockedPackage
    # The packages with stale entries; none, if their next versions are locked and only have to be synced.
    holders: tuple[LockedPackage, ...]


@dataclass(frozen=True, slots=True)
class Unpinned:
    """A package that lost its kept pins for another reason than a change of its version."""

    package: LockedPackage
    pins: tuple[KeptPin, ...]


@dataclass(slots=True)
class Changes:
    """The changes of all packages, in the order of their sources."""

    added: list[LockedPackage] = field(default_factory=list)
    updated: list[Pair] = field(default_factory=list)
    moved: list[Moved] = field(default_factory=list)
    # Replaced by other packages.
    deactivated: list[LockedPackage] = field(default_factory=list)
    leaving: list[LockedPackage] = field(default_factory=list)
    returned: list[Pair] = field(default_factory=list)
    released: list[LockedPackage] = field(default_factory=list)
    removed: list[LockedPackage] = field(default_factory=list)
    detached: list[LockedPackage] = field(default_factory=list)
    attached: list[LockedPackage] = field(default_factory=list)
    unpinned: list[Unpinned] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    # The packages that other folders provide now, each with the record before.
    provided: list[tuple[Provided | None, Provided]] = field(default_factory=list)

    def touched(self) -> set[Source]:
        """Return the active packages with a change; held ones have none."""
        pairs = [new for _, new in (*self.updated, *self.returned)]
        changed = [*self.added, *self.leaving, *self.released, *self.detached, *self.attached, *pairs]
        targets = [target for moved in self.moved for target in moved.targets]
        return {p.source for p in (*changed, *targets, *[unpinned.package for unpinned in self.unpinned])}


def find_changes(before: Lock, after: Lock) -> Changes:
    """Compare two locks, package by package."""
    changes = Changes(
        moved=list(_moves(before, after)),
        held=list(_held(before, after)),
        provided=list(_provided(before, after)),
    )
    for old, new in pair_packages(before.installed(), after.installed()):
        if old is None and new is not None:
            changes.added.append(new)
        elif new is None and old is not None:
            changes.removed.append(old)
        elif old is not None and new is not None:
            _compare(old, new, changes)
        if new is not None and new.state is not State.DEACTIVATED:
            _compare_attachment(old, new, changes)
    return changes


def _compare(old: LockedPackage, new: LockedPackage, changes: Changes) -> None:
    """Add the one change of a package; a move is added elsewhere."""
    left = new.state is not State.WANTED
    if left and new.state is not old.state:
        (changes.deactivated if new.state is State.DEACTIVATED else changes.leaving).append(new)
    elif new.released and not old.released:
        changes.released.append(new)
    elif old.source != new.source:
        _compare_sources(old, new, changes)
    elif old.state is not new.state:
        changes.returned.append((old, new))
    elif (old.version, old.digest) != (new.version, new.digest):
        changes.updated.append((old, new))


def _compare_sources(old: LockedPackage, new: LockedPackage, changes: Changes) -> None:
    known = {moved.replaced.source for moved in changes.moved}
    if not known & {old.source, old.cluster_source}:
        changes.removed.append(old)
        changes.added.append(new)


def _compare_attachment(old: LockedPackage | None, new: LockedPackage, changes: Changes) -> None:
    was_detached = old is not None and bool(old.detached)
    if new.detached and not was_detached:
        changes.detached.append(new)
    elif was_detached and not new.detached:
        changes.attached.append(new)
    if old is not None and old.kept_pins and not new.kept_pins:
        current = (new.cluster_source, new.version)
        gone = [pin for pin in old.kept_pins if (pin_places(old, pin)[0], pin.tag) != current]
        changes.unpinned += [Unpinned(new, tuple(gone))] if gone else []


def _moves(before: Lock, after: Lock) -> Iterator[Moved]:
    then, now = _recorded(before), _recorded(after)
    for source in sorted(now, key=str):
        replaced, targets = now[source]
        earlier, last = then.get(source, (None, ()))
        if earlier is None or not _is_known(earlier, last, now[source], now):
            yield Moved(replaced, targets, _find(source, before), earlier.strategy if earlier else None)


def _is_known(earlier: Replaced, last: Iterable[LockedPackage], record: _Record, now: _Records) -> bool:
    """Return whether a move was there before, or follows from the move of its successor."""
    replaced, targets = record
    before, after = {package.source for package in last}, {package.source for package in targets}
    if before <= after:
        return earlier.strategy is replaced.strategy and before == after
    return before - after <= now.keys()


def _recorded(lock: Lock) -> _Records:
    return {
        source: (last.replaced, tuple(_packages(successors)))
        for source, successors in find_successors(lock.in_order()).items()
        if (last := successors[-1]).replaced
    }


def _packages(successors: Iterable[Successor]) -> Iterator[LockedPackage]:
    return (one.package for one in successors if isinstance(one.package, LockedPackage))


def _find(source: Source, lock: Lock) -> LockedPackage | None:
    """Return the package that a lock installs from a source."""
    return next((package for package in lock.installed() if source == package.cluster_source), None) or (
        lock.packages.get(source)
    )


def _held(before: Lock, after: Lock) -> Iterator[Held]:
    """Find packages whose versions were not free to change in this lock, or are not in the next."""
    holders = stale_names(after.packages.values())
    bound = {bound.edge.source for lock in (before, after) for bound in stale_bounds(lock)}
    for source in sorted(bound & after.packages.keys(), key=str):
        yield Held(after.packages[source], tuple(holders.get(source, ())))


def _provided(before: Lock, after: Lock) -> Iterator[tuple[Provided | None, Provided]]:
    for source in sorted(after.provided, key=str):
        old, new = before.provided.get(source), after.provided[source]
        # A package that this folder installed before is among the removed ones.
        if old != new and source not in before.packages:
            yield old, new
