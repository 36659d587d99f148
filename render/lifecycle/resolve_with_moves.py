"""The search, repeated until its answer agrees with its consequences: claims, moved Functions, orphans."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from render.errors import RenderError, Unsatisfiable
from render.lifecycle.claims import Claims, find_claims, installed_kinds, recorded_moves
from render.lifecycle.conditions import refuse_for_functions
from render.lifecycle.preferences import folder_bounds, orphan_bounds
from render.lifecycle.retiring.ways_out import find_blocking, leave_users_first, retire_first
from render.lifecycle.states import Context, StableResolution, find_orphans
from render.limits import Limits
from render.lock.model import Lock, LockedPackage, State
from render.moves import Move, add_moves, follow_moves, format_moves
from render.names import object_name
from render.packages import Kind
from render.references import Source
from render.resolve.conflict import NoSolution
from render.resolve.model import Bound, Catalog, Chosen, Resolution, Wanted
from render.resolve.resolve import resolve

# A claim can bring in packages with claims of their own; real ones agree in the second round.
_MOST_ROUNDS = 10


class MovedRoot(Unsatisfiable):
    """A package that is asked for although another one has replaced it."""


class UnstableClaims(RenderError):
    """Packages that come and go with each other's claims."""


@dataclass(frozen=True, slots=True)
class _Assumptions:
    """The assumptions of one search."""

    claims: Mapping[Source, Move] = field(default_factory=dict)
    # Functions that moved to another name: nothing is handed over, and each keeps its dependants.
    separate: frozenset[Source] = frozenset()
    orphans: frozenset[Source] = frozenset()


def resolve_with_moves(
    wanted: Wanted, context: Context, catalog: Catalog, limits: Limits
) -> StableResolution:
    """Search until the moves and orphans that follow from the answer are those that it was made with."""
    before, neighbours = context.before, context.neighbours
    decided = add_moves(follow_moves(context.settings.moves), neighbours.moves)
    assumed = _first_assumptions(decided, before)
    seen: list[_Assumptions] = []
    while True:
        moves = _join_moves(decided, before, assumed)
        _refuse_moved_roots(wanted, moves)
        orphans = find_orphans(before, before.packages.keys() - assumed.orphans, moves)
        resolution = _search(wanted, context, moves, orphans, catalog, limits)
        claims = find_claims(resolution, installed_kinds(before), decided, neighbours.folders)
        found = _following(assumed, claims, moves, resolution, wanted, before)
        if found == assumed:
            return StableResolution(
                resolution,
                moves,
                orphans if context.guard else {},
                context.settings.moves,
                {source: decided[source] for source in assumed.separate & decided.keys()},
                claims.notes,
            )
        seen.append(assumed)
        if found in seen or len(seen) > _MOST_ROUNDS:
            raise UnstableClaims(
                "packages come and go with each other's claims",
                why=sorted(str(source) for source in found.claims.keys() ^ assumed.claims.keys()),
                next="decide with `moves` entries in xplock.yaml",
            )
        assumed = found


def _first_assumptions(decided: Mapping[Source, Move], before: Lock) -> _Assumptions:
    orphans = [source for source, p in before.packages.items() if p.state is State.ORPHANED]
    separate = _separate_functions(decided, {}, before)
    return _Assumptions(separate=frozenset(separate), orphans=frozenset(orphans))


def _join_moves(decided: Mapping[Source, Move], before: Lock, assumed: _Assumptions) -> dict[Source, Move]:
    more = [*assumed.claims.values(), *recorded_moves(before)]
    moves = add_moves(decided, more)
    return {source: move for source, move in moves.items() if source not in assumed.separate}


def _search(
    wanted: Wanted,
    context: Context,
    moves: Mapping[Source, Move],
    orphans: Mapping[Source, LockedPackage],
    catalog: Catalog,
    limits: Limits,
) -> Resolution:
    using = tuple(folder_bounds(context.neighbours.using, context.before, moves))
    held = tuple(orphan_bounds(orphans, moves)) if context.guard else ()
    targets = {source: move.targets for source, move in moves.items()}
    free = replace(wanted, moves=targets, judge_owners=False)

    def search(*bounds: Bound) -> Resolution:
        return resolve(replace(free, bounds=(*wanted.bounds, *bounds)), catalog, limits)

    try:
        return search(*using, *held)
    except NoSolution as error:
        if not using and not held:
            raise
        # Without orphans and other folders there may be no solution either; then that is the error to report.
        alone = _search_without(held, using, search)
        blocking = find_blocking(alone, context)
        leaving = retire_first(blocking(held), orphans, context)
        error.next = (*leaving, *leave_users_first(blocking(using), context)) or error.next
        raise


def _search_without(
    held: Sequence[Bound], using: Sequence[Bound], search: Callable[..., Resolution]
) -> Resolution:
    """Search without orphans; without the using folders, too, if they leave no solution."""
    try:
        if held:
            return search(*using)
    except NoSolution:
        if not using:
            raise
    return search()


def _following(
    assumed: _Assumptions,
    claims: Claims,
    moves: Mapping[Source, Move],
    resolution: Resolution,
    wanted: Wanted,
    before: Lock,
) -> _Assumptions:
    """Return the assumptions that follow from an answer."""
    needed = resolution.packages.keys() | wanted.provided.keys()
    return _Assumptions(
        claims={**assumed.claims, **claims.moves},
        separate=assumed.separate | _separate_functions(moves, resolution.packages, before),
        orphans=frozenset(find_orphans(before, needed, moves)),
    )


def _separate_functions(
    moves: Mapping[Source, Move], chosen: Mapping[Source, Chosen], before: Lock
) -> set[Source]:
    """Return the moves of Functions that keep an object each: the names differ, or both are installed already."""
    found = set()
    for source, move in moves.items():
        kinds = {chosen[target].kind for target in move.targets if target in chosen}
        kinds |= {before.packages[one].kind for one in (source, *move.targets) if one in before.packages}
        one_name = all(object_name(target) == object_name(source) for target in move.targets)
        both = source in before.packages and any(target in before.packages for target in move.targets)
        if Kind.FUNCTION in kinds:
            # A move between kinds is refused for that, whatever its strategy.
            if len(kinds) == 1:
                refuse_for_functions(move)
            if both or not one_name:
                found.add(source)
    return found


def _refuse_moved_roots(wanted: Wanted, moves: Mapping[Source, Move]) -> None:
    for root in wanted.roots:
        move = moves.get(root.source)
        if move is not None:
            targets = " and ".join(map(str, move.targets))
            raise MovedRoot(
                f"{root.source} is asked for, and {targets} has replaced it",
                why=[f"{root.place} asks for it", f"{move.place} says that it has moved"],
                next=[
                    f"ask for {targets} instead",
                    "or undo the move with its opposite, in xplock.yaml:",
                    *format_moves([Move(move.targets[0], (root.source,))]),
                ],
            )
