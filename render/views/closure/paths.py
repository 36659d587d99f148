"""The paths that lead to a package, from roots and from orphans without a dependant."""

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from render.commands import xplock
from render.errors import Differs
from render.lock.graph import Target, reach
from render.lock.model import LockedPackage
from render.references import Source
from render.texts import linked
from render.views.closure.links import Closure, Link

# There can be far more paths than packages; above this number, the exact one does not matter.
MOST_COUNTED = 10**15


class CircularLock(Differs):
    """Locked packages that depend on each other, among which paths have no end."""


@dataclass(frozen=True, slots=True)
class Way:
    """A path from a root or an orphan, one link at a time."""

    start: LockedPackage
    links: tuple[Link, ...]

    @property
    def end(self) -> Target:
        """Where it leads."""
        return self.links[-1].target if self.links else self.start


def count_ways(closure: Closure, source: Source, folder: str | PurePath = ".") -> int:
    """Return how many paths lead down to a package, without walking them."""
    counts = _count_from_everywhere(closure, source, folder)
    return min(sum(counts.get(start.source, 0) for start in closure.starts), MOST_COUNTED)


def _count_from_everywhere(closure: Closure, source: Source, folder: str | PurePath) -> dict[Source, int]:
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
            why=linked(sorted(map(str, waiting)), ", "),
            next=f"run: {xplock('lock', folder=folder)}",
        )
    return counts


def shortest_ways(closure: Closure, source: Source, most: int) -> Iterator[Way]:
    """Yield paths, shortest first and then by their sources; no other path is walked."""
    distances = _distances(closure, source)
    # The length that a path will have in the end, its sources so far, and the way itself.
    open_ways: list[tuple[int, tuple[str, ...], Way]] = [
        (distances[start.source], (str(start.source),), Way(start, ()))
        for start in closure.starts
        if start.source in distances
    ]
    heapq.heapify(open_ways)
    while open_ways and most:
        _, names, way = heapq.heappop(open_ways)
        if way.end.source == source:
            most -= 1
            yield way
            continue
        for link in closure.dependencies[way.end.source]:
            following = link.target.source
            if following in distances:
                rest = len(way.links) + 1 + distances[following]
                longer = (rest, (*names, str(following)), Way(way.start, (*way.links, link)))
                heapq.heappush(open_ways, longer)


def _distances(closure: Closure, source: Source) -> dict[Source, int]:
    """Return the number of links of the shortest path from every package above a source."""
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
