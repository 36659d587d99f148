"""What the search wants to know, answered from the catalog."""

from collections.abc import Mapping, Sequence

from render.packages import Package
from render.references import Digest, Source
from render.registry.manifests import NotFound
from render.resolve.candidates import ABSENT, Bits, Universe, bit, highest, make_universe
from render.resolve.edges import dependency_edges
from render.resolve.fetching import Fetcher
from render.resolve.model import Chosen, Edge, Request, Resolution, Wanted
from render.resolve.solver import USER, Fact, Incompatibility


class NewDigest(Exception):
    """A digest came up that nobody had asked for before; the search starts again, knowing it."""


class Question:
    """What the search wants to know, answered from the catalog."""

    def __init__(self, wanted: Wanted, fetcher: Fetcher) -> None:
        self._wanted = wanted
        self._fetcher = fetcher
        self._universes: dict[Source, Universe] = {}
        self._exact: dict[Source, set[Request]] = {}
        self._ranges: set[Source] = set()
        # Which candidates belong to the family that a source is the head of.
        self._members: dict[Source, list[tuple[Source, int]]] = {}
        for edge in [*self.roots(), *self._asked()]:
            self._note(edge)

    def roots(self) -> list[Edge]:
        """Return what the user asks for."""
        return [Edge(root.source, root.request, None, root.place) for root in self._wanted.roots]

    def _asked(self) -> list[Edge]:
        return [
            Edge(source, request, None, "the command line") for source, request in self._wanted.asked.items()
        ]

    def requirements(self) -> list[Incompatibility]:
        """Return the user's wishes; those of the command line hold only if the package is needed at all."""
        needed = [self._depends(USER, 0, edge, Fact(edge)) for edge in self.roots()]
        allowed = [
            Incompatibility({edge.source: ~self._answering(edge) & ~ABSENT}, Fact(edge))
            for edge in self._asked()
        ]
        return needed + allowed

    def universe(self, source: Source) -> Universe:
        """Return all candidates of a source."""
        if source not in self._universes:
            self._universes[source] = self._make_universe(source)
        return self._universes[source]

    def facts(self, source: Source, index: int) -> list[Incompatibility]:
        """Return what a candidate depends on, and whether it can run at all."""
        candidate = self.universe(source).candidates[index]
        package = self._fetcher.package(source, candidate)
        crossplane = package.metadata.crossplane
        if self._wanted.crossplane and crossplane and not crossplane.accepts(self._wanted.crossplane):
            problem = f"{source} {candidate} needs Crossplane {crossplane.text}, and yours is {self._wanted.crossplane}"
            return [Incompatibility({source: bit(index)}, Fact(candidate=candidate, problem=problem))]
        self._note_member(source, index, package)
        edges = self._edges(source, package)
        for edge in edges:
            self._fetcher.expect(edge)
        renewed = [edge for edge in edges if self._note(edge)]
        if renewed:
            raise NewDigest
        return [
            self._depends(source, index, edge, Fact(edge, candidate))
            for edge in edges
            if edge.source != source
        ]

    def choose(self, source: Source, allowed: Bits, chosen: Mapping[Source, int]) -> int:
        """Return the locked candidate while it fits, else the highest, of a family's major version if it has one."""
        universe = self.universe(source)
        preferred = self._wanted.preferred.get(source)
        kept = universe.index(preferred) if preferred else None
        if kept is not None and allowed & bit(kept):
            return kept
        if self._wanted.follow_families:
            allowed = self._following(source, allowed, chosen) or allowed
        return highest(allowed)

    def resolution(self, chosen: Mapping[Source, int]) -> Resolution:
        """Return the answer in full."""
        packages = {}
        for source in sorted(chosen):
            candidate = self.universe(source).candidates[chosen[source]]
            package = self._fetcher.package(source, candidate)
            packages[source] = Chosen(source, candidate, package, self._edges(source, package))
        return Resolution(packages, self._wanted.roots)

    def _depends(self, source: Source, index: int, edge: Edge, fact: Fact) -> Incompatibility:
        return Incompatibility({source: bit(index), edge.source: ~self._answering(edge)}, fact)

    def _edges(self, source: Source, package: Package) -> tuple[Edge, ...]:
        return dependency_edges(source, package, complete=self._wanted.complete_partial)

    def _answering(self, edge: Edge) -> Bits:
        return self.universe(edge.source).answering(edge.request)

    def _note(self, edge: Edge) -> bool:
        """Remember what was asked of a source; tell whether its candidates have to be made anew."""
        if edge.request.exact:
            known = self._exact.setdefault(edge.source, set())
            new = edge.request not in known
            known.add(edge.request)
        else:
            new = edge.source not in self._ranges and bool(self._exact.get(edge.source))
            self._ranges.add(edge.source)
        return new and self._universes.pop(edge.source, None) is not None

    def _make_universe(self, source: Source) -> Universe:
        exact = self._exact.get(source, set())
        try:
            tags = self._fetcher.tags(source)
        except NotFound as error:
            return Universe((), problem=error.what)
        return make_universe(tags, exact, self._carriers(source, tags, exact))

    def _carriers(self, source: Source, tags: Sequence[str], exact: set[Request]) -> dict[Digest, str]:
        told = {request.digest: request.tag for request in exact if request.digest and request.tag}
        unknown = {request.digest for request in exact if request.digest} - told.keys()
        if not unknown or source not in self._ranges:
            return told
        # Somebody wants a digest and somebody else a range: then it matters which version the digest is.
        return {**self._fetcher.digests(source, tuple(tags)), **told}

    def _note_member(self, member: Source, index: int, package: Package) -> None:
        family = package.metadata.family
        for dependency in package.metadata.dependencies if family else ():
            if isinstance(dependency.source, Source) and dependency.source.name == family:
                self._members.setdefault(dependency.source, []).append((member, index))

    def _following(self, source: Source, allowed: Bits, chosen: Mapping[Source, int]) -> Bits:
        """Return the candidates whose major version the members of this family have."""
        members = [(m, index) for m, index in self._members.get(source, []) if chosen.get(m) == index]
        versions = [self.universe(member).candidates[index].version for member, index in members]
        majors = {version.parsed.major for version in versions if version}
        fitting = (
            bit(i)
            for i, candidate in enumerate(self.universe(source).candidates)
            if candidate.version and candidate.version.parsed.major in majors
        )
        return allowed & sum(fitting) if majors else 0
