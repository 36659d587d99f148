"""What a picture of a lock shows: packages as nodes, dependencies as edges, and what changed since another lock."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from render.lock.diff import step_of
from render.lock.graph import LockGraph, Target
from render.lock.model import Lock, LockedPackage, Provided, State
from render.texts import visible
from render.versions.semantic import Step
from render.views.closure.links import Closure, read_closure
from render.views.labels import format_locked, format_step, marks


class Change(StrEnum):
    """What happened to a package since the other lock."""

    ADDED = "added"
    UPDATED = "updated"
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


@dataclass(frozen=True, slots=True)
class Edge:
    """A dependency, with the versions that are accepted; or a package that another one replaced."""

    start: str
    end: str
    constraint: str
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class Graph:
    """The packages of a lock, sorted by source, and the edges between them."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    compared: bool = False

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
    def changes(self) -> list[Change]:
        """What happened to its packages, in the order of their definition."""
        found = {node.change for node in self.nodes}
        return [change for change in Change if change in found]


def make_graph(lock: Lock, before: Lock | None = None) -> Graph:
    """Return the picture of a lock; beside another one, removed packages are in it as well."""
    now = _packages(lock)
    then = _packages(before) if before else {}
    closure = read_closure(lock)
    nodes = {key: _node(package, closure) for key, package in now.items()}
    if before is not None:
        nodes = {key: _compared(node, now[key], then.get(key)) for key, node in nodes.items()}
        gone = read_closure(before)
        nodes |= {
            key: replace(_node(package, gone), change=Change.REMOVED)
            for key, package in then.items()
            if key not in now
        }
    labels = _labels(nodes)
    shown = tuple(replace(nodes[key], label=labels[key]) for key in sorted(nodes))
    return Graph(shown, tuple(_edges(lock, closure)), before is not None)


def graph_document(graph: Graph) -> dict[str, Any]:
    """Return a picture as JSON values."""
    return {"compared": graph.compared, "packages": list(map(_document, graph.nodes)), "edges": _links(graph)}


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
    }


def _links(graph: Graph) -> list[dict[str, Any]]:
    return [
        {"from": one.start, "to": one.end, "constraint": one.constraint, "replaces": one.replaces}
        for one in graph.edges
    ]


def _packages(lock: Lock) -> dict[str, Target]:
    """Return everything in a lock by the source that people know it by."""
    found: list[Target] = [*lock.packages.values(), *lock.provided.values(), *lock.deactivated.values()]
    # An active package may have the source of a deactivated one, and comes first.
    return {str(package.display_source): package for package in reversed(found)}


def _node(package: Target, closure: Closure) -> Node:
    locked = package if isinstance(package, LockedPackage) else None
    is_active = locked is None or locked.state is not State.DEACTIVATED
    detached = locked.detached if locked else ("detached in its own folder",) if package.detached else ()
    return Node(
        str(package.display_source),
        "",
        str(package.kind),
        format_locked(package),
        package.digest,
        package.object_name,
        _life(package),
        tuple(map(visible, marks(closure, package))) if is_active else ("deactivated",),
        tuple(map(visible, detached)),
        locked.objects if locked else None,
        locked.root if locked else None,
    )


def _life(package: Target) -> Life:
    if isinstance(package, Provided):
        return Life.PROVIDED
    if package.state is State.DEACTIVATED:
        return Life.DEACTIVATED
    if package.state is State.ORPHANED:
        return Life.ORPHANED
    if package.installed_as:
        return Life.ALIASED
    return Life.DETACHED if package.detached else Life.ATTACHED


def _compared(node: Node, now: Target, then: Target | None) -> Node:
    if then is None:
        return replace(node, change=Change.ADDED)
    before = format_locked(then)
    if (now.version, now.digest) != (then.version, then.digest):
        step = step_of(then, now)
        return replace(node, change=Change.UPDATED, before=before, step=_step(step))
    return node if now == then else replace(node, change=Change.CHANGED, before=before)


def _step(step: Step | None) -> str | None:
    return format_step(step) if step else None


def _edges(lock: Lock, closure: Closure) -> Iterator[Edge]:
    for source in sorted(closure.dependencies, key=str):
        for link in closure.dependencies[source]:
            target = link.target.display_source
            yield Edge(str(link.dependant.display_source), str(target), visible(str(link)))
    successors = LockGraph(lock).successors
    for package in lock.deactivated.values():
        for source in package.replaced_by or successors.get(package.display_source, ()):
            if source in lock.packages:
                key = str(lock.packages[source].display_source)
                yield Edge(key, str(package.display_source), "replaces", replaces=True)


def _labels(keys: Iterable[str]) -> dict[str, str]:
    """Return the shortest ending of each source that no other source has."""
    parts = {key: key.split("/") for key in keys}
    endings: dict[str, int] = {}
    for words in parts.values():
        for ending in _endings(words):
            endings[ending] = endings.get(ending, 0) + 1
    return {
        key: next((ending for ending in _endings(words) if endings[ending] == 1), key)
        for key, words in parts.items()
    }


def _endings(words: list[str]) -> Iterator[str]:
    for i in range(len(words) - 1, -1, -1):
        yield "/".join(words[i:])
