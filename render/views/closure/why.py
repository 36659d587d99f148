"""Why a package is locked: who requires it, by which paths, what it replaced, and what keeps its version."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from render.lifecycle.retiring.commands import retire_command
from render.lock.candidates import installed_candidate
from render.lock.graph import Target, reach
from render.lock.model import Lock, LockedPackage, Provided, State
from render.lock.stale_entries import entry_names, stale_bounds
from render.references import Source
from render.texts import visible
from render.views.closure.links import Closure, Link, read_closure, root_request
from render.views.closure.paths import MOST_COUNTED, Way, count_ways, shortest_ways
from render.views.labels import (
    format_locked,
    format_package,
    format_pin,
    package_document,
    provided_document,
)

SHOWN_PATHS = 10
_NAMED_TOGETHER = 5


@dataclass(frozen=True, slots=True)
class Explanation:
    """The dependants of a package, the shortest path from each root to it, and the number of paths."""

    closure: Closure
    package: Target
    ways: tuple[Way, ...]
    count: int
    # Packages whose stale entries in the cluster's Lock keep its version.
    holders: tuple[LockedPackage, ...] = ()

    @property
    def dependants(self) -> tuple[Link, ...]:
        """The packages that depend on it directly."""
        return self.closure.dependants[self.package.source]

    @property
    def above(self) -> list[LockedPackage]:
        """All packages that depend on it, directly or not."""
        links = self.closure.dependants
        steps = {source: [link.dependant.source for link in links[source]] for source in links}
        found = reach([self.package.source], steps) - {self.package.source}
        return [package for package in self.closure.packages if package.source in found]


def explain(
    lock: Lock, source: Source, *, most: int = SHOWN_PATHS, folder: str | PurePath = "."
) -> Explanation:
    """Find the dependants of a package that is active or provided. The folder is for advice."""
    closure = read_closure(lock)
    held = any(bound.edge.source == source for bound in stale_bounds(lock))
    return Explanation(
        closure,
        lock.packages.get(source) or lock.provided[source],
        ways=tuple(shortest_ways(closure, source, most)),
        count=count_ways(closure, source, folder),
        holders=tuple(entry_names(lock.packages.values())[source]) if held else (),
    )


def format_explanation(found: Explanation, folder: str = ".") -> str:
    """Write an explanation as text, with commands for a folder."""
    package = found.package
    parts = [[format_package(found.closure, package)]]
    if isinstance(package, Provided):
        parts += [[f"It is installed from {visible(package.folder)}, and only used here."]]
    elif package.state is State.ORPHANED:
        parts += [[_orphaned(package, found.above, folder)]]
    parts += [format_askers("Asked for by", found.dependants, package), list(_ways(found))]
    if isinstance(package, LockedPackage):
        parts += [_replaces(package), _detached(package), _stale(package), _held(found)]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def explanation_document(found: Explanation) -> dict[str, Any]:
    """Return an explanation as JSON values."""
    package = found.package
    return {
        **_described(found),
        "requiredBy": [link_document(link, link.dependant) for link in found.dependants],
        "paths": [_way_document(way) for way in found.ways],
        "pathCount": found.count,
        "pathCountIsExact": found.count < MOST_COUNTED,
        "heldBy": [str(holder.source) for holder in found.holders],
        "providedBy": package.folder if isinstance(package, Provided) else None,
    }


def link_document(link: Link, end: Target) -> dict[str, Any]:
    """Return one end of a link as JSON values."""
    return {
        "source": str(end.source),
        "version": end.version,
        "constraints": list(link.constraints),
        "satisfied": link.satisfied,
        "insteadOf": [str(source) for source in link.instead_of],
        "crds": list(link.crds),
    }


def format_askers(
    title: str, links: tuple[Link, ...], package: Target | None = None, *, instead: bool = True
) -> list[str]:
    """Write the dependants of a package, the user first, and whether each of them accepts the locked version."""
    rows = [
        (
            format_pin(link.dependant),
            visible(str(link)),
            _verdict(satisfied=link.satisfied) + (_instead(link) if instead else ""),
        )
        for link in links
    ]
    if isinstance(package, LockedPackage) and package.root is not None:
        rows.insert(0, ("you", visible(package.root), _verdict(satisfied=_root_satisfied(package))))
    widths = [max((len(row[i]) for row in rows), default=0) for i in (0, 1)]
    return [
        f"{title} ({len(rows)})",
        *(f"  {name:<{widths[0]}}  {text:<{widths[1]}}  {verdict}" for name, text, verdict in rows),
    ]


def _described(found: Explanation) -> dict[str, Any]:
    package = found.package
    if isinstance(package, Provided):
        return provided_document(package)
    satisfied = None if package.root is None else _root_satisfied(package)
    return {**package_document(found.closure, package), "askedForSatisfied": satisfied}


def _way_document(way: Way) -> list[dict[str, Any]]:
    start = {
        "source": str(way.start.source),
        "version": way.start.version,
        "constraints": [] if way.start.root is None else [way.start.root],
        "satisfied": way.start.root is None or _root_satisfied(way.start),
        "insteadOf": [],
        "crds": [],
    }
    return [start, *(link_document(link, link.target) for link in way.links)]


def _orphaned(package: LockedPackage, above: list[LockedPackage], folder: str) -> str:
    if package.released:
        command = retire_command([package], [folder], synced=True)
        return f"Its guard is off; once every cluster has synced: {command}"
    command = retire_command([*above, package], [folder])
    if not above:
        return f"Nothing requires it: orphaned, held until: {command}"
    told = f": {command}" if len(above) < _NAMED_TOGETHER else ""
    return f"Only orphaned packages need it: orphaned too, held until all are retired{told}"


def _replaces(package: LockedPackage) -> list[str]:
    lines = [f"  {one.source}, by {one.strategy}, consent: {one.consent}" for one in package.replaces]
    if package.installed_as:
        named = f"{package.kind} {package.object_name}"
        lines.append(f"  {named} still names {package.installed_as}, and its pin leads to {package.source}")
    return [f"Replaces ({len(package.replaces)})", *lines] if lines else []


def _detached(package: LockedPackage) -> list[str]:
    if not package.detached:
        return []
    return [
        "Detached, so Crossplane does not check its dependencies",
        *(f"  {visible(why)}" for why in package.detached),
    ]


def _stale(package: LockedPackage) -> list[str]:
    if not package.stale_entry:
        return []
    return [
        f"Its entry in the cluster's Lock stays until its bytes change, and names ({len(package.stale_entry)})",
        *(f"  {visible(text)}" for text in package.stale_entry),
    ]


def _held(found: Explanation) -> list[str]:
    if not found.holders:
        return []
    return [
        f"Held at {format_locked(found.package)}, since the cluster's Lock still names it for ({len(found.holders)})",
        *(f"  {format_pin(holder)}" for holder in found.holders),
        "  lock other versions of them and let the cluster sync, then it may change",
    ]


def _ways(found: Explanation) -> Iterator[str]:
    yield f"Paths ({_counted(found, found.count)})"
    for way in found.ways:
        yield f"  {format_pin(way.start)}, {_start(way.start)}"
        yield from (f"    → {_step(link)}" for link in way.links)
    more = found.count - len(found.ways)
    if more:
        yield f"  … {_counted(found, more)} more path{'s' if more > 1 else ''}"


def _start(package: LockedPackage) -> str:
    if package.root is None:
        return "orphaned"
    return f"asked for: {visible(package.root)}{'' if _root_satisfied(package) else ', NOT satisfied'}"


def _counted(found: Explanation, number: int) -> str:
    return f"{'over ' if found.count == MOST_COUNTED else ''}{number:,}"


def _step(link: Link) -> str:
    verdict = "satisfies" if link.satisfied else "does NOT satisfy"
    return f"{format_pin(link.target)}, {verdict} {visible(str(link))}{_instead(link)}"


def _instead(link: Link) -> str:
    return f", for {' and '.join(map(str, link.instead_of))}" if link.instead_of else ""


def _verdict(*, satisfied: bool) -> str:
    return "satisfied" if satisfied else "NOT satisfied"


def _root_satisfied(package: LockedPackage) -> bool:
    request = root_request(package)
    return request is not None and installed_candidate(package).answers(request)
