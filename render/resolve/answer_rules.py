"""What a whole answer has to keep besides versions: right kinds, no cycles, nothing lost."""

from collections.abc import Callable, Mapping

from render.errors import InvalidInput, Unsatisfiable
from render.references import Source
from render.resolve.candidates import Universe
from render.resolve.model import Chosen, Resolution, Wanted
from render.resolve.owners import check_owners


class WrongKind(InvalidInput):
    """A Provider that is a Configuration, or the like."""


class CyclicDependencies(Unsatisfiable):
    """Packages that need each other; Crossplane installs nothing while there is such a cycle."""


class LostVersion(Unsatisfiable):
    """A version that is locked, still fits, and is no longer offered."""

    exit_code = 1


def check_answer(resolution: Resolution, wanted: Wanted, universe: Callable[[Source], Universe]) -> None:
    """Raise for the first rule that an answer breaks."""
    _check_kinds(resolution)
    _check_cycles(resolution.packages)
    if wanted.judge_owners:
        check_owners(resolution, wanted.preferred.keys() | wanted.released.keys())
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
            stack += [(following, True) for following in reversed(_following(packages, source))]


def _following(packages: Mapping[Source, Chosen], source: Source) -> list[Source]:
    # A package that still depends on what it replaces is served by itself; what others provide is whole.
    return [
        edge.source
        for edge in packages[source].dependencies
        if edge.source in packages and not (edge.instead_of and edge.source == source)
    ]


def _cycle(members: list[Source]) -> CyclicDependencies:
    first = members.index(min(members))
    ordered = [*members[first:], *members[:first]]
    shown = " -> ".join(str(source) for source in [*ordered, ordered[0]])
    return CyclicDependencies(
        "packages depend on each other in a circle",
        why=shown,
        next="ask the maintainers of one of them, or use a version of it without that dependency",
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
