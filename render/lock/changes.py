"""The changes between two locks: packages that are added, updated, moved, leaving, deactivated, held or changed."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from render.lock.aspects import Differences, find_changed
from render.lock.diff import compare_whole, pair_packages
from render.lock.freshness import compare_inputs
from render.lock.graph import Successor, find_successors
from render.lock.model import KeptPin, Lock, LockedPackage, Provided, Replaced, State, pin_places
from render.lock.stale_entries import entry_names, stale_bounds
from render.moves import Strategy
from render.references import Source

# A package before and after.
Pair: TypeAlias = tuple[LockedPackage, LockedPackage]
# How a source was replaced, and by which packages.
_Record: TypeAlias = tuple[Replaced, tuple[LockedPackage, ...]]
_Records: TypeAlias = Mapping[Source, _Record]

# The aspects of a package that change with its version, and those that say why it is there.
_OF_A_VERSION = frozenset(
    {
        "version",
        "digest",
        "tag",
        "dependencies",
        "objects",
        "objectsDigest",
        "definitionsDigest",
        "groups",
        "family",
    }
    | {"crossplane", "crds", "releasedAt", "keptPins", "staleEntry", "root", "requiredBy"}
)
_OF_A_STATE = frozenset({"state", "released", "root", "requiredBy", "keptPins"})
# A deactivated package depends on nothing, and replaces nothing.
_OF_DEACTIVATION = _OF_A_STATE | {
    "source",
    "dependencies",
    "detached",
    "staleEntry",
    "replaces",
    "replacedBy",
}


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


@dataclass(frozen=True, slots=True)
class ChangedAspects:
    """A package, and the aspects in which it changed beside its version, its state and its moves."""

    package: LockedPackage
    aspects: Differences


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
    # The packages that other folders provided, and that nothing here needs any more.
    unneeded: list[Provided] = field(default_factory=list)
    changed: list[ChangedAspects] = field(default_factory=list)
    # The inputs that are new, gone or changed, and what changed in the lock as a whole.
    inputs: list[str] = field(default_factory=list)
    lock: list[str] = field(default_factory=list)

    def touched(self) -> set[Source]:
        """Return the active packages with a change; held ones have none."""
        pairs = [new for _, new in (*self.updated, *self.returned)]
        changed = [*self.added, *self.leaving, *self.released, *self.detached, *self.attached, *pairs]
        targets = [target for moved in self.moved for target in moved.targets]
        others = [one.package for one in self.unpinned] + [one.package for one in self.changed]
        return {p.source for p in (*changed, *targets, *others) if p.state is not State.DEACTIVATED}


def find_changes(before: Lock, after: Lock) -> Changes:
    """Compare two locks, package by package."""
    changes = Changes(
        moved=list(_moves(before, after)),
        held=list(_held(before, after)),
        provided=list(_provided(before, after)),
        unneeded=list(_unneeded(before, after)),
        inputs=compare_inputs(before, after.inputs),
        lock=list(compare_whole(before, after)),
    )
    pairs = pair_packages(before.installed(), after.installed())
    dependants = _other_dependants(pairs)
    for old, new in pairs:
        if old is new:
            continue
        if old is None and new is not None:
            changes.added.append(new)
        elif new is None and old is not None:
            changes.removed.append(old)
        elif old is not None and new is not None:
            _compare(old, new, changes)
        if new is not None and new.state is not State.DEACTIVATED:
            _compare_attachment(old, new, changes)
        if old is not None and new is not None:
            _compare_aspects(old, new, changes, dependants)
    return changes


def _other_dependants(pairs: Iterable[tuple[LockedPackage | None, LockedPackage | None]]) -> set[str]:
    """Return the sources of packages that come, go or depend on others than before."""
    changed = [pair for pair in pairs if None in pair or _needs(pair[0]) != _needs(pair[1])]
    return {str(package.source) for pair in changed for package in pair if package}


def _needs(package: LockedPackage | None) -> object:
    return package and (package.source, package.dependencies)


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


def _compare_aspects(
    old: LockedPackage, new: LockedPackage, changes: Changes, dependants: Collection[str]
) -> None:
    """Add whatever changed about a package that no other change tells."""
    told = {*_told_by_state(old, new), *_told_by_moves(old, new, changes)}
    if (old.source, old.version, old.digest) != (new.source, new.version, new.digest):
        told |= _OF_A_VERSION
    if bool(old.detached) != bool(new.detached):
        told.add("detached")
    if any(one.package is new for one in changes.unpinned):
        told.add("keptPins")
    # The change of a package that others depend on is listed by itself.
    if {*old.required_by} ^ {*new.required_by} <= {*dependants}:
        told.add("requiredBy")
    rest = {name: pair for name, pair in find_changed(old, new).items() if name not in told}
    if rest and not any(package is new for package in changes.added):
        changes.changed.append(ChangedAspects(new, rest))


def _told_by_state(old: LockedPackage, new: LockedPackage) -> Iterable[str]:
    if State.DEACTIVATED in (old.state, new.state) and old.state is not new.state:
        return _OF_DEACTIVATION
    if old.state is not new.state:
        return _OF_A_STATE
    return ("released",) if new.released else ()


def _told_by_moves(old: LockedPackage, new: LockedPackage, changes: Changes) -> Iterator[str]:
    if any(new in moved.targets for moved in changes.moved):
        yield from ("replaces", "installedAs")
    if any(moved.replaced.source == old.cluster_source for moved in changes.moved):
        yield from ("replacedBy", "installedAs")


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
    holders = entry_names(after.packages.values())
    bound = {bound.edge.source for lock in (before, after) for bound in stale_bounds(lock)}
    for source in sorted(bound & after.packages.keys(), key=str):
        yield Held(after.packages[source], tuple(holders.get(source, ())))


def _provided(before: Lock, after: Lock) -> Iterator[tuple[Provided | None, Provided]]:
    for source in sorted(after.provided, key=str):
        old, new = before.provided.get(source), after.provided[source]
        # A package that this folder installed before is among the removed ones.
        if old != new and source not in before.packages:
            yield old, new


def _unneeded(before: Lock, after: Lock) -> Iterator[Provided]:
    for source in sorted(before.provided.keys() - after.provided.keys(), key=str):
        # A package that this folder installs now is among the added ones.
        if source not in after.packages:
            yield before.provided[source]
