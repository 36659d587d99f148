"""The search's problem, answered from the catalog: candidates, dependencies, and preferences."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from render.errors import UnusableContent
from render.limits import LimitExceeded
from render.packages import Package
from render.references import Digest, Source
from render.registry.oci import NotFound
from render.requests import Request
from render.resolve.candidates import ABSENT, Bits, Universe, bit, highest, make_universe
from render.resolve.edges import dependency_edges
from render.resolve.model import Bound, Candidate, Chosen, Edge, Resolution, Wanted
from render.resolve.prefetch import Fetcher
from render.resolve.solver import USER, Fact, Incompatibility
from render.semantic import order_candidates
from render.versions import parse_candidate


class NewCandidates(Exception):
    """A source has other candidates than before; the search starts again with them."""


class Question:
    """The search's problem for one input, answered from the catalog."""

    def __init__(self, wanted: Wanted, fetcher: Fetcher) -> None:
        self._wanted = wanted
        self._fetcher = fetcher
        self._universes: dict[Source, Universe] = {}
        self._requests: dict[Source, set[Request]] = {}
        # Who requires a source, as far as the search knows: a package, or the user at a place.
        self._requirers: dict[Source, set[tuple[Source | None, str]]] = {}
        # Sources whose dependants all name one tag; their list of tags has not been fetched.
        self._unlisted: dict[Source, str] = {}
        self._listed: set[Source] = set()
        # The candidates that are members of each family package.
        self._members: dict[Source, set[tuple[Source, int]]] = {}
        # The major versions of each family's members in every result so far.
        self._expected: list[dict[Source, set[int]]] = [{}]
        for edge in [*self.roots(), *(bound.edge for bound in self._bounds())]:
            self._note(edge)

    def roots(self) -> list[Edge]:
        """Return the user's requests."""
        # Sorted: if two roots cannot both have their newest version, the first one gets it.
        roots = sorted(self._wanted.roots, key=lambda root: (root.source, root.place))
        return [Edge(root.source, root.request, None, root.place) for root in roots]

    def _bounds(self) -> list[Bound]:
        asked = sorted(self._wanted.asked.items(), key=lambda item: item[0])
        return [
            *(Bound(Edge(source, request, None, "the command line")) for source, request in asked),
            *self._wanted.bounds,
        ]

    def requirements(self) -> list[Incompatibility]:
        """Return the user's requests, and the bounds on packages that something else may require."""
        needed = [self._depends(USER, 0, edge, Fact(edge)) for edge in self.roots()]
        allowed = [
            Incompatibility(
                {bound.edge.source: ~self._answering(bound.edge) & ~ABSENT},
                Fact(bound.edge, bound.holder, advice=bound.advice),
            )
            for bound in self._bounds()
        ]
        return needed + allowed

    def universe(self, source: Source) -> Universe:
        """Return all candidates of a source."""
        if source not in self._universes:
            self._universes[source] = self._make_universe(source)
        return self._universes[source]

    def facts(self, source: Source, index: int) -> list[Incompatibility]:
        """Return the dependencies of a candidate, or a fact that rules it out for this Crossplane."""
        if source in self._wanted.provided:
            # The folder that provides it has resolved its dependencies.
            return []
        candidate = self.universe(source).candidates[index]
        package = self._package(source, candidate)
        crossplane = package.metadata.crossplane
        if self._wanted.crossplane and crossplane and not crossplane.accepts(self._wanted.crossplane):
            problem = f"{source} {candidate} needs Crossplane {crossplane.text}, and yours is {self._wanted.crossplane}"
            return [Incompatibility({source: bit(index)}, Fact(candidate=candidate, problem=problem))]
        edges = self._edges(source, package)
        self._note_member(source, index, package, edges)
        for edge in edges:
            self._fetcher.expect(edge)
        renewed = [edge for edge in edges if self._note(edge)]
        if renewed:
            raise NewCandidates
        return [
            self._depends(source, index, edge, Fact(edge, candidate))
            for edge in edges
            if edge.source != source
        ]

    def choose(self, source: Source, allowed: Bits, chosen: Mapping[Source, int]) -> int:
        """Return the locked candidate if allowed, else the highest, preferably of its family's major version."""
        universe = self.universe(source)
        preferred = self._wanted.preferred.get(source)
        kept = universe.index(preferred, allowed) if preferred else None
        if kept is not None:
            return kept
        if self._wanted.follow_families:
            allowed = self._following(source, allowed, chosen) or allowed
        return highest(allowed)

    def expect_families(self, chosen: Mapping[Source, int]) -> bool:
        """Record the major versions of each family's members; return whether another search may follow them better.

        The search may choose a family package before its members. Of several major versions it follows the highest.
        """
        if not self._wanted.follow_families:
            return False
        families = {family: self._majors(family, chosen) for family in self._members if family in chosen}
        strays = {
            family: majors
            for family, majors in families.items()
            if majors and not self._of_majors(family, bit(chosen[family]), {max(majors)})
        }
        expected = {**self._expected[-1], **strays}
        if expected in self._expected:
            return False
        self._expected.append(expected)
        return True

    def resolution(self, chosen: Mapping[Source, int]) -> Resolution:
        """Return the resolution for the chosen candidates."""
        packages = {}
        for source in sorted(chosen.keys() - self._wanted.provided.keys()):
            candidate = self.universe(source).candidates[chosen[source]]
            package = self._fetcher.package(source, candidate)
            packages[source] = Chosen(source, candidate, package, self._edges(source, package))
        found = Resolution(packages, self._wanted.roots)
        return Resolution(
            {
                source: _drop_unasked_version(chosen, found.edges_to(source))
                for source, chosen in packages.items()
            },
            self._wanted.roots,
        )

    def _depends(self, source: Source, index: int, edge: Edge, fact: Fact) -> Incompatibility:
        return Incompatibility({source: bit(index), edge.source: ~self._answering(edge)}, fact)

    def _edges(self, source: Source, package: Package) -> tuple[Edge, ...]:
        complete, moves = self._wanted.complete_partial, self._wanted.moves
        return dependency_edges(source, package, complete=complete, moves=moves)

    def _answering(self, edge: Edge) -> Bits:
        return self.universe(edge.source).answering(edge.request)

    def _package(self, source: Source, candidate: Candidate) -> Package:
        try:
            return self._fetcher.package(source, candidate)
        except NotFound:
            if source not in self._unlisted:
                raise
            # The tag may be 1.2.3 while the request says v1.2.3.
            self._listed.add(source)
            self._forget(source)
            raise NewCandidates from None
        except (UnusableContent, LimitExceeded) as error:
            # The same error may come again for another candidate.
            error.why = tuple(dict.fromkeys([*error.why, *self._describe_requirers(source)]))
            raise

    def _describe_requirers(self, source: Source) -> list[str]:
        found = self._requirers.get(source, ())
        asked = sorted(f"{place} asks for it" for dependant, place in found if dependant is None)
        return asked + sorted(f"{dependant} requires it" for dependant, _ in found if dependant)

    def _note(self, edge: Edge) -> bool:
        """Record a request for a source; return whether its candidates changed because of it."""
        self._requirers.setdefault(edge.source, set()).add((edge.dependant, edge.place))
        known = self._requests.setdefault(edge.source, set())
        if edge.request in known or edge.source in self._wanted.provided:
            return False
        had_range, had_exact = any(not r.exact for r in known), any(r.exact for r in known)
        known.add(edge.request)
        if edge.source in self._unlisted:
            outdated = edge.request.only_tag != self._unlisted[edge.source]
        else:
            outdated = edge.request.exact or (had_exact and not had_range)
        return outdated and self._forget(edge.source)

    def _forget(self, source: Source) -> bool:
        """Forget the candidates of a source; return whether there were any."""
        self._unlisted.pop(source, None)
        for members in self._members.values():
            members -= {(member, index) for member, index in members if member == source}
        return self._universes.pop(source, None) is not None

    def _make_universe(self, source: Source) -> Universe:
        if source in self._wanted.provided:
            return Universe((self._wanted.provided[source],), provider=self._wanted.providers.get(source, ""))
        requests = self._requests.get(source, set())
        tags = {request.only_tag for request in requests}
        if len(tags) == 1 and source not in self._listed and (tag := tags.pop()):
            self._unlisted[source] = tag
            return Universe((Candidate(tag, parse_candidate(tag)),))
        exact = {request for request in requests if request.exact}
        try:
            listed = self._fetcher.tags(source)
        except NotFound as error:
            return Universe((), problem=error.what)
        return make_universe(listed, exact, self._carriers(source, listed, exact))

    def _carriers(self, source: Source, tags: Sequence[str], exact: set[Request]) -> dict[Digest, str]:
        named_by_user = {request.digest: request.tag for request in exact if request.digest and request.tag}
        unknown = {request.digest for request in exact if request.digest} - named_by_user.keys()
        if not unknown:
            return named_by_user
        # One dependant requests a digest and another one a tag or range, so the version of the digest matters.
        # Releases come last, since they are the better names. Tags of signatures are no versions and are left out.
        ranged = any(not request.exact for request in self._requests[source])
        versions = [version.text for version in order_candidates(tags)] if ranged else []
        named = sorted({request.tag for request in exact if request.tag and not request.digest} - {*versions})
        return {**self._fetcher.digests(source, (*named, *versions)), **named_by_user}

    def _note_member(self, member: Source, index: int, package: Package, edges: Sequence[Edge]) -> None:
        for edge in edges:
            if edge.source.name == package.metadata.family:
                self._members.setdefault(edge.source, set()).add((member, index))

    def _following(self, source: Source, allowed: Bits, chosen: Mapping[Source, int]) -> Bits:
        """Return the candidates whose major version the members of this family have."""
        majors = self._majors(source, chosen) | self._expected[-1].get(source, set())
        return self._of_majors(source, allowed, majors)

    def _of_majors(self, source: Source, allowed: Bits, majors: set[int]) -> Bits:
        return allowed & self.universe(source).of_majors(majors)

    def _majors(self, family: Source, chosen: Mapping[Source, int]) -> set[int]:
        members = [member for member, index in self._members.get(family, ()) if chosen.get(member) == index]
        versions = [self.universe(member).candidates[chosen[member]].version for member in members]
        return {version.major for version in versions if version}


def _drop_unasked_version(chosen: Chosen, edges: Sequence[Edge]) -> Chosen:
    """Drop the version of a digest if no dependant constrains it: whether it was looked up depends on the search."""
    digest = chosen.candidate.digest
    if digest is None or any(edge.request.tag or not edge.request.exact for edge in edges):
        return chosen
    return replace(chosen, candidate=Candidate(None, digest=digest))
