"""A source that other packages replaced: by which ones, how, and who still names it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from render.lifecycle.retiring.commands import retire_command
from render.lock.graph import LockGraph, Successor
from render.lock.model import Lock, LockedPackage
from render.lock.stale_entries import stale_names
from render.references import Source
from render.texts import visible
from render.views.closure.links import Closure, Link, read_closure
from render.views.closure.why import format_askers, link_document
from render.views.labels import (
    format_locked,
    format_pin,
    leaving_marks,
    life_document,
    target_document,
)


@dataclass(frozen=True, slots=True)
class Succession:
    """A replaced source, the packages that replaced it, and the packages that still name it."""

    source: Source
    # None, if it is not installed any more or never was.
    deactivated: LockedPackage | None
    successors: tuple[Successor, ...]
    # The links of packages that still depend on it, and are served by its successors.
    dependants: tuple[Link, ...]
    # The packages whose stale entries in the cluster's Lock name it.
    stale_for: tuple[LockedPackage, ...]


def explain_replaced(lock: Lock, source: Source) -> Succession:
    """Find the packages that replaced a source."""
    return Succession(
        source,
        lock.deactivated.get(source),
        tuple(LockGraph(lock).records.get(source, ())),
        tuple(_still_naming(read_closure(lock), source)),
        tuple(stale_names(lock.packages.values()).get(source, ())),
    )


def format_succession(found: Succession, folder: str = ".") -> str:
    """Describe the succession of a source as text, with commands for a folder."""
    parts = [
        [_head(found)],
        [f"Replaced by ({len(found.successors)})", *map(_successor_line, found.successors)],
        list(_next(found, folder)),
        format_askers("Still named by", found.dependants, instead=False) if found.dependants else [],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def succession_document(found: Succession) -> dict[str, Any]:
    """Return the succession of a source as JSON values."""
    package = found.deactivated
    deactivated = {**target_document(package), **life_document(package)} if package else None
    return {
        "source": str(found.source),
        "deactivated": deactivated,
        "successors": [
            {
                **target_document(one.package),
                "strategy": one.replaced.strategy if one.replaced else None,
                "consent": one.replaced.consent if one.replaced else None,
            }
            for one in found.successors
        ],
        "requiredBy": [link_document(link, link.dependant) for link in found.dependants],
        "staleFor": [str(package.source) for package in found.stale_for],
    }


def _successor_line(one: Successor) -> str:
    how = f", by {one.replaced.strategy}, consent: {one.replaced.consent}" if one.replaced else ""
    return f"  {format_pin(one.package)}{how}"


def _still_naming(closure: Closure, source: Source) -> Iterator[Link]:
    """Yield one link of each package that depends on a source which others serve."""
    for package in closure.packages:
        links = [link for link in closure.dependencies[package.source] if source in link.instead_of]
        yield from links[:1]


def _head(found: Succession) -> str:
    package = found.deactivated
    if package is None:
        return f"{visible(str(found.source))} is not installed from here: other packages have replaced it"
    marks = ", ".join([package.kind, *leaving_marks(package)])
    return f"{visible(str(found.source))} {format_locked(package)} [{marks}]"


def _next(found: Succession, folder: str) -> Iterator[str]:
    if found.deactivated is None:
        return
    released = found.deactivated.released
    until = (
        "Its guard is off; once every cluster has synced"
        if released
        else "It stays, deactivated, until every dependant has moved"
    )
    yield f"{until}: {retire_command([found.deactivated], [folder], synced=released)}"
    if found.stale_for:
        yield f"The cluster's Lock still names it, and up to v2.3 Crossplane would install it again, for ({len(found.stale_for)})"
        yield from (f"  {format_pin(package)}" for package in found.stale_for)
