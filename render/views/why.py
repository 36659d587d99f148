"""Why a package is in the lock: who asks for it, and how the user's wishes lead to it."""

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from render.errors import Differs
from render.lock.model import Lock, LockedPackage
from render.references import Source
from render.texts import visible
from render.views.links import (
    Closure,
    Link,
    format_package,
    format_pin,
    locked_candidate,
    package_document,
    reach,
    read_closure,
    root_request,
)

SHOWN_PATHS = 10
# Paths can outnumber the packages beyond all measure; past this it does not matter how many there are.
MOST_COUNTED = 10**15


class CircularLock(Differs):
    """Locked packages that depend on each other, among which paths have no end."""


@dataclass(frozen=True, slots=True)
class Way:
    """A path from something the user asks for, one link at a time."""

    root: LockedPackage
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything that leads to a package; of the ways the shortest, and how many there are."""

    closure: Closure
    package: LockedPackage
    ways: tuple[Way, ...]
    count: int

    @property
    def dependants(self) -> tuple[Link, ...]:
        """The packages that ask for it themselves."""
        return self.closure.dependants[self.package.source]


def explain(lock: Lock, source: Source, *, most: int = SHOWN_PATHS) -> Explanation:
    """Find who needs a package."""
    closure = read_closure(lock)
    counts = _count_ways(closure, source)
    total = sum(counts.get(root.source, 0) for root in closure.roots)
    ways = tuple(_shortest(closure, source, most))
    return Explanation(closure, lock.packages[source], ways, min(total, MOST_COUNTED))


def format_explanation(found: Explanation) -> str:
    """Write an explanation for a person."""
    parts = [[format_package(found.closure, found.package)], _askers(found), list(_ways(found))]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def explanation_document(found: Explanation) -> dict[str, Any]:
    """Return an explanation as JSON values."""
    return {
        **package_document(found.closure, found.package),
        "askedForSatisfied": None if found.package.root is None else _root_satisfied(found.package),
        "requiredBy": [_link_document(link, link.dependant) for link in found.dependants],
        "paths": [_way_document(way) for way in found.ways],
        "pathCount": found.count,
        "pathCountIsExact": found.count < MOST_COUNTED,
    }


def _link_document(link: Link, end: LockedPackage) -> dict[str, Any]:
    return {
        "source": str(end.source),
        "version": end.version,
        "constraints": list(link.constraints),
        "satisfied": link.satisfied,
    }


def _way_document(way: Way) -> list[dict[str, Any]]:
    root = {
        "source": str(way.root.source),
        "version": way.root.version,
        "constraints": [way.root.root],
        "satisfied": _root_satisfied(way.root),
    }
    return [root, *(_link_document(link, link.target) for link in way.links)]


def _askers(found: Explanation) -> list[str]:
    rows = [
        (format_pin(link.dependant), visible(str(link)), _verdict(satisfied=link.satisfied))
        for link in found.dependants
    ]
    if found.package.root is not None:
        rows.insert(
            0, ("you", visible(found.package.root), _verdict(satisfied=_root_satisfied(found.package)))
        )
    widths = [max((len(row[i]) for row in rows), default=0) for i in (0, 1)]
    return [
        f"Asked for by ({len(rows)})",
        *(f"  {name:<{widths[0]}}  {text:<{widths[1]}}  {verdict}" for name, text, verdict in rows),
    ]


def _ways(found: Explanation) -> Iterator[str]:
    yield f"Paths ({_counted(found, found.count)})"
    for way in found.ways:
        verdict = "" if _root_satisfied(way.root) else ", NOT satisfied"
        yield f"  {format_pin(way.root)}, asked for: {visible(way.root.root or '')}{verdict}"
        yield from (f"    → {_step(link)}" for link in way.links)
    more = found.count - len(found.ways)
    if more:
        yield f"  … {_counted(found, more)} more path{'s' if more > 1 else ''}"


def _counted(found: Explanation, number: int) -> str:
    return f"{'over ' if found.count == MOST_COUNTED else ''}{number:,}"


def _step(link: Link) -> str:
    verdict = "satisfies" if link.satisfied else "does NOT satisfy"
    return f"{format_pin(link.target)}, {verdict} {visible(str(link))}"


def _verdict(*, satisfied: bool) -> str:
    return "satisfied" if satisfied else "NOT satisfied"


def _root_satisfied(package: LockedPackage) -> bool:
    request = root_request(package)
    return request is not None and locked_candidate(package).answers(request)


def _count_ways(closure: Closure, source: Source) -> dict[Source, int]:
    """Return for every package above a source how many paths lead down to it, without walking them."""
    above = reach([source], _upwards(closure))
    waiting = {one: sum(link.target.source in above for link in closure.dependencies[one]) for one in above}
    counts = dict.fromkeys(above, 0) | {source: 1}
    ready = [one for one in above if waiting[one] == 0]
    while ready:
        done = ready.pop()
        del waiting[done]
        for link in closure.dependants[done]:
            dependant = link.dependant.source
            counts[dependant] = min(counts[dependant] + counts[done], MOST_COUNTED)
            waiting[dependant] -= 1
            if waiting[dependant] == 0:
                ready.append(dependant)
    if waiting:
        raise CircularLock(
            "locked packages depend on each other in a circle",
            why=f"it is among {', '.join(sorted(map(str, waiting)))}",
            next="run xplock lock",
        )
    return counts


def _shortest(closure: Closure, source: Source, most: int) -> Iterator[Way]:
    """Yield paths, shortest first and then by their sources; only what is yielded is ever walked."""
    distances = _distances(closure, source)
    # The length that a path will have in the end, its sources so far, and the way itself.
    open_ways: list[tuple[int, tuple[str, ...], Way]] = [
        (distances[root.source], (str(root.source),), Way(root, ()))
        for root in closure.roots
        if root.source in distances
    ]
    heapq.heapify(open_ways)
    while open_ways and most:
        _, names, way = heapq.heappop(open_ways)
        end = way.links[-1].target if way.links else way.root
        if end.source == source:
            most -= 1
            yield way
            continue
        for link in closure.dependencies[end.source]:
            following = link.target.source
            if following in distances:
                rest = len(way.links) + 1 + distances[following]
                longer = (rest, (*names, str(following)), Way(way.root, (*way.links, link)))
                heapq.heappush(open_ways, longer)


def _distances(closure: Closure, source: Source) -> dict[Source, int]:
    """Return for every package above a source how many links there are at least down to it."""
    distances = {source: 0}
    queue = [source]
    for one in queue:
        for link in closure.dependants[one]:
            if link.dependant.source not in distances:
                distances[link.dependant.source] = distances[one] + 1
                queue.append(link.dependant.source)
    return distances


def _upwards(closure: Closure) -> Mapping[Source, list[Source]]:
    return {one: [link.dependant.source for link in links] for one, links in closure.dependants.items()}
