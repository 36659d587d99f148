"""Moves that cannot be done, or not in the way that was asked for: why, and what to do instead."""

from collections.abc import Collection, Iterator

from render.errors import InvalidInput, Unsatisfiable
from render.lock.handovers import Handover, Situation, depends_on, share_name
from render.lock.leaving import stale_names
from render.lock.model import Lock, LockedPackage, Provided, State
from render.moves import Move, Strategy
from render.names import object_name
from render.packages import Kind
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
