"""The packages of a tree as JSON values."""

from typing import Any

from render.lock.model import Lock, LockedPackage, Provided
from render.lock.serving import Target
from render.views.labels import life_document, package_document, provided_document, target_document
from render.views.links import Closure, Link, reach, read_closure
from render.views.tree import TreeView, find_neighbours, find_off, find_tops


def tree_document(lock: Lock, view: TreeView) -> dict[str, Any]:
    """Return everything that a tree shows: a flat list, since a closure can be deeper than JSON."""
    closure = read_closure(lock)
    tops = [top.source for top in find_tops(closure, view)]
    shown = reach(tops, find_neighbours(closure, view), depth=view.depth)
    return {
        "inverted": view.inverted,
        "tops": [str(source) for source in tops],
        "packages": [_document(closure, package) for package in closure.packages if package.source in shown],
        "provided": [_provided(closure, package) for package in closure.provided if package.source in shown],
        "deactivated": [{**target_document(off), **life_document(off)} for off in find_off(lock, view)],
    }


def _document(closure: Closure, package: LockedPackage) -> dict[str, Any]:
    return {
        **package_document(closure, package),
        "dependencies": [_link(link) for link in closure.dependencies[package.source]],
        "requiredBy": _dependants(closure, package),
    }


def _provided(closure: Closure, package: Provided) -> dict[str, Any]:
    return {**provided_document(package), "requiredBy": _dependants(closure, package)}


def _dependants(closure: Closure, package: Target) -> list[str]:
    return [str(link.dependant.source) for link in closure.dependants[package.source]]


def _link(link: Link) -> dict[str, Any]:
    return {
        "source": str(link.target.source),
        "constraints": list(link.constraints),
        "insteadOf": [str(source) for source in link.instead_of],
    }
