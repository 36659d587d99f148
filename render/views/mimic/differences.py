"""Where Crossplane's own answer differs from a lock, and why."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from render.commands import LockCall
from render.lock.model import Lock, LockedDependency, LockedPackage, Provided, State, named_source
from render.resolve.mimic.graph import accepts
from render.resolve.mimic.model import CrossplaneAnswer, LockDependency, LockEntry
from render.texts import first_names

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Difference:
    """A source whose version differs; None: not installed."""

    source: str
    crossplane: str | None
    xplock: str | None
    why: str


@dataclass(frozen=True, slots=True)
class _Sides:
    """Both answers by the sources that the cluster knows."""

    theirs: Mapping[str, LockEntry]
    ours: Mapping[str, LockedPackage | Provided]
    answer: CrossplaneAnswer
    before: Lock
    after: Lock
    call: LockCall


def find_differences(answer: CrossplaneAnswer, before: Lock, after: Lock, call: LockCall) -> list[Difference]:
    """Compare both answers, sorted by source."""
    ours: dict[str, LockedPackage | Provided] = {
        str(one.cluster_source): one for one in after.packages.values() if one.state is State.WANTED
    }
    ours |= {str(one.cluster_source): one for one in after.provided.values()}
    sides = _Sides({one.source: one for one in answer.entries}, ours, answer, before, after, call)
    return [*_find(sides)]


def _find(sides: _Sides) -> Iterator[Difference]:
    for source in sorted({*sides.theirs, *sides.ours}):
        there, here = sides.theirs.get(source), sides.ours.get(source)
        if there and here and there.version != here.version:
            yield Difference(source, there.version, here.version, _why_other(sides, there, here))
        elif there and not here:
            yield Difference(source, there.version, None, _why_theirs(sides, there))
        elif here and not there:
            yield Difference(source, None, here.version, _why_ours(sides, source))


def _why_other(sides: _Sides, there: LockEntry, here: LockedPackage | Provided) -> str:
    refusing = [
        f"{package.source} {package.version} ({dependency.constraints})"
        for package, dependency in _our_dependants(sides, there.source)
        if not accepts(dependency.constraints, there.version)
    ]
    if refusing:
        return f"Crossplane asks the first dependant alone; {there.version} does not suit {first_names(refusing, _SHOWN)}"
    if isinstance(here, Provided):
        return f"{here.folder} provides {here.version}"
    locked = sides.before.packages.get(here.source)
    if locked and locked.version == here.version:
        return f"{here.version} was locked before and still fits; to move it: {sides.call.upgrading(str(here.source))}"
    others = _dependants_apart(sides, there.source)
    if others:
        return others
    if here.family:
        return f"packages of the family {here.family} stay on one major version (families: follow)"
    return f"Crossplane has {there.version} from an earlier step, and does not change what is there"


def _dependants_apart(sides: _Sides, source: str) -> str:
    """Return who asks for a source in one answer and not in the other, which explains another version of it."""
    theirs = {f"{entry} ({one.constraints})" for entry, one in _their_dependants(sides, source)}
    ours = {
        f"{one.source} {one.version} ({need.constraints})" for one, need in _our_dependants(sides, source)
    }
    parts = [
        f"Crossplane has {first_names(sorted(theirs - ours), _SHOWN)}" if theirs - ours else "",
        f"xplock has {first_names(sorted(ours - theirs), _SHOWN)}" if ours - theirs else "",
    ]
    found = ", ".join(part for part in parts if part)
    return f"other packages ask for it: {found}" if found else ""


def _why_theirs(sides: _Sides, there: LockEntry) -> str:
    moved = [
        str(package.source)
        for package in sides.after.packages.values()
        if any(str(one.source) == there.source for one in package.replaces)
    ]
    if moved:
        return f"{first_names(sorted(moved), _SHOWN)} replaced it; Crossplane knows no moves"
    asking = [str(entry) for entry, _ in _their_dependants(sides, there.source)]
    if asking:
        return f"needed by {first_names(asking, _SHOWN)}"
    return "it is there already, and nothing asks for it"


def _why_ours(sides: _Sides, source: str) -> str:
    asking = [package for package, _ in _our_dependants(sides, source)]
    reached = [one for one in asking if _has(sides.theirs, one)]
    blocked = next((one for one in sides.answer.unhealthy if one.source == source and not one.locked), None)
    if blocked:
        return f"Crossplane has it, and it cannot enter the Lock: {blocked.why[0]}"
    if reached and sides.answer.stop:
        return f"needed by {_names(reached)}; Crossplane stops before it gets there"
    if asking:
        return f"needed by {_names(asking)}, which Crossplane does not have in that version"
    return "Crossplane does not get there" if sides.answer.stop else "it takes the place of another source"


def _names(packages: Sequence[LockedPackage]) -> str:
    return first_names([f"{one.source} {one.version}" for one in packages], _SHOWN)


def _has(theirs: Mapping[str, LockEntry], package: LockedPackage) -> bool:
    entry = theirs.get(str(package.cluster_source))
    return entry is not None and entry.version == package.version


def _our_dependants(sides: _Sides, source: str) -> Iterator[tuple[LockedPackage, LockedDependency]]:
    for package in sides.after.in_order():
        for dependency in package.dependencies:
            if str(named_source(dependency, package.source)) == source:
                yield package, dependency


def _their_dependants(sides: _Sides, source: str) -> Iterator[tuple[LockEntry, LockDependency]]:
    for entry in sides.answer.entries:
        for dependency in entry.dependencies:
            if dependency.package == source:
                yield entry, dependency
