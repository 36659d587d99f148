"""How installed packages make room for others: the strategy of each move, chosen by a table or asked for by the user."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from render.errors import InvalidInput, Unsatisfiable
from render.lean import replace
from render.lifecycle.handovers import Handover, Situation, depends_on, share_name
from render.lock.detaching import find_reasons
from render.lock.graph import LockGraph
from render.lock.model import Lock, LockedPackage, Provided, Replaced, State
from render.lock.stale_entries import stale_names
from render.moves import Move, Strategy
from render.names import object_name
from render.packages import Kind
from render.references import Source
from render.settings import PinMode, Settings


class ImpossibleMove(Unsatisfiable):
    """A move that cannot be done, or not in the way that was asked for."""


class UnknownCrossplane(InvalidInput):
    """A package that is to be switched off, in a way that depends on the version of Crossplane."""


def check_followed(old: LockedPackage, move: Move, situation: Situation) -> None:
    """Refuse a move to what nobody asks for, or to another kind of package."""
    taking = {target: situation.find(target) for target in move.targets}
    missing = [target for target, new in taking.items() if new is None or _is_orphaned(new)]
    if missing:
        raise ImpossibleMove(
            f"{old.source} is installed and moves to {' and '.join(map(str, missing))}, which nothing asks for",
            why=[f"{move.place} says so", "what is handed over needs somebody to take it"],
            next=f"ask for {missing[0]} in a manifest, or remove the move and retire {old.source}",
        )
    refuse_other_kinds(move, old.kind, {new.kind for new in taking.values() if new})


def refuse_other_kinds(move: Move, kind: str, others: Collection[str]) -> None:
    """Refuse a move from one kind of package to another."""
    wrong = sorted({*others} - {kind})
    if wrong:
        raise ImpossibleMove(
            f"{move.source} cannot become {' and '.join(map(str, move.targets))}",
            why=f"{move.place}: it is a {kind}, and not a {' or '.join(wrong)}",
            next="correct the move",
        )


def check_strategy(handover: Handover, situation: Situation) -> None:
    """Refuse a strategy whose conditions do not hold; never is another one taken silently."""
    old, move = handover.old, handover.move
    checks = {
        Strategy.ALIAS: alias_problems,
        Strategy.REPOINT: repoint_problems,
        Strategy.DEACTIVATE: _deactivate_problems,
    }
    problems = list(checks[handover.strategy](old, move, situation))
    if problems:
        raise ImpossibleMove(
            f"{move.source} cannot make room for {' and '.join(map(str, move.targets))} by {handover.strategy}",
            why=problems,
            next=_way_out(handover),
        )
    _check_name(handover, situation)


def alias_problems(old: LockedPackage, move: Move, situation: Situation) -> Iterator[str]:
    """Yield why the old object cannot go on with the new bytes."""
    if old.kind is Kind.FUNCTION:
        yield "a Function owns nothing that could be handed over"
    if len(move.targets) > 1:
        yield "it became several packages, and one object can hold the bytes of one"
    if situation.settings.pin is not PinMode.DIGEST:
        yield f"only pin: digest can put other bytes behind a source, and pin is {situation.settings.pin}"
    if old.object_name != object_name(old.cluster_source):
        yield f"its object is named {old.object_name}, not {object_name(old.cluster_source)} as Crossplane would"
    yield from _elsewhere(move, situation)
    yield from _own_objects(old, move, situation)
    for target in move.targets:
        new = situation.draft.packages.get(target)
        if new is not None and new.by_digest:
            yield f"{target} is asked for by its digest, so there is no tag to show"


def repoint_problems(old: LockedPackage, move: Move, situation: Situation) -> Iterator[str]:
    """Yield why the old object cannot get the new source."""
    yield from _elsewhere(move, situation)
    yield from _own_objects(old, move, situation)
    if len(move.targets) > 1:
        yield "it became several packages, and one object can be one of them"
    elif not share_name(old, move.targets[0]):
        yield (
            f"Crossplane would name it {object_name(move.targets[0])}, and the object is "
            f"{object_name(old.cluster_source)}: it would create that one as well"
        )


def refuse_for_functions(move: Move) -> None:
    """Refuse a strategy for a Function that would hand something over, or take its name away."""
    one_name = all(object_name(target) == object_name(move.source) for target in move.targets)
    if move.strategy is None or (move.strategy is Strategy.REPOINT and one_name):
        return
    raise ImpossibleMove(
        f"{move.source} cannot make room for {' and '.join(map(str, move.targets))} by {move.strategy}",
        why=[
            "it is a Function: it owns nothing that could be handed over, and Compositions find it by the name of its object",
            f"{move.place} asks for that strategy",
        ],
        next="leave out the strategy",
    )


def require_crossplane_version(lock: Lock, settings: Settings) -> None:
    """Refuse to switch packages off without knowing how; up to v2.3 their revisions have to be named."""
    if lock.deactivated and settings.crossplane_version is None:
        raise UnknownCrossplane(
            "packages are switched off, and the version of Crossplane is not known",
            why=[f"{package.source} is replaced" for package in lock.deactivated.values()],
            next="add it to xplock.yaml, for example: crossplaneVersion: v2.3.4",
        )


def _is_orphaned(package: LockedPackage | Provided) -> bool:
    return isinstance(package, LockedPackage) and package.state is State.ORPHANED


def _way_out(handover: Handover) -> str | list[str]:
    if handover.move.strategy is not None:
        return "leave out the strategy, or give another one"
    if handover.strategy is Strategy.ALIAS:
        return [
            "keep pin: digest and the tag while the alias is there",
            f"or end it first: give the move of {handover.move.source} strategy: {Strategy.DEACTIVATE}",
        ]
    return f"upgrade or drop what depends on {handover.move.source} first"


def _own_objects(old: LockedPackage, move: Move, situation: Situation) -> Iterator[str]:
    """Yield which successors are installed already: an object that one of them gave up would be gone."""
    for target in move.targets:
        own = situation.before.packages.get(target) or situation.before.deactivated.get(target)
        if own is not None and own is not old:
            yield f"{target} has an object of its own already, {own.object_name}"


def _elsewhere(move: Move, situation: Situation) -> Iterator[str]:
    for target in move.targets:
        if target in situation.provided:
            yield f"{target} is in {situation.provided[target].folder}, and an object here cannot become one there"


def _deactivate_problems(old: LockedPackage, move: Move, situation: Situation) -> Iterator[str]:
    if old.installed_as == move.source:
        yield from _still_attached(old, situation)
    if old.kind is Kind.FUNCTION:
        yield "Compositions find a Function by the name of its object, so it must not be switched off"
    elsewhere = [package for lock in situation.users for package in lock.packages.values()]
    holders = stale_names([*situation.before.packages.values(), *elsewhere]).get(old.cluster_source, [])
    if holders and old.object_name != object_name(old.cluster_source):
        yield (
            f"the cluster's Lock still names it for {' and '.join(str(holder.source) for holder in holders)}, and its object "
            f"is named {old.object_name}: Crossplane would install it once more"
        )


def _still_attached(old: LockedPackage, situation: Situation) -> Iterator[str]:
    """Yield who keeps an alias from ending: with its object switched off, the old source would be gone for them."""
    known = situation.before.packages
    here = [p for s, p in situation.draft.packages.items() if s in known and not known[s].detached]
    elsewhere = [p for lock in situation.users for p in lock.packages.values() if not p.detached]
    for package in (*here, *elsewhere):
        if depends_on(package, old.cluster_source):
            yield f"{package.source} {package.version} depends on {old.cluster_source}, and is attached"


def _check_name(handover: Handover, situation: Situation) -> None:
    root = situation.roots.get(handover.target)
    name = handover.old.object_name
    if handover.keeps_object and root is not None and root.name not in (None, name):
        raise ImpossibleMove(
            f"{handover.target} takes over the object {name} of {handover.old.source}, and is asked for as {root.name}",
            why=f"{root.place} names it so; the object of what is installed never changes its name",
            next=[f"name it {name}", f"or move it with strategy: {Strategy.DEACTIVATE}"],
        )


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
        successors = LockGraph(situation.before).successors[move.source]
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
    reasons = find_reasons(LockGraph(draft), situation.known)
    here = [package for package in draft.packages.values() if package.source not in reasons]
    elsewhere = [p for lock in situation.users for p in lock.packages.values() if not p.detached]
    return [package for package in (*here, *elsewhere) if depends_on(package, old.cluster_source)]
