"""A lock with Git's conflict markers → one lock to start from; versions are resolved again, the rest is a union.

Of both sides are kept: every package with its pin and its object name, those that are leaving, the pins of earlier
versions, moves, stale entries, and what other folders provide. What cannot be true of both at once is an error.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TypeAlias

from render.commands import git, xplock
from render.errors import Unsatisfiable
from render.limits import Limits
from render.lock.graph import find_successors
from render.lock.model import Lock, LockedPackage, Provided, Replaced, State
from render.lock.pins import join_pins
from render.lock.text.documents import DetailsEntry, E, LockDocuments, LockEntry
from render.lock.text.parse import InvalidLock, disagreement, join, parse_lock_documents
from render.moves import CircularMoves, Consent, Move, Strategy, follow_moves
from render.references import Source
from render.versions.version import InvalidVersion, Precedence, parse_version

# Each replaced source: by which packages, and how.
Successors: TypeAlias = Mapping[Source, frozenset[tuple[Source, Strategy]]]
_TAKES_OBJECT = frozenset({Strategy.ALIAS, Strategy.REPOINT})


@dataclass(frozen=True, slots=True)
class Versions:
    """All versions of one object on the two sides: the one that is tried first, and the others."""

    chosen: LockedPackage
    others: tuple[LockedPackage, ...] = ()

    def merged(self) -> LockedPackage:
        """Return the package to start from."""
        everyone = (self.chosen, *self.others)
        same_bytes = [package for package in everyone if package.digest == self.chosen.digest]
        return replace(
            self.chosen,
            state=self._state(),
            # A guard too many costs one more run of retire; a missing guard may cost the package.
            released=all(package.released for package in everyone),
            replaces=_join_replaced(everyone),
            replaced_by=tuple(sorted({source for package in everyone for source in package.replaced_by})),
            # Where one branch has it attached, the cluster's Lock may have an entry for it.
            detached=self.chosen.detached if all(package.detached for package in same_bytes) else (),
            stale_entry=tuple(sorted({text for package in everyone for text in package.stale_entry})),
            kept_pins=join_pins(self.chosen, self.others),
        )

    def _state(self) -> State:
        # One side still wants it; the resolution that follows decides.
        wanted = any(package.state is State.WANTED for package in self.others)
        return State.WANTED if wanted and self.chosen.state is State.ORPHANED else self.chosen.state

    def notes(self) -> Iterator[str]:
        """Yield a note where the sides differ."""
        everyone = (self.chosen, *self.others)
        shown = sorted({f"{package.version} ({package.digest})" for package in everyone})
        if len(shown) > 1:
            yield f"{self.chosen.source}: locked to {' and to '.join(shown)}; {self.chosen.version} is tried first"
        if len({package.released for package in everyone}) > 1:
            yield f"{self.chosen.source}: released on one side alone; its guard stays"


def choose_versions(found: Sequence[LockedPackage]) -> Versions:
    """Choose the highest version, among packages that no other one has replaced if there are any."""
    replaced = {one.source for package in found for one in package.replaces}
    last = [package for package in found if package.source not in replaced] or found
    chosen = max(last, key=rank)
    others = sorted((package for package in found if package is not chosen), key=rank, reverse=True)
    return Versions(chosen, tuple(others))


def rank(package: LockedPackage | Provided) -> tuple[bool, Precedence, str]:
    """Return the sort key of a package: tags that are no versions come first."""
    try:
        version = parse_version(package.version_tag or "")
    except InvalidVersion:
        return False, (0, 0, 0, False, ()), package.version
    return True, version.precedence, package.version


def join_objects(found: Iterable[Versions]) -> dict[Source, Versions]:
    """Join the packages that are one object, which one side has moved to another source; by that source."""
    known = {versions.chosen.source: versions for versions in found}
    for source in list(known):
        if source in known:
            known[source] = _join_object(known[source], known)
    return known


def _join_object(versions: Versions, known: dict[Source, Versions]) -> Versions:
    chosen, others = versions.chosen, list(versions.others)
    for one in chosen.replaces:
        old = known.get(one.source)
        if old and _object(old.chosen) == _object(chosen):
            del known[one.source]
            others += [old.chosen, *old.others]
    return Versions(chosen, tuple(others))


def recorded_ways(packages: Iterable[LockedPackage]) -> Successors:
    """Return which sources one side has replaced, by which packages and how."""
    return {
        source: frozenset((one.package.source, one.replaced.strategy) for one in successors if one.replaced)
        for source, successors in find_successors(packages).items()
    }


def contradicting_moves(ours: Successors, theirs: Successors) -> Iterator[str]:
    """Yield the sources that the sides have replaced in different ways, or in a circle."""
    both = {
        source: ours.get(source, frozenset()) | theirs.get(source, frozenset())
        for source in {**ours, **theirs}
    }
    for source, ways in both.items():
        if _contradict(ways, ours.get(source, ways), theirs.get(source, ways)):
            shown = sorted(f"{successor} ({strategy})" for successor, strategy in ways)
            yield f"{source} is replaced by {' and also by '.join(shown)}"
    try:
        follow_moves(Move(source, tuple(sorted({one for one, _ in both[source]}))) for source in sorted(both))
    except CircularMoves as error:
        yield f"packages have replaced each other: {error.why[0]}"


def _contradict(
    ways: frozenset[tuple[Source, Strategy]],
    ours: frozenset[tuple[Source, Strategy]],
    theirs: frozenset[tuple[Source, Strategy]],
) -> bool:
    strategies = {strategy for _, strategy in ways}
    # If a package became many, one side may know fewer of them, but not different ones.
    nested = ours <= theirs or theirs <= ours
    return len(strategies) > 1 or not nested or (len(ways) > 1 and bool(strategies & _TAKES_OBJECT))


def _join_replaced(packages: Iterable[LockedPackage]) -> tuple[Replaced, ...]:
    known: dict[Source, Replaced] = {}
    for one in (one for package in packages for one in package.replaces):
        # The consent of the user counts more than a claim.
        if one.source not in known or one.consent is Consent.MOVES:
            known[one.source] = one
    return tuple(known[replaced] for replaced in sorted(known))


def _object(package: LockedPackage) -> tuple[str, str]:
    return package.kind, package.object_name


# The states in which a marker may stand, and the state after it.
_OPEN, _BASE, _MIDDLE, _CLOSE = b"<<<<<<<", b"|||||||", b"=======", b">>>>>>>"
_STEPS = {
    ("both", _OPEN): "ours",
    ("ours", _BASE): "base",
    ("ours", _MIDDLE): "theirs",
    ("base", _MIDDLE): "theirs",
    ("theirs", _CLOSE): "both",
}


class ContradictingLocks(Unsatisfiable):
    """Two sides of a merge that cannot both be kept."""

    def __init__(self, place: str, why: list[str]) -> None:
        folder, name = os.path.split(place)
        folder = folder or "."
        super().__init__(
            f"the two sides of {place} contradict each other",
            why=why,
            next=[
                f"take one side's lock whole: {git('checkout', '--ours', name, folder=folder)} (or --theirs)",
                f"then lock again: {xplock('lock', folder=folder)}",
            ],
        )


@dataclass(frozen=True, slots=True)
class MergedLock:
    """The union of both sides. It need not hold together, so it is resolved again."""

    lock: Lock
    # Notes on the differences between the sides.
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Side:
    """One side's text, and for each of its lines the line in the file."""

    data: bytes = b""
    lines: list[int] = field(default_factory=list)


