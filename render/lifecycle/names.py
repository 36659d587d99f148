"""Object names: the user's for roots, Crossplane's own for dependencies, and never another one once locked."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from render.errors import Unsatisfiable
from render.lock.diff import known_as
from render.lock.model import LockedPackage, Provided
from render.moves import Move, format_moves
from render.names import is_dns_label, object_name
from render.references import Source
from render.resolve.model import Resolution
from render.resolve.owners import wanted_by
from render.resolve.suggestions import IF_SUCCESSOR, format_offer, namesakes, suggest_moves

_SHOWN = 5


class NameTaken(Unsatisfiable):
    """Two packages that would be one object."""


class NameChanged(Unsatisfiable):
    """A package that is installed already, under another name."""


class KindChanged(Unsatisfiable):
    """A package that is installed already, as another kind of object."""


class UnusableName(Unsatisfiable):
    """A source whose derived name Kubernetes does not accept."""


def check_kinds(resolution: Resolution, installed: Iterable[LockedPackage]) -> None:
    """Refuse a source that would need another kind of object: the one it has would be left behind unseen."""
    kinds = {package.source: package.kind for package in installed}
    for source, chosen in resolution.packages.items():
        if kinds.get(source, chosen.kind) is not chosen.kind:
            raise KindChanged(
                f"{source} {chosen.candidate} is a {chosen.kind}, and is installed as a {kinds[source]}",
                why="its object cannot become one of another kind",
                next=f"ask for a version that is a {kinds[source]}; or drop it, retire it, and ask for it again",
            )


def name_objects(
    resolution: Resolution,
    locked: Mapping[Source, str],
    others: Sequence[LockedPackage | Provided] = (),
) -> dict[Source, str]:
    """Return the object name of every package; `others` have theirs already."""
    given = {root.source: (root.name, root.place) for root in resolution.roots if root.name}
    names = {source: _name(source, locked.get(source), given.get(source)) for source in resolution.packages}
    _check_taken(resolution, names, locked)
    _check_others(resolution, names, others)
    return names


def _name(source: Source, locked: str | None, given: tuple[str, str] | None) -> str:
    if given and locked and given[0] != locked:
        raise NameChanged(
            f"{source} is already installed as {locked}",
            why=f"{given[1]} calls it {given[0]}; a second object for one source stops every package in the cluster",
            next=f"name it {locked}",
        )
    name = given[0] if given else locked or object_name(source)
    if not is_dns_label(name):
        raise UnusableName(
            f"{source} has no usable object name",
            why=f"the name derived from it is {name!r}; it has to be 1 to 63 letters, digits and '-'",
            next="add a manifest for it with a name of your own",
        )
    return name


def _check_others(
    resolution: Resolution, names: Mapping[Source, str], others: Sequence[LockedPackage | Provided]
) -> None:
    taken = {(other.kind, other.object_name): other for other in others}
    for source, chosen in resolution.packages.items():
        other = taken.get((chosen.kind, names[source]))
        if other is not None:
            raise NameTaken(
                f"two packages would be one {chosen.kind} named {names[source]}",
                why=[
                    wanted_by(resolution, source),
                    f"{known_as(other)} {other.version} has it{_where(other)}",
                ],
                next=_ways_out(other, source),
            )


def _ways_out(other: LockedPackage | Provided, source: Source) -> list[str]:
    own = "give the new one a name of its own in a manifest"
    if isinstance(other, Provided):
        return [f"if both are needed, {own}; if not, make {other.folder} provide the one that is"]
    if source == other.source:
        # An alias that was switched off, whose object the cluster knows by another source.
        return [f"let go of the old one first: xplock retire {other.cluster_source}", f"or {own}"]
    if source in other.replaced_by:
        free = f"name the new one {object_name(source)}" if object_name(source) != other.object_name else own
        return [f"the old one keeps its object, switched off; {free}"]
    return [
        "if one of them is the other's successor, say so in xplock.yaml:",
        *format_moves([Move(other.source, (source,))]),
        f"if both are needed, {own}",
    ]


def _where(other: LockedPackage | Provided) -> str:
    return f" in {other.folder}" if isinstance(other, Provided) else " already"


def _check_taken(resolution: Resolution, names: Mapping[Source, str], installed: Collection[Source]) -> None:
    groups = namesakes(resolution, names)
    if not groups:
        return
    (kind, name), first = next(iter(groups.items()))
    more = f", and so on for {len(groups) - 1:,} more" if len(groups) > 1 else ""
    shown = list(groups.values())[:_SHOWN]
    raise NameTaken(
        f"{'two' if len(first) == 2 else len(first)} packages would be one {kind} named {name}{more}",
        why=[wanted_by(resolution, source) for group in shown for source in group],
        next=[
            *format_offer(resolution, suggest_moves(resolution, groups.values()), installed, IF_SUCCESSOR),
            "if both are needed, give one of them a name of its own in a manifest",
        ],
    )
