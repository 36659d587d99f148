"""The graph of the Lock: nodes by source, and what is named without being there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rig.cluster.state import Entry, Needed


class BrokenLock(Exception):
    """A Lock that no graph can be made of."""


@dataclass(frozen=True)
class Graph:
    """The dependencies in a Lock."""

    nodes: Mapping[str, Entry]
    # What is missing, each as the first package in the Lock asks for it.
    implied: Mapping[str, Needed]

    def reached(self, source: str) -> set[str]:
        """Return everything that a package needs, directly or not."""
        found: set[str] = set()
        left = [source]
        while left:
            entry = self.nodes.get(left.pop())
            fresh = {needed.package for needed in entry.dependencies} - found if entry else set()
            found |= fresh
            left += fresh
        return found

    def has_cycle(self) -> bool:
        """Return whether any package needs itself."""
        return any(source in self.reached(source) for source in self.nodes)


def build_graph(lock: Sequence[Entry]) -> Graph:
    """Make a graph of a Lock; two entries for one source are refused."""
    nodes: dict[str, Entry] = {}
    for entry in lock:
        if entry.source in nodes:
            raise BrokenLock(f"node {entry.source} already exists")
        nodes[entry.source] = entry
    implied: dict[str, Needed] = {}
    for entry in lock:
        for needed in entry.dependencies:
            if needed.package not in nodes:
                implied.setdefault(needed.package, needed)
    return Graph(nodes, implied)