def merge_sides(data: bytes, limits: Limits, *, place: str) -> MergedLock:
    """Read both sides of a lock with conflict markers; without markers, the file as Git merged it."""
    sides = [
        parse_lock_documents(side.data, limits, place=place, lines=side.lines) for side in _split(data, place)
    ]
    active, deactivated = _active(sides), _deactivated(sides)
    _refuse(place, [*_contradicting_states(sides, active, deactivated), *_contradicting_moves(sides)])
    found = [choose_versions(active[source]) for source in sorted(active, key=str)]
    _refuse(place, _contradicting_sources(found))
    joined = join_objects(found)
    inactive = {s: choose_versions(deactivated[s]) for s in sorted(deactivated, key=str)}
    _refuse(place, _contradicting_objects([*joined.values(), *inactive.values()]))
    return MergedLock(
        Lock(
            packages={source: versions.merged() for source, versions in joined.items()},
            inputs={**sides[1].inputs, **sides[0].inputs},
            revision=max(side.revision for side in sides),
            deactivated={source: versions.merged() for source, versions in inactive.items()},
            provided=_provided(sides),
        ),
        tuple(note for versions in (*joined.values(), *inactive.values()) for note in versions.notes()),
    )


def _split(data: bytes, place: str) -> tuple[_Side, _Side]:
    ours, theirs = _Side(), _Side()
    texts: Mapping[str, list[bytes]] = {"ours": [], "theirs": []}
    state, opened = "both", 0
    for number, line in enumerate(data.split(b"\n"), start=1):
        marker = line[:7] if line.rstrip(b"\r")[7:8] in (b"", b" ") else b""
        # Conflicts inside of a common ancestor have longer markers.
        if marker in (_OPEN, _BASE, _MIDDLE, _CLOSE):
            if (state, marker) not in _STEPS:
                raise InvalidLock(place, [f"line {number}: a conflict marker out of place"])
            state, opened = _STEPS[state, marker], number if marker == _OPEN else opened
            continue
        for name, side in (("ours", ours), ("theirs", theirs)):
            if state in ("both", name):
                texts[name].append(line)
                side.lines.append(number)
    if state != "both":
        raise InvalidLock(place, [f"line {opened}: a conflict that is not closed"])
    ours.data, theirs.data = b"\n".join(texts["ours"]), b"\n".join(texts["theirs"])
    return ours, theirs


