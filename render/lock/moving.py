"""How installed packages make room for others: the strategy of each move, chosen by a table or asked for by the user."""

from collections.abc import Mapping, Sequence

from render.lock.detaching import find_reasons
from render.lock.handovers import Handover, Situation, depends_on, share_name
from render.lock.impossible import alias_problems, check_followed, check_strategy, repoint_problems
from render.lock.model import Lock, LockedPackage, Replaced, State
from render.moves import Move, Strategy
from render.packages import Kind
from render.references import Source
from render.values import replace


def choose_handovers(situation: Situation) -> list[Handover]:
    """Return how each installed package that is replaced makes room for its successor."""
    open_moves = [
        (old, move) for old in situation.before.in_order() if (move := _open_move(old, situation)) is not None
    ]
    for old, move in open_moves:
        check_followed(old, move, situation)
    chosen = {old.source: Handover(old, move, _first_match(old, move, situation)) for old, move in open_moves}
    chosen |= {
        source: Handover(h.old, h.move, _together(h, chosen, situation)) for source, h in chosen.items()
    }
    for handover in chosen.values():
        check_strategy(handover, situation)
    return [chosen[source] for source in sorted(chosen)]


def _open_move(old: LockedPackage, situation: Situation) -> Move | None:
    # An alias is a move that goes on: its object names the old source to this day.
    named = situation.moves.get(old.installed_as) if old.installed_as else None
    if old.source not in situation.draft.packages:
        move = situation.moves.get(old.source) or named
        return None if move is None or _goes_on_elsewhere(old, move, situation) else move
    # Nobody asks for an orphan, and so it stays what it is.
    return None if situation.draft.packages[old.source].state is State.ORPHANED else named


def _goes_on_elsewhere(old: LockedPackage, move: Move, situation: Situation) -> bool:
    """Tell whether another folder renders the very object, so that there is nothing to switch off."""
    others = [other for target in move.targets if (other := situation.provided.get(target))]
    return any((other.kind, other.object_name) == (old.kind, old.object_name) for other in others)


def replaced_by(source: Source, handovers: Sequence[Handover], situation: Situation) -> tuple[Replaced, ...]:
    """Return what a package has taken the place of, now or earlier."""
    strategies = {handover.old.source: handover.strategy for handover in handovers}
    # Of an alias also the source that its object names, in whatever way it goes on.
    strategies |= {handover.old.cluster_source: handover.strategy for handover in handovers}
    found = [
        Replaced(move.source, _strategy_of(move, strategies, situation), move.consent)
        for move in situation.moves.values()
        if source in move.targets and move.source != source
    ]
    return tuple(sorted(found, key=lambda replaced: replaced.source))


def _strategy_of(move: Move, chosen: Mapping[Source, Strategy], situation: Situation) -> Strategy:
    if move.source in chosen:
        return chosen[move.source]
    earlier = recorded_strategies(situation.before).get(move.source)
    if earlier in (Strategy.ALIAS, Strategy.REPOINT):
        # Its object went over to what replaced it, and goes the way of that now.
        successors = situation.before.replacements()[move.source]
        earlier = next((chosen[one] for one in successors if one in chosen), earlier)
    return earlier or Strategy.PLAIN


def recorded_strategies(lock: Lock) -> dict[Source, Strategy]:
    """Return how each source was replaced that a lock knows of."""
    # What is off for a package of another folder has no record here.
    off = dict.fromkeys(lock.deactivated, Strategy.DEACTIVATE)
    return off | {one.source: one.strategy for package in lock.packages.values() for one in package.replaces}


def _first_match(old: LockedPackage, move: Move, situation: Situation) -> Strategy:
    """Return the strategy that was asked for, or the first one of the table that fits."""
    if move.strategy is not None:
        return move.strategy
    if situation.provided.keys() & move.targets:
        return Strategy.DEACTIVATE
    if old.installed_as == move.source:
        return Strategy.ALIAS
    one_name = len(move.targets) == 1 and share_name(old, move.targets[0])
    if old.kind is Kind.FUNCTION:
        return Strategy.REPOINT
    was_there = set(situation.before.packages) | {p.source for p in situation.before.deactivated.values()}
    if len(move.targets) > 1 or move.targets[0] in was_there:
        return Strategy.DEACTIVATE
    if not list(alias_problems(old, move, situation)) and _attached_dependants(old, move, situation):
        return Strategy.ALIAS
    return Strategy.REPOINT if one_name else Strategy.DEACTIVATE


def _together(handover: Handover, chosen: Mapping[Source, Handover], situation: Situation) -> Strategy:
    """Members of a family move together: all of them go on under the sources that they name, as aliases do, or none.

    Crossplane lets them work together by the registry and organisation that they name.
    """
    family, own = handover.old.family, handover.strategy
    members = [other for other in chosen.values() if family is not None and other.old.family == family]
    if handover.move.strategy is not None or len({other.strategy is Strategy.ALIAS for other in members}) < 2:
        return own
    if any(other.move.strategy is Strategy.ALIAS or other.old.installed_as for other in members):
        return Strategy.ALIAS
    if own is not Strategy.ALIAS:
        return own
    problems = list(repoint_problems(handover.old, handover.move, situation))
    return Strategy.DEACTIVATE if problems else Strategy.REPOINT


def _attached_dependants(old: LockedPackage, move: Move, situation: Situation) -> list[LockedPackage]:
    """Return who depends on the old source and would stay attached if the new bytes had its name."""
    new = situation.draft.packages[move.targets[0]]
    alias = replace(new, object_name=old.object_name, installed_as=old.cluster_source)
    record = (Replaced(old.cluster_source, Strategy.ALIAS, move.consent),)
    draft = replace(
        situation.draft, packages={**situation.draft.packages, new.source: replace(alias, replaces=record)}
    )
    reasons = find_reasons(draft, situation.known)
    here = [package for package in draft.packages.values() if package.source not in reasons]
    elsewhere = [p for lock in situation.users for p in lock.packages.values() if not p.detached]
    return [package for package in (*here, *elsewhere) if depends_on(package, old.cluster_source)]
