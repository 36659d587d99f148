"""Locks as a picture: the packages of one, or of two with what happened to each."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from render.lock.diff import pair_packages, step_of, strategy_of
from render.lock.graph import LockGraph, Target
from render.lock.model import Lock, LockedPackage, Provided, State
from render.texts import visible
from render.versions.semantic import Step
from render.views.closure.links import Closure, read_closure
from render.views.fitting import short_names
from render.views.graph.model import Change, Edge, Graph, Life, Node
from render.views.labels import format_locked, format_step, marks


def make_graph(lock: Lock, before: Lock | None = None) -> Graph:
    """Return the picture of a lock; beside another one, what was removed is in it as well."""
    closure = read_closure(lock)
    nodes = {key: _node(package, closure) for key, package in _packages(lock).items()}
    edges = list(_edges(lock, closure))
    if before is not None:
        nodes, edges = _compare(lock, before, nodes, edges)
    labels = short_names(nodes)
    shown = tuple(replace(nodes[key], label=labels[key]) for key in sorted(nodes))
    return Graph(shown, tuple(edges), before is not None)


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
        visible(package.object_name),
        _life(package),
        tuple(map(visible, marks(closure, package))) if is_active else ("deactivated",),
        tuple(map(visible, detached)),
        {visible(kind): count for kind, count in locked.objects.items()} if locked else None,
        visible(locked.root) if locked and locked.root is not None else None,
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


def _compare(
    lock: Lock, before: Lock, nodes: Mapping[str, Node], edges: Iterable[Edge]
) -> tuple[dict[str, Node], list[Edge]]:
    """Return the packages and edges of both locks, each with what happened to it."""
    found, then = dict(nodes), read_closure(before)
    # What a source of the other lock is called in this one.
    now_called: dict[str, str] = {}
    for old, new in pair_packages(*(list(_packages(one).values()) for one in (before, lock))):
        if new is not None:
            key = str(new.display_source)
            found[key] = _compared(found[key], new, old)
            if old is not None:
                now_called[str(old.display_source)] = key
        elif old is not None and (key := str(old.display_source)) not in found:
            found[key] = replace(_node(old, then), change=Change.REMOVED)
    return found, _compare_edges(list(edges), _edges(before, then), now_called)


def _compare_edges(edges: list[Edge], before: Iterable[Edge], now_called: Mapping[str, str]) -> list[Edge]:
    old = {
        (now_called.get(one.start, one.start), now_called.get(one.end, one.end), one.replaces): one.constraint
        for one in before
    }
    now = {(one.start, one.end, one.replaces) for one in edges}
    return [
        *(
            one if (one.start, one.end, one.replaces) in old else replace(one, change=Change.ADDED)
            for one in edges
        ),
        *(
            Edge(start, end, constraint, is_move, Change.REMOVED)
            for (start, end, is_move), constraint in old.items()
            if (start, end, is_move) not in now
        ),
    ]


def _compared(node: Node, now: Target, then: Target | None) -> Node:
    if then is None:
        return replace(node, change=Change.ADDED)
    if now == then:
        return node
    changed = replace(node, before=format_locked(then))
    if then.display_source != now.display_source and node.life is not Life.DEACTIVATED:
        origin, strategy = str(then.display_source), strategy_of(then, now)
        return replace(changed, change=Change.MOVED, moved_from=origin, strategy=strategy or None)
    if (now.version, now.digest) != (then.version, then.digest):
        return replace(changed, change=Change.UPDATED, step=_step(step_of(then, now)))
    return replace(changed, change=Change.CHANGED)


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
