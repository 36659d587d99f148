"""Object names: the user's for roots, Crossplane's own for dependencies, and never another one once locked."""

from collections.abc import Iterator, Mapping, Sequence

from render.commands import xplock
from render.errors import RenderError, Unsatisfiable
from render.lifecycle.states import Event, MovedPackage, Plan
from render.live.contradictions import find_contradictions
from render.lock.graph import Target
from render.lock.model import Lock, Provided
from render.moves import Move, follow_moves, format_moves
from render.names import is_dns_label, object_name
from render.references import Source
from render.resolve.owners import wanted_by
from render.resolve.suggestions import IF_SUCCESSOR, format_offer, namesakes, suggest_moves
from render.settings import SETTINGS_FILE
from render.versions.requests import Root

_SHOWN = 5


class NameTaken(Unsatisfiable):
    """Two packages that would be one object."""


class NameChanged(Unsatisfiable):
    """A package that is installed already, under another name."""


class KindChanged(Unsatisfiable):
    """A package that is installed already, as another kind of object."""


class UnusableName(Unsatisfiable):
    """A source whose derived name Kubernetes does not accept."""


def choose_name(source: Source, root: Root | None, locked: Mapping[Source, str]) -> str:
    """Return the object name of a package: the root's, or the locked one, or the one that Crossplane derives."""
    given = root.name if root else None
    return given or locked.get(source) or object_name(source)


def locked_names(before: Lock, moved: Sequence[MovedPackage]) -> dict[Source, str]:
    """Return the names of the objects that sources have already, or take over from the packages that they replace."""
    names = {source: package.object_name for source, package in before.deactivated.items()}
    names |= {source: package.object_name for source, package in before.packages.items()}
    for one in moved:
        if one.old.source != one.target or not one.keeps_object:
            # Its object goes to another package or is deactivated, so it gets a new one if it is still needed.
            names.pop(one.old.source, None)
        if one.keeps_object:
            names[one.target] = one.old.object_name
    return names


def check_objects_keep_their_kind(plan: Plan) -> Iterator[RenderError]:
    """A source never needs another kind of object: the one that it has would be left behind."""
    kinds = {package.source: package.kind for package in plan.before.installed()}
    for source, chosen in plan.answer.resolution.packages.items():
        if kinds.get(source, chosen.kind) is not chosen.kind:
            yield KindChanged(
                f"{source} {chosen.candidate} is a {chosen.kind}, and is installed as a {kinds[source]}",
                why="its object cannot become one of another kind",
                next=f"ask for a version that is a {kinds[source]}; or drop it, retire it, and ask for it again",
            )


def name_place(root: Root) -> str:
    """Return where a manifest names its object, which is not where it asks for the package."""
    return root.place.replace("spec.package", "metadata.name")


def check_objects_keep_their_name(plan: Plan) -> Iterator[RenderError]:
    """A source keeps its object name from the first lock on, and a derived name is one that Kubernetes accepts."""
    locked = locked_names(plan.before, plan.moved)
    for source in plan.answer.resolution.packages:
        root, name = plan.draft.roots.get(source), plan.after.packages[source].object_name
        if root and root.name and name != locked.get(source, name):
            yield NameChanged(
                f"{source} is already installed as {locked[source]}",
                why=f"{name_place(root)} names it {name}; a second object for one source stops every package in the cluster",
                next=f"name it {locked[source]}",
            )
        if not is_dns_label(name):
            yield UnusableName(
                f"{source} has no usable object name",
                why=f"the name derived from it is {name!r}; it has to be 1 to 63 letters, digits and '-'",
                next="add a manifest for it with a name of your own",
            )


def check_cluster_keeps_its_objects(plan: Plan) -> Iterator[RenderError]:
    """A source that the cluster has already keeps its object there: its name, its kind and its source."""
    live, moves = plan.context.live, plan.answer.moves
    if live.packages:
        yield from find_contradictions(plan.after, plan.before, live, moves.keys())


def check_names_differ(plan: Plan) -> Iterator[RenderError]:
    """Two packages of the answer never have one object."""
    resolution = plan.answer.resolution
    names = {source: plan.after.packages[source].object_name for source in resolution.packages}
    groups = namesakes(resolution, names)
    if not groups:
        return
    (kind, name), first = next(iter(groups.items()))
    more = f", and so on for {len(groups) - 1:,} more" if len(groups) > 1 else ""
    moves = suggest_moves(resolution, groups.values())
    yield NameTaken(
        f"{'two' if len(first) == 2 else len(first)} packages would be one {kind} named {name}{more}",
        why=[wanted_by(resolution, source) for group in list(groups.values())[:_SHOWN] for source in group],
        next=[
            *format_offer(resolution, moves, locked_names(plan.before, plan.moved), IF_SUCCESSOR),
            "if both are needed, give one of them a name of its own in a manifest",
        ],
    )


def check_names_are_free(plan: Plan) -> Iterator[RenderError]:
    """No package has the object of one that is leaving, or that another folder renders."""
    resolution = plan.answer.resolution
    taken = {(other.kind, other.object_name): other for other in _others(plan)}
    for source, chosen in resolution.packages.items():
        name = plan.after.packages[source].object_name
        other = taken.get((chosen.kind, name))
        if other is not None:
            where = f" in {other.folder}" if isinstance(other, Provided) else " already"
            yield NameTaken(
                f"two packages would be one {chosen.kind} named {name}",
                why=[
                    wanted_by(resolution, source),
                    f"{other.display_source} {other.version} has it{where}",
                ],
                next=_ways_out(other, source, plan.context.folder, moved=_is_moved(other, source, plan)),
            )


def _others(plan: Plan) -> list[Target]:
    """Return the packages besides the answer that have objects in the cluster."""
    neighbours = plan.context.neighbours
    # A deactivated package that returns is part of the answer; its object is its own.
    old = [p for s, p in plan.before.deactivated.items() if s not in plan.answer.resolution.packages]
    new = [one.after for one in plan.transitions if one.after and one.event is Event.DEACTIVATE]
    return [
        *plan.answer.orphans.values(),
        *old,
        *new,
        *neighbours.provided.values(),
        *neighbours.deactivated,
    ]


def _is_moved(other: Target, source: Source, plan: Plan) -> bool:
    """Return whether the settings have the move from one package to the other already."""
    move = follow_moves(plan.answer.entries).get(other.source)
    return move is not None and source in move.targets


def _ways_out(other: Target, source: Source, folder: str, *, moved: bool) -> list[str]:
    own = "give the new one a name of its own in a manifest"
    if isinstance(other, Provided):
        return [f"if both are needed, {own}; if not, make {other.folder} provide the one that is"]
    if source == other.source:
        # An alias that was deactivated; the cluster knows its object by another source.
        old = xplock("retire", str(other.cluster_source), folder=folder, option="-C")
        return [f"retire the old one first: {old}", f"or {own}"]
    if source in other.replaced_by:
        free = f"name the new one {object_name(source)}" if object_name(source) != other.object_name else own
        return [f"the old one keeps its object, deactivated; {free}"]
    if moved:
        # A Function under another derived name: both objects stay, until the old one is retired.
        return [f"the move is in {SETTINGS_FILE}, and both keep an object of their own: {own}"]
    return [
        "if one of them is the other's successor, say so in xplock.yaml:",
        *format_moves([Move(other.source, (source,))]),
        f"if both are needed, {own}",
    ]
