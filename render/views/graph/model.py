"""What a picture of a lock shows: packages as nodes, dependencies as edges, and what changed since another lock."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

# What a filter calls packages that are as they were.
UNCHANGED = "unchanged"


class Change(StrEnum):
    """What happened to a package since the other lock."""

    ADDED = "added"
    UPDATED = "updated"
    # Its object in the cluster takes another source.
    MOVED = "moved"
    # Its version is the same, and something else of it is not.
    CHANGED = "changed"
    REMOVED = "removed"


class Life(StrEnum):
    """The state of a package, as a picture shows it: the most important one wins."""

    DEACTIVATED = "deactivated"
    ORPHANED = "orphaned"
    PROVIDED = "provided"
    ALIASED = "aliased"
    DETACHED = "detached"
    ATTACHED = "attached"


@dataclass(frozen=True, slots=True)
class Node:
    """A package."""

    # The source in full: what a package is known by.
    key: str
    # The last components of the source, as many as tell it from others.
    label: str
    kind: str
    version: str
    digest: str
    object_name: str
    life: Life
    marks: tuple[str, ...] = ()
    detached: tuple[str, ...] = ()
    # How many objects of each kind it installs.
    objects: Mapping[str, int] | None = None
    asked: str | None = None
    change: Change | None = None
    # The version in the other lock, and the size of the step from it.
    before: str | None = None
    step: str | None = None
    # Of a package that has moved its source in the other lock, and how it moved, if that is known.
    moved_from: str | None = None
    strategy: str | None = None
    # The worst class of what happens to its definitions, and a line for each rule.
    risk: str | None = None
    findings: tuple[str, ...] = ()

    @property
    def has_other_version(self) -> bool:
        """Whether the other lock has it with another version."""
        return self.before not in (None, self.version)


@dataclass(frozen=True, slots=True)
class Edge:
    """A dependency, with the versions that are accepted; or a package that another one replaced."""

    start: str
    end: str
    constraint: str
    replaces: bool = False
    # Added or removed since the other lock.
    change: Change | None = None

    @property
    def is_dashed(self) -> bool:
        """Whether it is no dependency of today."""
        return self.replaces or self.change is Change.REMOVED


@dataclass(frozen=True, slots=True)
class Graph:
    """The packages of a lock, sorted by source, and the edges between them."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    compared: bool = False
    # Packages whose definitions were to be compared, and could not be.
    not_compared: tuple[str, ...] = ()

    @property
    def kinds(self) -> list[str]:
        """The kinds of its packages."""
        return sorted({node.kind for node in self.nodes})

    @property
    def lives(self) -> list[Life]:
        """The states of its packages, in the order of their definition."""
        found = {node.life for node in self.nodes}
        return [life for life in Life if life in found]

    @property
    def changes(self) -> list[Change | None]:
        """What happened to its packages, in the order of their definition; None, if nothing happened to some."""
        found = {node.change for node in self.nodes}
        return [change for change in (*Change, None) if change in found]


def graph_document(graph: Graph) -> dict[str, Any]:
    """Return a picture as JSON values."""
    return {
        "compared": graph.compared,
        "notCompared": list(graph.not_compared),
        "packages": list(map(_document, graph.nodes)),
        "edges": _links(graph),
    }


def _document(node: Node) -> dict[str, Any]:
    return {
        "source": node.key,
        "label": node.label,
        "kind": node.kind,
        "version": node.version,
        "digest": node.digest,
        "object": node.object_name,
        "state": node.life,
        "marks": list(node.marks),
        "detached": list(node.detached),
        "objects": dict(node.objects or {}),
        "askedFor": node.asked,
        "change": node.change,
        "before": node.before,
        "step": node.step,
        "movedFrom": node.moved_from,
        "strategy": node.strategy,
        "risk": node.risk,
        "findings": list(node.findings),
    }


def _links(graph: Graph) -> list[dict[str, Any]]:
    return [
        {
            "from": one.start,
            "to": one.end,
            "constraint": one.constraint,
            "replaces": one.replaces,
            "change": one.change,
        }
        for one in graph.edges
    ]
