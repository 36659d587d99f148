"""The dependency graph that Crossplane builds from its Lock: the edge it handles next, cycles, and who is healthy."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from render.resolve.mimic.model import LockDependency, LockEntry, Unhealthy
from render.texts import first_names
from render.versions.constraints import Constraint, InvalidConstraint, parse_constraint
from render.versions.version import InvalidVersion, Version, parse_version

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class NextEdge:
    """A dependency that Crossplane handles next: nothing in its graph serves it."""

    dependant: LockEntry
    dependency: LockDependency


def find_doubled(entries: Iterable[LockEntry]) -> str | None:
    """Return the first source that two entries have: no graph can be built from such a Lock."""
    seen: set[str] = set()
    for entry in entries:
        if entry.source in seen:
            return entry.source
        seen.add(entry.source)
    return None


def find_edge(entries: Sequence[LockEntry], *, upgrades: bool) -> NextEdge | None:
    """Return the first edge without a target; with upgrades on also one whose target it refuses."""
    there = {entry.source: entry for entry in entries}
    for entry in entries:
        for dependency in entry.dependencies:
            target = there.get(dependency.package)
            if target is None or (upgrades and not accepts(dependency.constraints, target.version)):
                return NextEdge(entry, dependency)
    return None


def without_outdated(entries: Sequence[LockEntry]) -> list[LockEntry]:
    """Return the entries without dependencies that no constraint on them accepts, as upgrades leave them out."""
    wanted = constraints_by_source(entries)
    return [
        entry
        for entry in entries
        if entry.source not in wanted or any(accepts(text, entry.version) for text in wanted[entry.source])
    ]


def constraints_by_source(entries: Iterable[LockEntry]) -> Mapping[str, list[str]]:
    """Return the constraints on every source that an entry depends on, in the order of the Lock."""
    found: dict[str, list[str]] = {}
    for entry in entries:
        for dependency in entry.dependencies:
            found.setdefault(dependency.package, []).append(dependency.constraints)
    return found


def find_cycle(entries: Sequence[LockEntry]) -> list[str]:
    """Return the sources of a cycle, the first one again at its end; empty without one."""
    targets = {entry.source: [one.package for one in entry.dependencies] for entry in entries}
    done: set[str] = set()
    for start in targets:
        # The path, and for each of its members the targets that are left.
        path, left = [start], [iter(targets[start])]
        while path:
            following = next(left[-1], None)
            if following is None:
                done.add(path.pop())
                left.pop()
            elif following in path:
                return [*path[path.index(following) :], following]
            elif following in targets and following not in done:
                path.append(following)
                left.append(iter(targets[following]))
    return []


def find_unhealthy(entries: Sequence[LockEntry]) -> Iterator[Unhealthy]:
    """Yield the packages whose dependencies are not all in the Lock, or not in a version that they accept."""
    there = {entry.source: entry for entry in entries}
    for entry in entries:
        missing = sorted(_reached(entry, there) - there.keys())
        if missing:
            why = [f"{first_names(missing, _SHOWN)} {'is' if len(missing) == 1 else 'are'} missing"]
        else:
            why = list(_refused(entry, there))
        if why:
            yield Unhealthy(entry.source, entry.version, tuple(why))


def accepts(constraints: str, version: str) -> bool:
    """Return whether a constraint accepts the version of an entry: as text, or both as semver."""
    if constraints == version:
        return True
    parsed, number = parse_wish(constraints), parse_loosely(version)
    return parsed is not None and number is not None and parsed.accepts(number)


@lru_cache(maxsize=8_192)
def parse_wish(text: str) -> Constraint | None:
    """Parse a constraint; None if it is none."""
    try:
        return parse_constraint(text)
    except InvalidConstraint:
        return None


@lru_cache(maxsize=8_192)
def parse_loosely(text: str) -> Version | None:
    """Parse a version that may lack parts; None if it is none."""
    try:
        return parse_version(text)
    except InvalidVersion:
        return None


def _reached(entry: LockEntry, there: Mapping[str, LockEntry]) -> Collection[str]:
    found: set[str] = set()
    waiting = [entry]
    while waiting:
        for dependency in waiting.pop().dependencies:
            if dependency.package not in found:
                found.add(dependency.package)
                if dependency.package in there:
                    waiting.append(there[dependency.package])
    return found


def _refused(entry: LockEntry, there: Mapping[str, LockEntry]) -> Iterator[str]:
    for dependency in entry.dependencies:
        target = there[dependency.package]
        if accepts(dependency.constraints, target.version):
            continue
        if parse_wish(dependency.constraints) is None:
            yield f"{dependency.constraints!r} on {target.source} is no constraint"
        else:
            yield f"{target} is installed, and it accepts {dependency.constraints}"
