"""What two branches know of the same packages, put together: nothing that may be installed is forgotten."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from render.lock.carrying import join_pins
from render.lock.model import LockedPackage, Provided, Replaced, State
from render.moves import CircularMoves, Consent, Move, Strategy, follow_moves
from render.references import Source
from render.versions import InvalidVersion, Precedence, parse_version

# Of each source that was replaced: by whom, and how.
Successors: TypeAlias = Mapping[Source, frozenset[tuple[Source, Strategy]]]
_TAKES_OBJECT = frozenset({Strategy.ALIAS, Strategy.REPOINT})


@dataclass(frozen=True, slots=True)
class Versions:
    """All that is known of one object: what is tried first, and what else may be installed."""

    chosen: LockedPackage
    others: tuple[LockedPackage, ...] = ()

    def merged(self) -> LockedPackage:
        """Return the package to start from."""
        everyone = (self.chosen, *self.others)
        same_bytes = [package for package in everyone if package.digest == self.chosen.digest]
        return replace(
            self.chosen,
            state=self._state(),
            # A guard too many costs one more run of retire; one too few costs what it guarded.
            released=all(package.released for package in everyone),
            replaces=_join_replaced(everyone),
            replaced_by=tuple(sorted({source for package in everyone for source in package.replaced_by})),
            # Where one branch has it attached, the cluster's Lock may have an entry for it.
            detached=self.chosen.detached if all(package.detached for package in same_bytes) else (),
            stale_entry=tuple(sorted({text for package in everyone for text in package.stale_entry})),
            kept_pins=join_pins(self.chosen, self.others),
        )

    def _state(self) -> State:
        # Whoever still wants it is heard; whether that is so will be resolved again.
        wanted = any(package.state is State.WANTED for package in self.others)
        return State.WANTED if wanted and self.chosen.state is State.ORPHANED else self.chosen.state

    def notes(self) -> Iterator[str]:
        """Yield where the branches differ, and what is made of that."""
        everyone = (self.chosen, *self.others)
        shown = sorted({f"{package.version} ({package.digest})" for package in everyone})
        if len(shown) > 1:
            yield f"{self.chosen.source}: locked to {' and to '.join(shown)}; {self.chosen.version} is tried first"
        if len({package.released for package in everyone}) > 1:
            yield f"{self.chosen.source}: released on one side alone; its guard stays"


def choose_versions(found: Sequence[LockedPackage]) -> Versions:
    """Take the higher version of a package that took over the object from another one, or else of all."""
    replaced = {one.source for package in found for one in package.replaces}
    last = [package for package in found if package.source not in replaced] or found
    chosen = max(last, key=rank)
    others = sorted((package for package in found if package is not chosen), key=rank, reverse=True)
    return Versions(chosen, tuple(others))


def rank(package: LockedPackage | Provided) -> tuple[bool, Precedence, str]:
    """Return what packages are compared by: versions count more than tags that are none."""
    try:
        version = parse_version(package.version_tag or "")
    except InvalidVersion:
        return False, (0, 0, 0, False, ()), package.version
    return True, version.precedence, package.version


def join_objects(found: Iterable[Versions]) -> dict[Source, Versions]:
    """Put those together that are one object, which one side has handed over to another source; by that source."""
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


def find_successors(packages: Iterable[LockedPackage]) -> Successors:
    """Return what one side says has taken the place of what."""
    found: dict[Source, set[tuple[Source, Strategy]]] = defaultdict(set)
    for package in packages:
        for one in package.replaces:
            found[one.source].add((package.source, one.strategy))
    return {source: frozenset(ways) for source, ways in found.items()}


def contradicting_moves(ours: Successors, theirs: Successors) -> Iterator[str]:
    """Yield what the sides have replaced in different ways, or in a circle."""
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
    # Of a package that became many, one side may know fewer; but neither knows another one.
    nested = ours <= theirs or theirs <= ours
    return len(strategies) > 1 or not nested or (len(ways) > 1 and bool(strategies & _TAKES_OBJECT))


def _join_replaced(packages: Iterable[LockedPackage]) -> tuple[Replaced, ...]:
    known: dict[Source, Replaced] = {}
    for one in (one for package in packages for one in package.replaces):
        # What the user agreed to counts more than what a package says of itself.
        if one.source not in known or one.consent is Consent.MOVES:
            known[one.source] = one
    return tuple(known[replaced] for replaced in sorted(known))


def _object(package: LockedPackage) -> tuple[str, str]:
    return package.kind, package.object_name
