"""Wishes → one version each: the search, what it asks, and the rules that a whole answer has to keep."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from render.errors import InvalidInput, RenderError
from render.limits import Limits
from render.packages import Package
from render.references import Digest, PartialSource, Source
from render.registry.manifests import NotFound
from render.resolve.candidates import ABSENT, Bits, Universe, bit, highest, make_universe
from render.resolve.conflict import Suggestion, explain, leaves
from render.resolve.fetching import Fetcher
from render.resolve.model import Candidate, Catalog, Chosen, Edge, Request, Resolution, Root, Wanted
from render.resolve.rules import check_answer
from render.resolve.solver import USER, Fact, Incompatibility, Solver, Unsolvable

_TRIED_EDITS = 3
_EDIT_ROUNDS = 2_000


def resolve(wanted: Wanted, catalog: Catalog, limits: Limits) -> Resolution:
    """Choose one version for everything that is needed, so that every dependant agrees."""
    with Fetcher(catalog, limits, _Completing(wanted).edges, wanted.preferred) as fetcher:
        question = _Question(wanted, fetcher)
        for edge in question.roots():
            fetcher.expect(edge)
        try:
            chosen = _search(question, limits)
        except Unsolvable as unsolvable:
            facts = leaves(unsolvable.cause)
            raise explain(facts, question.universe, _helpful_edits(wanted, fetcher, facts, limits)) from None
        resolution = question.resolution(chosen)
    check_answer(resolution, wanted)
    return resolution


def _search(question: "_Question", limits: Limits) -> dict[Source, int]:
    while True:
        try:
            return Solver(question, limits).solve()
        except _NewDigest:
            continue


def _helpful_edits(
    wanted: Wanted, fetcher: Fetcher, facts: Sequence[Fact], limits: Limits
) -> list[Suggestion]:
    """Try what happens if the user asks for any version of a root that is part of the conflict."""
    places = {fact.edge.place for fact in facts if fact.edge and fact.edge.dependant is None}
    involved = [root for root in wanted.roots if root.place in places and root.request != Request()]
    return [edit for root in involved[:_TRIED_EDITS] if (edit := _try_edit(wanted, fetcher, root, limits))]


def _try_edit(wanted: Wanted, fetcher: Fetcher, root: Root, limits: Limits) -> Suggestion | None:
    others = tuple(replace(other, request=Request()) if other == root else other for other in wanted.roots)
    question = _Question(replace(wanted, roots=others), fetcher)
    try:
        chosen = _search(question, replace(limits, solver_rounds=min(limits.solver_rounds, _EDIT_ROUNDS)))
    except (Unsolvable, RenderError):
        return None
    candidate = question.universe(root.source).candidates[chosen[root.source]]
    return Suggestion(root.place, root.source, str(candidate))


class _NewDigest(Exception):
    """A digest came up that nobody had asked for before; the search starts again, knowing it."""


class RefusedPartial(InvalidInput):
    """A dependency without a registry, where those are not to be completed."""

    exit_code = 1


class _Completing:
    """Dependencies of a package, with missing registries filled in."""

    def __init__(self, wanted: Wanted) -> None:
        self._complete = wanted.complete_partial

    def edges(self, dependant: Source, package: Package) -> tuple[Edge, ...]:
        """Return what a package depends on."""
        found = []
        for dependency in package.metadata.dependencies:
            partial = isinstance(dependency.source, PartialSource)
            if partial and not self._complete:
                raise RefusedPartial(
                    f"{dependant} depends on {dependency.package!r}, which names no registry",
                    why="partialDependencies is set to refuse",
                    next="ask its maintainers to write the full name, or set partialDependencies: complete",
                )
            source = (
                dependency.source.complete(dependant)
                if isinstance(dependency.source, PartialSource)
                else dependency.source
            )
            request = Request.of(dependency.constraint)
            found.append(Edge(source, request, dependant, "", dependency, completed=partial))
        return tuple(found)


class _Question:
    """What the search wants to know, answered from the catalog."""

    def __init__(self, wanted: Wanted, fetcher: Fetcher) -> None:
        self._wanted = wanted
        self._fetcher = fetcher
        self._completing = _Completing(wanted)
        self._universes: dict[Source, Universe] = {}
        self._exact: dict[Source, set[Request]] = {}
        self._ranges: set[Source] = set()
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
        needed = [
            Incompatibility({USER: bit(0), edge.source: ~self._answering(edge)}, Fact(edge))
            for edge in self.roots()
        ]
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
        edges = self._completing.edges(source, package)
        for edge in edges:
            self._fetcher.expect(edge)
        renewed = [edge for edge in edges if self._note(edge)]
        if renewed:
            raise _NewDigest
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
            allowed = self._following(source, universe, allowed, chosen) or allowed
        return highest(allowed)

    def resolution(self, chosen: Mapping[Source, int]) -> Resolution:
        """Return the answer in full."""
        packages = {}
        for source in sorted(chosen):
            candidate = self.universe(source).candidates[chosen[source]]
            package = self._fetcher.package(source, candidate)
            packages[source] = Chosen(source, candidate, package, self._completing.edges(source, package))
        return Resolution(packages, self._wanted.roots)

    def _depends(self, source: Source, index: int, edge: Edge, fact: Fact) -> Incompatibility:
        return Incompatibility({source: bit(index), edge.source: ~self._answering(edge)}, fact)

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

    def _following(
        self, source: Source, universe: Universe, allowed: Bits, chosen: Mapping[Source, int]
    ) -> Bits:
        """Return the candidates whose major version the members of this family have."""
        majors = {
            candidate.version.parsed.major
            for member, candidate in self._candidates(chosen)
            if candidate.version and self._is_member(member, candidate, source)
        }
        fitting = (
            bit(i)
            for i, candidate in enumerate(universe.candidates)
            if allowed & bit(i) and candidate.version and candidate.version.parsed.major in majors
        )
        return sum(fitting)

    def _candidates(self, chosen: Mapping[Source, int]) -> list[tuple[Source, Candidate]]:
        return [(s, self.universe(s).candidates[index]) for s, index in chosen.items() if s != USER]

    def _is_member(self, member: Source, candidate: Candidate, family: Source) -> bool:
        metadata = self._fetcher.package(member, candidate).metadata
        named = metadata.family == family.repository.rpartition("/")[2]
        return named and any(dependency.source == family for dependency in metadata.dependencies)
