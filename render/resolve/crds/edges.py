"""Answers to dependencies on CRDs → edges, and facts about versions that do not serve what is asked for."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from render.crd_dependencies import AnswerPlace, CrdRequest
from render.packages import Package, defined_groups
from render.references import Source
from render.resolve.candidates import Universe, bit
from render.resolve.crds.index import Index, read_rows
from render.resolve.crds.model import Answer, Answers, Asked
from render.resolve.model import Candidate, Edge, Wanted
from render.resolve.solver import USER, Fact, Incompatibility, Unserved
from render.versions.constraints import ANY, Constraint, parse_constraint
from render.versions.requests import CrdRoot, Request
from render.xpkg.definitions import Definition

NO_ANSWER = Answer()

# The package that a fact is about, or the user; the package that asks; and what for.
_Asker: TypeAlias = tuple[Source, Source | None, CrdRequest]


class CrdEdges:
    """The edges that follow from some answers; a wrong answer only makes the next round give other ones."""

    def __init__(self, answers: Answers, wanted: Wanted) -> None:
        self.answers = answers
        self._rows = wanted.catalog_rows
        self._catalog = {
            target: entry
            for entry in wanted.catalog
            for target in wanted.moves.get(entry.source, (entry.source,))
        }

    def of_package(self, source: Source, package: Package) -> tuple[Edge, ...]:
        """Return the edges of a package."""
        crds = sorted(package.metadata.crds, key=lambda one: (one.crd, one.place))
        return tuple(edge for one in crds for edge in self._edges(Asked(source, one.crd), one.constraint, ""))

    def of_user(self, roots: Sequence[CrdRoot]) -> list[Edge]:
        """Return the edges of the CRDs that the user asks for."""
        ordered = sorted(roots, key=lambda root: (root.crd, root.place))
        return [
            edge
            for root in ordered
            for edge in self._edges(Asked(None, root.crd), root.constraint, root.place)
        ]

    def of_user_requests(self) -> dict[CrdRequest, tuple[Source, ...]]:
        """Return the packages that answer the user."""
        return {asked.crd: one.sources for asked, one in self.answers.items() if asked.dependant is None}

    def _edges(self, asked: Asked, constraint: Constraint, place: str) -> Iterator[Edge]:
        answer = self.answers.get(asked, NO_ANSWER)
        for source in answer.sources:
            if source == asked.dependant:
                continue
            # Of a package that is there anyway, its other dependants choose the version.
            free = constraint == ANY and answer.place is AnswerPlace.CLOSURE
            request = Request.of(constraint)
            yield Edge(source, request, asked.dependant, place, crd=asked.crd, accepts_all=free)
            if answer.place is AnswerPlace.CATALOG:
                for accepted, decided in self._narrowed(source, asked.crd):
                    yield Edge(source, Request.of(accepted), asked.dependant, decided, crd=asked.crd)

    def _narrowed(self, source: Source, crd: CrdRequest) -> Iterator[tuple[Constraint, str]]:
        """Yield the constraints that the catalog has for a source, with their places."""
        entry = self._catalog.get(source)
        if entry and entry.constraint != ANY:
            yield entry.constraint, entry.place
        rows = [row for row in self._rows if row.source == source and row.answers(crd)]
        # Any kind of a group will do, and each may be in other versions of the package.
        if len({row.versions for row in rows}) == 1:
            yield parse_constraint(rows[0].versions), rows[0].place


class ServedVersions:
    """Which candidates serve what is asked of them, as far as the search has met both sides."""

    def __init__(
        self,
        universe: Callable[[Source], Universe],
        definitions: Callable[[Source, Candidate], Sequence[Definition]],
    ) -> None:
        self._universe = universe
        self._definitions = definitions
        # The candidates of dependants by what they ask of a source, and the candidates of a source.
        self._askers: dict[Source, dict[_Asker, dict[Candidate, Edge]]] = defaultdict(dict)
        self._met: dict[Source, set[Candidate]] = defaultdict(set)
        self._indexes: dict[tuple[Source, Candidate], Index] = {}

    def meet_edges(
        self, dependant: Source, candidate: Candidate, edges: Sequence[Edge]
    ) -> Iterator[Incompatibility]:
        """Yield which known candidates do not serve what a dependant asks for, and remember that it asks."""
        for edge in edges:
            if edge.crd is None:
                continue
            self._askers[edge.source].setdefault((dependant, edge.dependant, edge.crd), {})[candidate] = edge
            for met in sorted(self._met[edge.source], key=str):
                yield from self._unserved(dependant, candidate, edge, met)

    def meet_candidate(self, source: Source, candidate: Candidate) -> Iterator[Incompatibility]:
        """Yield which dependants ask for what a candidate does not serve, and remember the candidate."""
        self._met[source].add(candidate)
        for (dependant, _, _), asked in self._askers[source].items():
            for asker, edge in asked.items():
                yield from self._unserved(dependant, asker, edge, candidate)

    def index(self, source: Source, candidate: Candidate) -> Index:
        """Return the kinds that a candidate defines."""
        key = source, candidate
        if key not in self._indexes:
            self._indexes[key] = Index(read_rows(source, self._definitions(source, candidate)))
        return self._indexes[key]

    def contradiction(self, source: Source, candidate: Candidate, package: Package) -> str:
        """Return what a package asks of its own CRDs and does not serve: no other package could bring them."""
        groups = defined_groups(package.metadata.kind, package.objects)
        for one in sorted(package.metadata.crds, key=lambda one: (one.crd, one.place)):
            if one.crd.group in groups and not one.crd.is_wildcard:
                index = self.index(source, candidate)
                if index.find(one.crd).named:
                    defined = ", ".join(row.described for row in index.rows_for(one.crd))
                    return f"{source} {candidate} needs {one.crd} ({one.place}), and defines {defined} itself"
        return ""

    def _unserved(
        self, dependant: Source, asker: Candidate, edge: Edge, met: Candidate
    ) -> Iterator[Incompatibility]:
        crd = edge.crd
        if crd is None or self.index(edge.source, met).find(crd).served:
            return
        terms = {
            dependant: self._bit(dependant, asker),
            edge.source: self._bit(edge.source, met),
        }
        if all(terms.values()):
            yield Incompatibility(terms, Fact(edge, asker, unserved=Unserved(crd, edge.source, met)))

    def _bit(self, source: Source, candidate: Candidate) -> int:
        if source == USER:
            return bit(0)
        candidates = self._universe(source).candidates
        return bit(candidates.index(candidate)) if candidate in candidates else 0
