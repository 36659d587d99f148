"""Rules on a whole resolution besides constraints: kinds, cycles, owners, no silent downgrade."""

from collections.abc import Callable, Mapping

from render.errors import InvalidInput, Unsatisfiable
from render.references import Source
from render.resolve.candidates import Universe
from render.resolve.model import Chosen, Resolution, Wanted
from render.resolve.owners import check_owners
from render.texts import linked


class WrongKind(InvalidInput):
    """A manifest whose kind is not that of its package."""


class CyclicDependencies(Unsatisfiable):
    """A dependency cycle; Crossplane installs nothing while there is one."""


class LostVersion(Unsatisfiable):
    """A locked version that still fits and is gone from its registry."""

    exit_code = 1


def check_answer(resolution: Resolution, wanted: Wanted, universe: Callable[[Source], Universe]) -> None:
    """Raise for the first rule that a resolution breaks."""
    _check_kinds(resolution)
    _check_cycles(resolution.packages)
    if wanted.judge_owners:
        check_owners(resolution, wanted.preferred.keys() | wanted.upgraded.keys())
    if not wanted.allow_lower:
        _check_lost(resolution, wanted, universe)


def _check_kinds(resolution: Resolution) -> None:
    """Raise for manifests of the wrong kind: they would never become healthy."""
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
        # Depth first with an explicit stack: closures can be deeper than Python's recursion limit.
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
    # A package that depends on the source it replaces depends on itself, which is allowed. Provided packages are
    # not in the resolution; their folder has checked them.
    return [
        edge.source
        for edge in packages[source].dependencies
        if edge.source in packages and not (edge.instead_of and edge.source == source)
    ]


def _cycle(members: list[Source]) -> CyclicDependencies:
    first = members.index(min(members))
    ordered = [*members[first:], *members[:first]]
    return CyclicDependencies(
        "packages depend on each other in a circle",
        why=linked([*ordered, ordered[0]]),
        next="ask the maintainers of one of them, or use a version of it without that dependency",
    )


def _check_lost(resolution: Resolution, wanted: Wanted, universe: Callable[[Source], Universe]) -> None:
    for source, chosen in resolution.packages.items():
        kept, upgraded = wanted.preferred.get(source), wanted.upgraded.get(source)
        before = kept or upgraded
        if before is None or before.version is None or chosen.candidate.version is None:
            continue
        # A requested upgrade may go up even if the locked version is gone.
        goes_up = chosen.candidate.version >= before.version
        if _is_asked(source, resolution, wanted) or (
            goes_up and (upgraded or chosen.candidate.tag == before.tag)
        ):
            continue
        # A version that is still offered was not chosen because its dependencies conflict with others.
        offered = any(here.tag == before.tag for here in universe(source).candidates)
        fits = all(before.answers(edge.request) for edge in resolution.edges_to(source))
        if fits and not offered:
            raise LostVersion(
                f"{source} would move {'up' if goes_up else 'down'} from {before} to {chosen.candidate}",
                why=f"{before} still satisfies every dependant, but its registry does not have it; it was removed, or the "
                "lock was edited",
                next=[
                    f"find out why; to accept the change: {wanted.call.upgrading(str(source), str(chosen.candidate))}",
                    f"or any change of this kind: {wanted.call.again('--allow-downgrade')}",
                ],
            )


def _is_asked(source: Source, resolution: Resolution, wanted: Wanted) -> bool:
    """Return whether the command line gives this version to a package, or to a member of its family."""
    leaders = [one for one in wanted.followers.get(source, ()) if one in resolution.packages]
    versions = [resolution.packages[one].candidate.version for one in (source, *leaders)]
    return source in wanted.asked or any(
        one and versions[0] and one.precedence == versions[0].precedence for one in versions[1:]
    )
