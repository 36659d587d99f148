"""The conditions of each strategy. A strategy whose conditions fail is an error; no other one is taken silently."""

from collections.abc import Iterator

from render.errors import InvalidInput, RenderError, Unsatisfiable
from render.lifecycle.claims import ImpossibleMove, kind_errors
from render.lifecycle.states import Draft, MovedPackage, Plan
from render.lock.freshness import scattered_families
from render.lock.model import LockedPackage, Provided, State, named_source
from render.lock.stale_entries import stale_names
from render.moves import Move, Strategy
from render.names import object_name
from render.packages import Kind
from render.references import Source
from render.settings import PinMode


class UnknownCrossplane(InvalidInput):
    """A package that is to be deactivated, in a way that depends on the version of Crossplane."""


class HalfAliased(Unsatisfiable):
    """A provider family in which some members are aliases, and others are not."""


def check_moves_are_followed(plan: Plan) -> Iterator[RenderError]:
    """An installed package moves to packages that something asks for, and that are of its kind."""
    for old, move in ((one.old, one.move) for one in plan.moved):
        targets = {target: plan.draft.find(target) for target in move.targets}
        missing = [target for target, new in targets.items() if new is None or _is_orphaned(new)]
        if missing:
            yield ImpossibleMove(
                f"{old.source} is installed and moves to {' and '.join(map(str, missing))}, which nothing asks for",
                why=[f"{move.place} says so", "its installed objects need a package that takes them over"],
                next=f"ask for {missing[0]} in a manifest, or remove the move and retire {old.source}",
            )
        yield from kind_errors(move, old.kind, {new.kind for new in targets.values() if new})


def check_strategies_are_possible(plan: Plan) -> Iterator[RenderError]:
    """The conditions of every chosen strategy hold, and an object that stays keeps its name."""
    problems = {
        Strategy.ALIAS: alias_problems,
        Strategy.REPOINT: repoint_problems,
        Strategy.DEACTIVATE: _deactivate_problems,
    }
    for one in plan.moved:
        why = list(problems[one.strategy](one.old, one.move, plan.draft))
        if why:
            yield ImpossibleMove(
                f"cannot move {one.move.source} to {' and '.join(map(str, one.move.targets))} with strategy {one.strategy}",
                why=why,
                next=_way_out(one),
            )
        yield from _name_errors(one, plan.draft)


def check_families_stay_together(plan: Plan) -> Iterator[RenderError]:
    """The members of a family name one registry and organisation, or Crossplane grants them no access to each other."""
    for family, found in scattered_families([("", plan.after)]):
        members = [member for _, member in found]
        if any(member.installed_as for member in members):
            yield HalfAliased(
                f"the family {family} would be in several places of the cluster",
                why=[
                    *(f"{member.source} would be installed as {member.cluster_source}" for member in members),
                    "Crossplane lets members work together only within one registry and organisation",
                ],
                next="end the aliases of all members: give each of their moves strategy: repoint or deactivate",
            )


def check_crossplane_is_known(plan: Plan) -> Iterator[RenderError]:
    """A lock with deactivated packages needs `crossplaneVersion`; up to v2.3 their revisions have to be named."""
    deactivated = plan.after.deactivated.values()
    if deactivated and plan.context.settings.crossplane_version is None:
        yield UnknownCrossplane(
            "packages are deactivated, and the version of Crossplane is not known",
            why=[f"{package.source} is replaced" for package in deactivated],
            next="add it to xplock.yaml, for example: crossplaneVersion: v2.3.4",
        )


def refuse_for_functions(move: Move) -> None:
    """Raise for a strategy that would hand a Function over, or take its name away."""
    one_name = all(object_name(target) == object_name(move.source) for target in move.targets)
    if move.strategy is None or (move.strategy is Strategy.REPOINT and one_name):
        return
    raise ImpossibleMove(
        f"cannot move {move.source} to {' and '.join(map(str, move.targets))} with strategy {move.strategy}",
        why=[
            "it is a Function: it owns nothing that could be handed over, and Compositions find it by the name of its object",
            f"{move.place} asks for that strategy",
        ],
        next="leave out the strategy",
    )


