"""What became of a source that others have taken the place of."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from render.lock.graph import Target
from render.lock.model import Lock, LockedPackage, Replaced
from render.lock.stale_entries import stale_names
from render.references import Source
from render.texts import visible
from render.views.labels import (
    format_locked,
    format_pin,
    format_retire,
    leaving_marks,
    life_document,
    target_document,
)
from render.views.links import Closure, Link, read_closure
from render.views.why import format_askers, link_document


@dataclass(frozen=True, slots=True)
class Successor:
    """A package in the place of another one."""

    package: Target
    # How it came there; of what another folder provides, only that one knows.
    replaced: Replaced | None

    def __str__(self) -> str:
        if self.replaced is None:
            return format_pin(self.package)
        return f"{format_pin(self.package)}, by {self.replaced.strategy}, consent: {self.replaced.consent}"


@dataclass(frozen=True, slots=True)
class Succession:
    """A source, what has taken its place, and who has not noticed yet."""

    source: Source
    # What is switched off; nothing, if it is not installed any more or never was.
    off: LockedPackage | None
    successors: tuple[Successor, ...]
    # Who still depends on it, and is served by others.
    dependants: tuple[Link, ...]
    # Whose entries in the cluster's Lock are out of date and name it.
    stale_for: tuple[LockedPackage, ...]


def explain_replaced(lock: Lock, source: Source) -> Succession:
    """Find what has taken the place of a source."""
    return Succession(
        source,
        lock.deactivated.get(source),
        tuple(_successors(lock, source)),
        tuple(_still_naming(read_closure(lock), source)),
        tuple(stale_names(lock.packages.values()).get(source, ())),
    )


def format_succession(found: Succession, folder: str = ".") -> str:
    """Write for a person what became of a source, with commands for a folder."""
    parts = [
        [_head(found)],
        [f"Replaced by ({len(found.successors)})", *(f"  {successor}" for successor in found.successors)],
        list(_next(found, folder)),
        format_askers("Still named by", found.dependants, instead=False) if found.dependants else [],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def succession_document(found: Succession) -> dict[str, Any]:
    """Return as JSON values what became of a source."""
    off = {**target_document(found.off), **life_document(found.off)} if found.off else None
    return {
        "source": str(found.source),
        "deactivated": off,
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


def _successors(lock: Lock, source: Source) -> Iterator[Successor]:
    for package in lock.in_order():
        for replaced in package.replaces:
            if replaced.source == source:
                yield Successor(package, replaced)
    for provided in lock.provided.values():
        if source in provided.replaces:
            yield Successor(provided, None)


def _still_naming(closure: Closure, source: Source) -> Iterator[Link]:
    """Yield who depends on a source that others serve, once each."""
    for package in closure.packages:
        links = [link for link in closure.dependencies[package.source] if source in link.instead_of]
        yield from links[:1]


def _head(found: Succession) -> str:
    if found.off is None:
        return f"{visible(str(found.source))} is not installed from here: others have taken its place"
    return f"{visible(str(found.source))} {format_locked(found.off)} [{', '.join([found.off.kind, *leaving_marks(found.off)])}]"


def _next(found: Succession, folder: str) -> Iterator[str]:
    if found.off is None:
        return
    released = found.off.released
    until = (
        "Its guard is off; once every cluster has synced"
        if released
        else "It stays, switched off, until everyone has moved"
    )
    yield f"{until}: {format_retire([found.source], folder, synced=released)}"
    if found.stale_for:
        yield f"The cluster's Lock still names it, and up to v2.3 Crossplane would install it again, for ({len(found.stale_for)})"
        yield from (f"  {format_pin(package)}" for package in found.stale_for)
