"""Two rules on a whole resolution: every object has one owner, and every family is in one organisation."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import TypeAlias

from render.errors import Unsatisfiable
from render.names import object_name
from render.packages import Kind, PackagedObject
from render.references import Source
from render.resolve.model import Resolution
from render.resolve.suggestions import (
    IF_SUCCESSOR,
    format_offer,
    namesakes,
    suggest_family_moves,
    suggest_moves,
)
from render.texts import first_lines, first_names

# A cluster has one object of these kinds for each name. A ManagedResourceDefinition becomes the CRD of its name.
_OWNED = {
    "CustomResourceDefinition": "CustomResourceDefinition",
    "ManagedResourceDefinition": "CustomResourceDefinition",
    "CompositeResourceDefinition": "CompositeResourceDefinition",
    "Composition": "Composition",
}
# Group, kind and name.
Owned: TypeAlias = tuple[str, str, str]
OWNED_KINDS = frozenset(_OWNED)
_SHOWN = 3


class SharedObjects(Unsatisfiable):
    """Two packages that install the same object; in the cluster only one of them can own it."""


class ScatteredFamily(Unsatisfiable):
    """A family in two organisations; Crossplane then grants its members no access to each other's resources."""


def check_owners(resolution: Resolution, installed: Collection[Source] = ()) -> None:
    """Raise for objects with two owners, and for families in two organisations."""
    _check_objects(resolution, installed)
    _check_families(resolution, installed)


def owned_objects(objects: Iterable[PackagedObject]) -> set[Owned]:
    """Return group, kind and name of each object that only one package can own."""
    return {_identity(item) for item in objects if item.kind in OWNED_KINDS}


def _check_objects(resolution: Resolution, installed: Collection[Source]) -> None:
    owners: dict[tuple[str, str, str], list[Source]] = defaultdict(list)
    for source, chosen in resolution.packages.items():
        if chosen.kind is not Kind.FUNCTION:
            for identity in owned_objects(chosen.package.objects):
                owners[identity].append(source)
    shared: dict[tuple[Source, ...], list[str]] = defaultdict(list)
    for (_, kind, name), sources in owners.items():
        if len(sources) > 1:
            shared[tuple(sorted(sources))].append(f"{kind} {name}")
    if shared:
        raise _shared(resolution, dict(sorted(shared.items())), installed)


def _identity(item: PackagedObject) -> tuple[str, str, str]:
    kind = _OWNED[item.kind]
    group = "apiextensions.k8s.io" if kind == "CustomResourceDefinition" else item.group
    return group, kind, item.name


def _shared(
    resolution: Resolution, shared: Mapping[tuple[Source, ...], list[str]], installed: Collection[Source]
) -> SharedObjects:
    involved = sorted({source for group in list(shared)[:_SHOWN] for source in group})
    moves = suggest_moves(resolution, [*shared, *_derived_namesakes(resolution)])
    offer = format_offer(resolution, moves, installed, IF_SUCCESSOR)
    return SharedObjects(
        f"{len(set(chain(*shared))):,} packages install the same objects",
        why=[
            *first_lines([_describe(group, names) for group, names in shared.items()], _SHOWN),
            *(wanted_by(resolution, source) for source in involved),
        ],
        next=offer or "use versions of them that do not, or drop one of them",
    )


def _derived_namesakes(resolution: Resolution) -> Iterable[Sequence[Source]]:
    # Equal names would be the next error, since names are assigned later; one offer covers both.
    given = {root.source: root.name for root in resolution.roots if root.name}
    names = {source: given.get(source) or object_name(source) for source in resolution.packages}
    return namesakes(resolution, names).values()


def _describe(sources: Iterable[Source], objects: Iterable[str]) -> str:
    return f"{' and '.join(map(str, sources))} install {first_names(sorted(objects), _SHOWN)}"


def wanted_by(resolution: Resolution, source: Source) -> str:
    """Return a line with the dependants of a package and their constraints."""
    edges = resolution.edges_to(source)
    wanted = sorted({f"{edge.dependant or 'you'} ({edge.crd or edge.request})" for edge in edges})
    return f"{source} {resolution.packages[source].candidate} is required by {', '.join(wanted)}"


def _check_families(resolution: Resolution, installed: Collection[Source]) -> None:
    homes: dict[str, dict[tuple[str, str], list[Source]]] = defaultdict(lambda: defaultdict(list))
    for source, chosen in resolution.packages.items():
        family = chosen.package.metadata.family
        if family:
            homes[family][source.home].append(source)
    scattered = {family: places for family, places in sorted(homes.items()) if len(places) > 1}
    if scattered:
        raise _scattered(resolution, scattered, installed)


def _scattered(
    resolution: Resolution,
    families: Mapping[str, Mapping[tuple[str, str], list[Source]]],
    installed: Collection[Source],
) -> ScatteredFamily:
    found = [suggest_family_moves(resolution, list(places.values())) for places in families.values()]
    moves = {source: move for family in found for source, move in family.items()}
    return ScatteredFamily(
        "; ".join(
            f"the family {family} is in {len(places)} organisations" for family, places in families.items()
        ),
        why=[
            *(
                f"{'/'.join(place)}: {', '.join(map(str, members))}"
                for places in families.values()
                for place, members in sorted(places.items())
            ),
            "Crossplane lets the members of a family work together only within one registry and organisation",
        ],
        next=[
            "take all members from one organisation",
            *format_offer(resolution, moves, installed, "if they have moved to another"),
        ],
    )