def _active(sides: Iterable[LockDocuments]) -> dict[Source, list[LockedPackage]]:
    """Return the packages of each source in the cluster, from both sides; none, where the two documents disagree."""
    entries = _by_source(entry for side in sides for entry in side.entries)
    details = _by_source(entry for side in sides for entry in side.details)
    return {source: _candidates(entries[source], details[source]) for source in {**entries, **details}}


def _deactivated(sides: Iterable[LockDocuments]) -> dict[Source, list[LockedPackage]]:
    found: dict[Source, list[LockedPackage]] = defaultdict(list)
    for package in (package for side in sides for package in side.deactivated):
        found[package.cluster_source].append(package)
    return {source: _distinct(packages) for source, packages in found.items()}


def _provided(sides: Iterable[LockDocuments]) -> dict[Source, Provided]:
    """Return the provided packages; their folders are read again later."""
    found: dict[Source, list[Provided]] = defaultdict(list)
    for package in (package for side in sides for package in side.provided):
        found[package.source].append(package)
    return {source: max(found[source], key=rank) for source in sorted(found, key=str)}


def _by_source(entries: Iterable[E]) -> dict[Source, list[E]]:
    found: dict[Source, list[E]] = defaultdict(list)
    for entry in entries:
        found[entry.source].append(entry)
    return found


def _candidates(entries: Iterable[LockEntry], details: Iterable[DetailsEntry]) -> list[LockedPackage]:
    # Git may have merged one document and left a conflict in the other, so that the two entries of one side differ.
    pairs = product(entries, details)
    return _distinct([join(entry, more) for entry, more in pairs if not disagreement(entry, more)])


def _distinct(packages: Sequence[LockedPackage]) -> list[LockedPackage]:
    return [package for i, package in enumerate(packages) if package not in packages[:i]]


def _contradicting_states(
    sides: Iterable[LockDocuments],
    active: Mapping[Source, Sequence[LockedPackage]],
    deactivated: Mapping[Source, Sequence[LockedPackage]],
) -> Iterator[str]:
    names: dict[Source, set[str]] = defaultdict(set)
    for side in sides:
        for package in (*(more.package for more in side.details), *side.deactivated):
            names[package.cluster_source].add(package.object_name)
    for source in {**active, **deactivated}:
        if len(names[source]) > 1:
            yield f"{source} is the object {' and also '.join(sorted(names[source]))}"
        elif source in active and not active[source]:
            # One entry alone has either no version or no name.
            yield f"{source}: what Git left of its two entries does not fit together"
        elif source in active and source in deactivated:
            successors = sorted({str(one) for package in deactivated[source] for one in package.replaced_by})
            yield f"{source} is active, and also deactivated and replaced by {' and '.join(successors)}"


def _contradicting_moves(sides: Sequence[LockDocuments]) -> Iterator[str]:
    ours, theirs = (recorded_ways(more.package for more in side.details) for side in sides)
    return contradicting_moves(ours, theirs)


def _contradicting_sources(found: Iterable[Versions]) -> Iterator[str]:
    """Yield packages that one side has as an alias, and the other one by themselves or as another alias."""
    known: dict[Source, set[str]] = defaultdict(set)
    for versions in found:
        known[versions.chosen.source].add(str(versions.chosen.cluster_source))
    for source, places in known.items():
        if len(places) > 1:
            yield f"{source} is installed as {' and also as '.join(sorted(places))}"


def _contradicting_objects(found: Iterable[Versions]) -> Iterator[str]:
    owners: dict[tuple[str, str], set[str]] = defaultdict(set)
    for versions in found:
        package = versions.chosen
        owners[package.kind, package.object_name].add(str(package.cluster_source))
    for (kind, name), sources in owners.items():
        if len(sources) > 1:
            yield f"the {kind} {name} is that of {' and also of '.join(sorted(sources))}"


def _refuse(place: str, why: Iterable[str]) -> None:
    lines = sorted(why)
    if lines:
        raise ContradictingLocks(place, lines)