def alias_problems(old: LockedPackage, move: Move, draft: Draft) -> Iterator[str]:
    """Yield why the old object cannot get the new bytes."""
    if old.kind is Kind.FUNCTION:
        yield "a Function owns nothing that could be handed over"
    if len(move.targets) > 1:
        yield "it became several packages, and one object can hold the bytes of one"
    if draft.context.settings.pin is not PinMode.DIGEST:
        yield (
            f"only pin: digest can put other bytes behind a source, and pin is {draft.context.settings.pin}"
        )
    if old.object_name != object_name(old.cluster_source):
        yield f"its object is named {old.object_name}, not {object_name(old.cluster_source)} as Crossplane would"
    yield from _elsewhere(move, draft)
    yield from _own_objects(old, move, draft)
    for target in move.targets:
        new = draft.lock.packages.get(target)
        if new is not None and new.by_digest:
            yield f"{target} is asked for by its digest, so there is no tag to show"


def repoint_problems(old: LockedPackage, move: Move, draft: Draft) -> Iterator[str]:
    """Yield why the old object cannot get the new source."""
    yield from _elsewhere(move, draft)
    yield from _own_objects(old, move, draft)
    if len(move.targets) > 1:
        yield "it became several packages, and one object can be one of them"
    elif not share_name(old, move.targets[0]):
        yield (
            f"Crossplane would name it {object_name(move.targets[0])}, and the object is "
            f"{object_name(old.cluster_source)}: it would create that one as well"
        )


def share_name(old: LockedPackage, new: Source) -> bool:
    """Return whether Crossplane derives the same object name from both sources."""
    return object_name(old.cluster_source) == object_name(new)


def depends_on(package: LockedPackage, source: Source) -> bool:
    """Return whether a package names a source among its dependencies."""
    return any(named_source(dependency, package.source) == source for dependency in package.dependencies)


def _deactivate_problems(old: LockedPackage, move: Move, draft: Draft) -> Iterator[str]:
    if old.installed_as == move.source:
        yield from _still_attached(old, draft)
    if old.kind is Kind.FUNCTION:
        yield "Compositions find a Function by the name of its object, so it must not be deactivated"
    packages = [*draft.before.packages.values(), *draft.context.neighbours.using_packages]
    holders = stale_names(packages).get(old.cluster_source, [])
    if holders and old.object_name != object_name(old.cluster_source):
        yield (
            f"the cluster's Lock still names it for {' and '.join(str(holder.source) for holder in holders)}, and its object "
            f"is named {old.object_name}: Crossplane would install it once more"
        )


def _still_attached(old: LockedPackage, draft: Draft) -> Iterator[str]:
    """Yield which dependants keep an alias from ending: without its active object, they would lose the old source."""
    known = draft.before.packages
    here = [p for s, p in draft.lock.packages.items() if s in known and not known[s].detached]
    elsewhere = [p for p in draft.context.neighbours.using_packages if not p.detached]
    for package in (*here, *elsewhere):
        if depends_on(package, old.cluster_source):
            yield f"{package.source} {package.version} depends on {old.cluster_source}, and is attached"


def _own_objects(old: LockedPackage, move: Move, draft: Draft) -> Iterator[str]:
    """Yield which successors are installed already: the object that one of them gives up would be deleted."""
    for target in move.targets:
        own = draft.before.packages.get(target) or draft.before.deactivated.get(target)
        if own is not None and own is not old:
            yield f"{target} has an object of its own already, {own.object_name}"


def _elsewhere(move: Move, draft: Draft) -> Iterator[str]:
    for target in move.targets:
        if target in draft.provided:
            yield f"{target} is in {draft.provided[target].folder}, and an object here cannot become one there"


def _name_errors(one: MovedPackage, draft: Draft) -> Iterator[RenderError]:
    root, name = draft.roots.get(one.target), one.old.object_name
    if one.keeps_object and root is not None and root.name not in (None, name):
        yield ImpossibleMove(
            f"{one.target} takes over the object {name} of {one.old.source}, and is asked for as {root.name}",
            why=f"{root.place} names it so; the object of what is installed never changes its name",
            next=[f"name it {name}", f"or move it with strategy: {Strategy.DEACTIVATE}"],
        )


def _way_out(one: MovedPackage) -> str | list[str]:
    if one.move.strategy is not None:
        return "leave out the strategy, or give another one"
    if one.strategy is Strategy.ALIAS:
        return [
            "keep pin: digest and the tag while the alias is there",
            f"or end it first: give the move of {one.move.source} strategy: {Strategy.DEACTIVATE}",
        ]
    return f"upgrade or drop what depends on {one.move.source} first"


def _is_orphaned(package: LockedPackage | Provided) -> bool:
    return isinstance(package, LockedPackage) and package.state is State.ORPHANED
