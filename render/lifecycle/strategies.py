"""The strategy of each move of an installed package: the one that was asked for, or the first row of a table that fits."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from render.lean import replace
from render.lifecycle.conditions import alias_problems, depends_on, repoint_problems, share_name
from render.lifecycle.states import Draft, MovedPackage
from render.lock.derived.detaching import find_reasons
from render.lock.graph import LockGraph
from render.lock.model import Lock, LockedPackage, Replaced, State
from render.moves import Move, Strategy
from render.packages import Kind
from render.references import Source

_Condition: TypeAlias = Callable[[LockedPackage, Move, Draft], bool]


def choose_strategies(draft: Draft) -> list[MovedPackage]:
    """Return every installed package that is replaced, with the strategy of its move."""
    found = [(old, move) for old in draft.before.in_order() if (move := _open_move(old, draft)) is not None]
    chosen = {old.source: MovedPackage(old, move, _first_match(old, move, draft)) for old, move in found}
    together = {
        source: replace(one, strategy=_family_strategy(one, chosen, draft)) for source, one in chosen.items()
    }
    return [together[source] for source in sorted(together)]


def replaced_sources(source: Source, moved: Sequence[MovedPackage], draft: Draft) -> tuple[Replaced, ...]:
    """Return the sources that a package has replaced, now or earlier, and how."""
    strategies = {one.old.source: one.strategy for one in moved}
    # An alias has two sources, and both go the same way.
    strategies |= {one.old.cluster_source: one.strategy for one in moved}
    found = [
        Replaced(move.source, _strategy_of(move, strategies, draft), move.consent)
        for move in draft.moves.values()
        if source in move.targets and move.source != source
    ]
    return tuple(sorted(found, key=lambda replaced: replaced.source))


def _open_move(old: LockedPackage, draft: Draft) -> Move | None:
    # The move of an alias never ends: its object names the old source to this day.
    named = draft.moves.get(old.installed_as) if old.installed_as else None
    if old.source not in draft.lock.packages:
        move = draft.moves.get(old.source) or named
        return None if move is None or _stays_elsewhere(old, move, draft) else move
    # An orphan stays as it is.
    return None if draft.lock.packages[old.source].state is State.ORPHANED else named


def _stays_elsewhere(old: LockedPackage, move: Move, draft: Draft) -> bool:
    """Return whether another folder renders the very object, so that there is nothing to deactivate."""
    others = [other for target in move.targets if (other := draft.provided.get(target))]
    return any((other.kind, other.object_name) == (old.kind, old.object_name) for other in others)


def _first_match(old: LockedPackage, move: Move, draft: Draft) -> Strategy:
    if move.strategy is not None:
        return move.strategy
    return next((strategy for fits, strategy in _TABLE if fits(old, move, draft)), Strategy.DEACTIVATE)


def _is_provided(_: LockedPackage, move: Move, draft: Draft) -> bool:
    return bool(draft.provided.keys() & move.targets)


def _is_alias_already(old: LockedPackage, move: Move, _: Draft) -> bool:
    return old.installed_as == move.source


def _is_function(old: LockedPackage, _: Move, __: Draft) -> bool:
    return old.kind is Kind.FUNCTION


def _has_own_object(_: LockedPackage, move: Move, draft: Draft) -> bool:
    """Return whether a successor was in the lock before, or there are several."""
    before = draft.before
    known = set(before.packages) | {package.source for package in before.deactivated.values()}
    return len(move.targets) > 1 or move.targets[0] in known


def _keeps_dependants_attached(old: LockedPackage, move: Move, draft: Draft) -> bool:
    return not list(alias_problems(old, move, draft)) and bool(_attached_dependants(old, move, draft))


def _derives_one_name(old: LockedPackage, move: Move, _: Draft) -> bool:
    return len(move.targets) == 1 and share_name(old, move.targets[0])


# The first row that fits decides; without one, the old package is deactivated.
_TABLE: tuple[tuple[_Condition, Strategy], ...] = (
    (_is_provided, Strategy.DEACTIVATE),
    (_is_alias_already, Strategy.ALIAS),
    (_is_function, Strategy.REPOINT),
    (_has_own_object, Strategy.DEACTIVATE),
    (_keeps_dependants_attached, Strategy.ALIAS),
    (_derives_one_name, Strategy.REPOINT),
)


def _family_strategy(one: MovedPackage, chosen: Mapping[Source, MovedPackage], draft: Draft) -> Strategy:
    """Return the strategy of a family member: all members are aliases, or none.

    Crossplane lets members work together by the registry and organisation that their objects name.
    """
    family, own = one.old.family, one.strategy
    members = [other for other in chosen.values() if family is not None and other.old.family == family]
    if one.move.strategy is not None or len({other.strategy is Strategy.ALIAS for other in members}) < 2:
        return own
    if any(other.move.strategy is Strategy.ALIAS or other.old.installed_as for other in members):
        return Strategy.ALIAS
    if own is not Strategy.ALIAS:
        return own
    problems = list(repoint_problems(one.old, one.move, draft))
    return Strategy.DEACTIVATE if problems else Strategy.REPOINT


def _attached_dependants(old: LockedPackage, move: Move, draft: Draft) -> list[LockedPackage]:
    """Return the dependants of the old source that would stay attached if the new package were its alias."""
    new = draft.lock.packages.get(move.targets[0])
    if new is None:
        return []
    record = (Replaced(old.cluster_source, Strategy.ALIAS, move.consent),)
    alias = replace(new, object_name=old.object_name, installed_as=old.cluster_source, replaces=record)
    lock = replace(draft.lock, packages={**draft.lock.packages, new.source: alias})
    reasons = find_reasons(LockGraph(lock), draft.known_reasons)
    here = [package for package in lock.packages.values() if package.source not in reasons]
    elsewhere = [package for package in draft.context.neighbours.using_packages if not package.detached]
    return [package for package in (*here, *elsewhere) if depends_on(package, old.cluster_source)]


def _strategy_of(move: Move, chosen: Mapping[Source, Strategy], draft: Draft) -> Strategy:
    if move.source in chosen:
        return chosen[move.source]
    earlier = _recorded_strategies(draft.before).get(move.source)
    if earlier in (Strategy.ALIAS, Strategy.REPOINT):
        # Its object became that of its successor, and goes the way of that now.
        successors = LockGraph(draft.before).successors[move.source]
        earlier = next((chosen[one] for one in successors if one in chosen), earlier)
    return earlier or Strategy.PLAIN


def _recorded_strategies(lock: Lock) -> dict[Source, Strategy]:
    """Return how each replaced source of a lock was replaced."""
    # A package that was deactivated for one of another folder has no record here.
    deactivated = dict.fromkeys(lock.deactivated, Strategy.DEACTIVATE)
    records = LockGraph(lock).records.items()
    return deactivated | {s: one.replaced.strategy for s, found in records for one in found if one.replaced}
