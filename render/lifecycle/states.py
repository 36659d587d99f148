"""What becomes of packages that nobody asks for any more, and how they bind those that stay."""

from collections.abc import Collection, Iterator, Mapping

from render.constraints import parse_constraint
from render.crossplane import keeps_stale_entries
from render.lean import replace
from render.lock.candidates import locked_candidate
from render.lock.model import Lock, LockedPackage, State, named_source
from render.lock.stale_entries import held_packages
from render.moves import Move
from render.references import Source
from render.requests import Request
from render.resolve.model import Bound, Edge
from render.versions import Version


def find_orphans(
    before: Lock, needed: Collection[Source], moves: Mapping[Source, Move]
) -> dict[Source, LockedPackage]:
    """Return the installed packages that nobody needs and nothing replaces; they stay as they are."""
    return {
        # Whatever was wanted in between has its guard back.
        source: replace(
            package,
            state=State.ORPHANED,
            root=None,
            released=package.released and package.state is State.ORPHANED,
            # What has gone on to another since is no longer in its place.
            replaces=tuple(one for one in package.replaces if source in _targets(one.source, moves)),
        )
        for source, package in before.packages.items()
        if source not in needed and source not in moves and not _is_taken_over(package, moves)
    }


def _targets(source: Source, moves: Mapping[Source, Move]) -> tuple[Source, ...]:
    return moves[source].targets if source in moves else ()


def _is_taken_over(package: LockedPackage, moves: Mapping[Source, Move]) -> bool:
    """Tell whether the source that an alias's object names goes to somebody else, and the object with it."""
    move = moves.get(package.installed_as) if package.installed_as else None
    return move is not None and package.source not in move.targets


def orphan_bounds(orphans: Mapping[Source, LockedPackage], moves: Mapping[Source, Move]) -> Iterator[Bound]:
    """Yield what orphans accept of others: they are active, and go on to depend on them."""
    for source, orphan in sorted(orphans.items()):
        yield from bounds_of(orphan, moves, "an orphaned package", f"retire it first: xplock retire {source}")


def bounds_of(
    package: LockedPackage, moves: Mapping[Source, Move], place: str, advice: str
) -> Iterator[Bound]:
    """Yield what an installed package accepts of others."""
    for dependency in package.dependencies:
        named = named_source(dependency, package.source)
        request = Request.of(parse_constraint(dependency.constraints))
        for target in moves[named].targets if named in moves else (named,):
            instead_of = named if target != named else None
            edge = Edge(target, request, package.source, place, instead_of=instead_of)
            yield Bound(edge, locked_candidate(package), advice)


def warn_of_stale_names(before: Lock, crossplane: Version | None) -> list[str]:
    """Return a note for each package that an upgrade of Crossplane to this version could double."""
    if keeps_stale_entries(crossplane):
        return []
    return [
        f"{package.source} is installed as {package.object_name}, and the cluster's Lock still names it for {' and '.join(str(holder.source) for holder in holders)}; "
        f"before Crossplane there becomes {crossplane}, lock another version of that and let the cluster sync"
        for package, holders in held_packages(before, ())
    ]


def stale_entry(
    package: LockedPackage, before: LockedPackage | None, crossplane: Version | None
) -> tuple[str, ...]:
    """Return what a detached package's entry in the cluster's Lock names: up to v2.3 it outlives being attached."""
    if not keeps_stale_entries(crossplane) or not package.detached:
        return ()
    if before is None or before.state is State.DEACTIVATED:
        return ()
    if before.digest != package.digest:
        # Back at a version of late: a cluster that never saw the one in between still has its entry.
        returned = any(pin.digest == package.digest for pin in before.kept_pins)
        return _named_by(package) if returned else ()
    if before.detached:
        return before.stale_entry
    return _named_by(before)


def _named_by(package: LockedPackage) -> tuple[str, ...]:
    return tuple(sorted({dependency.package for dependency in package.dependencies}))


def was_guarded(lock: Lock) -> bool:
    """Tell whether what a lock renders has its guard on; only a setting that differs from the default is recorded."""
    return bool(lock.packages) and "setting guard" not in lock.inputs
