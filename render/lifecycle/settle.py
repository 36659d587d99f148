"""The search, repeated until its answer and what follows from it agree: claims, Functions that moved, orphans."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from render.errors import RenderError, Unsatisfiable
from render.folders.neighbours import NOBODY, Neighbours
from render.lifecycle.claims import find_claims
from render.lifecycle.dependent_folders import needed_by_users, user_bounds
from render.lifecycle.states import find_orphans, orphan_bounds
from render.lifecycle.strategies import ImpossibleMove, refuse_for_functions, refuse_other_kinds
from render.limits import Limits
from render.lock.graph import LockGraph
from render.lock.model import Lock, LockedPackage, State
from render.moves import Move, add_moves, follow_moves, format_moves
from render.names import object_name
from render.packages import Kind
from render.references import Source
from render.resolve.model import Catalog, Chosen, Resolution, Wanted
from render.resolve.owners import check_owners
from render.resolve.resolve import resolve

# Claims can bring packages whose claims bring others; real ones are settled in the second round.
_MOST_ROUNDS = 10


class MovedRoot(Unsatisfiable):
    """A package that is asked for although another one has taken its place."""


class UnneededMove(Unsatisfiable):
    """A move of something that nobody has and nobody needs."""


class Unsettled(RenderError):
    """Packages whose claims come and go with each other."""


@dataclass(frozen=True, slots=True)
class Settled:
    """An answer with everything that follows from it."""

    resolution: Resolution
    # What has taken the place of what, by the source that was replaced.
    moves: Mapping[Source, Move]
    # Installed packages that nobody needs any more; without a guard they go at once.
    orphans: Mapping[Source, LockedPackage]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Round:
    """What one search assumes."""

    claims: Mapping[Source, Move] = field(default_factory=dict)
    # Functions that moved to another name: nothing is handed over, and each keeps its dependants.
    apart: frozenset[Source] = frozenset()
    orphans: frozenset[Source] = frozenset()


def settle(
    wanted: Wanted,
    before: Lock,
    asked: Collection[Move],
    catalog: Catalog,
    limits: Limits,
    *,
    guard: bool,
    around: Neighbours = NOBODY,
) -> Settled:
    """Search until the moves and orphans that an answer makes are those it was made with."""
    user = follow_moves(asked)
    decided = add_moves(user, around.moves)
    assumed = _Round(apart=frozenset(_functions_apart(decided, {}, before)), orphans=_orphaned(before))
    seen: list[_Round] = []
    while True:
        moves = _moves(decided, before, assumed)
        _check_roots(wanted, moves)
        orphans = find_orphans(before, before.packages.keys() - assumed.orphans, moves)
        held = orphan_bounds(orphans, moves) if guard else ()
        bounds = (*wanted.bounds, *user_bounds(around.users, before, moves), *held)
        places = {source: move.targets for source, move in moves.items()}
        assuming = replace(wanted, bounds=bounds, moves=places, judge_owners=False)
        resolution = resolve(assuming, catalog, limits)
        claims = find_claims(resolution, _installed(before), decided, around.folders)
        found = _Round(
            claims={**assumed.claims, **claims.moves},
            apart=assumed.apart | _functions_apart(moves, resolution.packages, before),
            orphans=frozenset(
                find_orphans(before, resolution.packages.keys() | wanted.provided.keys(), moves)
            ),
        )
        if found == assumed:
            check_owners(resolution, before.packages)
            _check_needed(asked, resolution, before, needed_by_users(around.users))
            _check_kinds(moves, resolution, before)
            _check_apart(decided, assumed.apart, resolution)
            return Settled(resolution, moves, orphans if guard else {}, claims.notes)
        seen.append(assumed)
        if found in seen or len(seen) > _MOST_ROUNDS:
            raise Unsettled(
                "packages come and go with each other's claims",
                why=sorted(str(source) for source in found.claims.keys() ^ assumed.claims.keys()),
                next="decide with `moves` entries in xplock.yaml",
            )
        assumed = found


def recorded_moves(lock: Lock) -> Iterator[Move]:
    """Yield the moves that a lock knows of."""
    graph = LockGraph(lock)
    known = {s: one.replaced for s, found in graph.records.items() for one in found if one.replaced}
    for source, targets in graph.successors.items():
        if source in known:
            yield Move(source, targets, known[source].consent, place="the lock")
    for source, package in lock.deactivated.items():
        # Its successor is in another folder.
        if source not in known:
            yield Move(source, package.replaced_by, place="the lock")


def _moves(user: Mapping[Source, Move], before: Lock, assumed: _Round) -> dict[Source, Move]:
    more = [*assumed.claims.values(), *recorded_moves(before)]
    return {source: move for source, move in add_moves(user, more).items() if source not in assumed.apart}


def _orphaned(before: Lock) -> frozenset[Source]:
    return frozenset(s for s, package in before.packages.items() if package.state is State.ORPHANED)


def _installed(before: Lock) -> dict[Source, Kind]:
    packages = (*before.deactivated.values(), *before.packages.values())
    return {package.cluster_source: package.kind for package in packages}


def _functions_apart(
    moves: Mapping[Source, Move], chosen: Mapping[Source, Chosen], before: Lock
) -> set[Source]:
    """Return the moves of Functions that keep an object each: the names differ, or both are there already."""
    found = set()
    for source, move in moves.items():
        kinds = {chosen[target].kind for target in move.targets if target in chosen}
        kinds |= {before.packages[one].kind for one in (source, *move.targets) if one in before.packages}
        one_name = all(object_name(target) == object_name(source) for target in move.targets)
        both = source in before.packages and any(target in before.packages for target in move.targets)
        if Kind.FUNCTION in kinds:
            refuse_for_functions(move)
            if both or not one_name:
                found.add(source)
    return found


def _check_roots(wanted: Wanted, moves: Mapping[Source, Move]) -> None:
    for root in wanted.roots:
        move = moves.get(root.source)
        if move is not None:
            targets = " and ".join(map(str, move.targets))
            raise MovedRoot(
                f"{root.source} is asked for, and {targets} has taken its place",
                why=[f"{root.place} asks for it", f"{move.place} says that it has moved"],
                next=[
                    f"ask for {targets} instead",
                    "or undo the move with its opposite, in xplock.yaml:",
                    *format_moves([Move(move.targets[0], (root.source,))]),
                ],
            )


def _check_kinds(moves: Mapping[Source, Move], resolution: Resolution, before: Lock) -> None:
    """Refuse a move from one kind to another, also of what only its dependants know the kind of."""
    edges = [edge for chosen in resolution.packages.values() for edge in chosen.dependencies]
    kinds: dict[Source, str] = {
        edge.instead_of: edge.dependency.kind
        for edge in edges
        if edge.instead_of and edge.dependency and edge.dependency.kind
    }
    kinds |= {source: str(kind) for source, kind in _installed(before).items()}
    for source, move in moves.items():
        new = {resolution.packages[target].kind for target in move.targets if target in resolution.packages}
        if source in kinds:
            refuse_other_kinds(move, kinds[source], new)


def _check_apart(moves: Mapping[Source, Move], apart: Collection[Source], resolution: Resolution) -> None:
    for source in sorted(apart & moves.keys()):
        missing = [target for target in moves[source].targets if target not in resolution.packages]
        if missing:
            raise ImpossibleMove(
                f"{source} moves to {' and '.join(map(str, missing))}, which nothing asks for",
                why=f"{moves[source].place} says so",
                next=f"ask for {missing[0]} in a manifest, or remove the move",
            )


def _check_needed(
    asked: Collection[Move], resolution: Resolution, before: Lock, elsewhere: Collection[Source]
) -> None:
    edges = [edge for chosen in resolution.packages.values() for edge in chosen.dependencies]
    known = {*elsewhere, *(edge.instead_of or edge.source for edge in edges)}
    known |= _installed(before).keys() | before.packages.keys() | before.provided.keys()
    known |= {move.source for move in recorded_moves(before)}
    # The middle of a chain is known by the move that leads there.
    known |= {target for move in asked for target in move.targets}
    for move in sorted(asked, key=lambda move: move.source):
        source = move.source
        functions = any(
            target in resolution.packages and resolution.packages[target].kind is Kind.FUNCTION
            for target in move.targets
        )
        # Of a Function nothing is recorded, since nothing is handed over; its move stays true when it is gone.
        if source not in known and not functions:
            raise UnneededMove(
                f"{source} moves, and nobody has or needs it",
                why=f"{move.place} says that it has moved",
                next="remove the entry, or correct its source",
            )
