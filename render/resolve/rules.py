"""What a whole answer has to keep besides versions: no cycles, one owner for every object, families in one place."""

from collections import defaultdict
from collections.abc import Callable, Mapping

from render.errors import InvalidInput, Unsatisfiable
from render.packages import Kind, PackagedObject
from render.references import Source
from render.resolve.candidates import Universe
from render.resolve.model import Chosen, Resolution, Wanted

# Kinds that a cluster has once, whoever brings them. A managed resource definition becomes the CRD of its name.
_OWNED = {
    "CustomResourceDefinition": "CustomResourceDefinition",
    "ManagedResourceDefinition": "CustomResourceDefinition",
    "CompositeResourceDefinition": "CompositeResourceDefinition",
    "Composition": "Composition",
}
_SHOWN = 3


class WrongKind(InvalidInput):
    """A Provider that is a Configuration, or the like."""


class CyclicDependencies(Unsatisfiable):
    """Packages that need each other; Crossplane installs nothing while there is such a cycle."""


class SharedObjects(Unsatisfiable):
    """Two packages that bring the same object; in the cluster they would fight over it."""


class ScatteredFamily(Unsatisfiable):
    """A provider family in two places; Crossplane grants its members no access to each other."""


class LostVersion(Unsatisfiable):
    """A version that is locked, still fits, and is no longer offered."""

    exit_code = 1


def check_answer(resolution: Resolution, wanted: Wanted, universe: Callable[[Source], Universe]) -> None:
    """Raise for the first rule that an answer breaks."""
    _check_kinds(resolution)
    _check_cycles(resolution.packages)
    _check_owners(resolution)
    _check_families(resolution.packages)
    if not wanted.allow_lower:
        _check_lost(resolution, wanted, universe)


def _check_kinds(resolution: Resolution) -> None:
    """A manifest of the wrong kind would be applied as it is, and never become healthy."""
    wrong = [
        (root, resolution.packages[root.source].kind)
        for root in resolution.roots
        if root.name and root.kind not in (None, resolution.packages[root.source].kind)
    ]
    if wrong:
        raise WrongKind(
            "a manifest asks for a package of another kind",
            why=[f"{root.place} makes {root.source} a {root.kind}; it is a {kind}" for root, kind in wrong],
            next="correct the kind of the manifest",
        )


def _check_cycles(packages: Mapping[Source, Chosen]) -> None:
    done: set[Source] = set()
    for start in packages:
        # Depth first with a stack of our own: closures can be deeper than Python's.
        path: list[Source] = []
        entered: set[Source] = set()
        stack: list[tuple[Source, bool]] = [(start, True)]
        while stack:
            source, entering = stack.pop()
            if not entering:
                entered.remove(path.pop())
                done.add(source)
                continue
            if source in entered:
                raise _cycle(path[path.index(source) :])
            if source in done:
                continue
            path.append(source)
            entered.add(source)
            stack.append((source, False))
            stack += [(edge.source, True) for edge in reversed(packages[source].dependencies)]


def _cycle(members: list[Source]) -> CyclicDependencies:
    first = members.index(min(members))
    ordered = [*members[first:], *members[:first]]
    shown = " -> ".join(str(source) for source in [*ordered, ordered[0]])
    return CyclicDependencies(
        "packages depend on each other in a circle",
        why=shown,
        next="ask the maintainers of one of them, or use a version of it without that dependency",
    )


def _check_owners(resolution: Resolution) -> None:
    owners: dict[tuple[str, str, str], list[Source]] = defaultdict(list)
    for source, chosen in resolution.packages.items():
        if chosen.kind is not Kind.FUNCTION:
            for identity in {_identity(item) for item in chosen.package.objects if item.kind in _OWNED}:
                owners[identity].append(source)
    shared: dict[tuple[Source, ...], list[str]] = defaultdict(list)
    for (_, kind, name), sources in owners.items():
        if len(sources) > 1:
            shared[tuple(sorted(sources))].append(f"{kind} {name}")
    if shared:
        raise _shared(resolution, min(shared), sorted(shared[min(shared)]))


def _identity(item: PackagedObject) -> tuple[str, str, str]:
    kind = _OWNED[item.kind]
    group = "apiextensions.k8s.io" if kind == "CustomResourceDefinition" else item.group
    return group, kind, item.name


def _shared(resolution: Resolution, sources: tuple[Source, ...], objects: list[str]) -> SharedObjects:
    more = f" and {len(objects) - _SHOWN} more" if len(objects) > _SHOWN else ""
    return SharedObjects(
        f"{len(sources)} packages bring the same objects",
        why=[
            f"each of them installs {', '.join(objects[:_SHOWN])}{more}",
            *(wanted_by(resolution, source) for source in sources),
        ],
        next=[
            "if one of them is the other's successor, say so in xplock.yaml:",
            *moves_lines(*older_first(resolution, sources[0], sources[1])),
        ],
    )


def moves_lines(old: Source, new: Source) -> list[str]:
    """Return the lines that declare one source to be another's successor."""
    return ["  moves:", f"    - from: {old}", f"      to: {new}"]


def wanted_by(resolution: Resolution, source: Source) -> str:
    """Return a line about who wants a package, and which versions of it."""
    edges = resolution.edges_to(source)
    wanted = sorted({f"{edge.dependant or 'you'} ({edge.request})" for edge in edges})
    return f"{source} {resolution.packages[source].candidate} is wanted by {', '.join(wanted)}"


def older_first(resolution: Resolution, one: Source, other: Source) -> tuple[Source, Source]:
    """Guess which one was left behind: the one whose newest version is lower."""
    versions = [resolution.packages[source].candidate.version for source in (one, other)]
    if versions[0] and versions[1] and versions[1] < versions[0]:
        return other, one
    return one, other


def _check_families(packages: Mapping[Source, Chosen]) -> None:
    homes: dict[str, dict[tuple[str, str], list[Source]]] = defaultdict(lambda: defaultdict(list))
    for source, chosen in packages.items():
        family = chosen.package.metadata.family
        if family:
            homes[family][source.registry, source.repository.partition("/")[0]].append(source)
    for family, places in sorted(homes.items()):
        if len(places) > 1:
            members = [
                f"{'/'.join(place)}: {', '.join(map(str, found))}" for place, found in sorted(places.items())
            ]
            raise ScatteredFamily(
                f"the family {family} is spread over {len(places)} places",
                why=[
                    *members,
                    "Crossplane lets members work together only within one registry and organisation",
                ],
                next="take all members from one place",
            )


def _check_lost(resolution: Resolution, wanted: Wanted, universe: Callable[[Source], Universe]) -> None:
    for source, chosen in resolution.packages.items():
        kept, released = wanted.preferred.get(source), wanted.released.get(source)
        before = kept or released
        if before is None or before.version is None or chosen.candidate.version is None:
            continue
        # An upgrade was asked for; it may go up, whatever became of the version that was.
        goes_up = chosen.candidate.version >= before.version
        if source in wanted.asked or (goes_up and (released or chosen.candidate.tag == before.tag)):
            continue
        # What is still offered was not taken for a reason: what it depends on does not suit everyone.
        offered = any(here.tag == before.tag for here in universe(source).candidates)
        fits = all(before.answers(edge.request) for edge in resolution.edges_to(source))
        if fits and not offered:
            raise LostVersion(
                f"{source} would go {'on' if goes_up else 'back'} from {before} to {chosen.candidate}",
                why=f"{before} still suits everyone, but its registry no longer offers it",
                next=f"find out why; to accept it: xplock lock --allow-downgrade, or -P {source}={chosen.candidate}",
            )
