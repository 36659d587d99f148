"""Requests → one version for each package: the search, then the rules on the whole resolution."""

from collections.abc import Sequence
from dataclasses import replace

from render.errors import RenderError
from render.limits import Limits
from render.packages import Package
from render.references import Source
from render.requests import Request, Root
from render.resolve.answer_rules import check_answer
from render.resolve.conflict import Suggestion, explain, find_facts
from render.resolve.edges import dependency_edges
from render.resolve.model import Catalog, Edge, Resolution, Wanted
from render.resolve.prefetch import Fetcher
from render.resolve.question import NewCandidates, Question
from render.resolve.solver import Fact, Solver, Unsolvable

_TRIED_EDITS = 3
_EDIT_ROUNDS = 2_000


def resolve(wanted: Wanted, catalog: Catalog, limits: Limits) -> Resolution:
    """Choose one version for every required package, so that all constraints hold."""

    def edges(source: Source, package: Package) -> tuple[Edge, ...]:
        return dependency_edges(source, package, complete=wanted.complete_partial, moves=wanted.moves)

    with Fetcher(catalog, limits, edges, wanted) as fetcher:
        question = Question(wanted, fetcher)
        for edge in question.roots():
            fetcher.expect(edge)
        try:
            chosen = _search(question, limits)
        except Unsolvable as unsolvable:
            facts = find_facts(unsolvable.cause)
            raise explain(facts, question.universe, _helpful_edits(wanted, fetcher, facts, limits)) from None
        resolution = question.resolution(chosen)
        check_answer(resolution, wanted, question.universe)
    return resolution


def _search(question: Question, limits: Limits) -> dict[Source, int]:
    while True:
        try:
            chosen = Solver(question, limits).solve()
        except NewCandidates:
            continue
        if not question.expect_families(chosen):
            return chosen


def _helpful_edits(
    wanted: Wanted, fetcher: Fetcher, facts: Sequence[Fact], limits: Limits
) -> list[Suggestion]:
    """Search again with any version allowed for each root in the conflict, and return the edits that help."""
    places = {fact.edge.place for fact in facts if fact.edge and fact.edge.dependant is None}
    roots = sorted(wanted.roots, key=lambda root: (root.source, root.place))
    involved = [root for root in roots if root.place in places and root.request != Request()]
    return [edit for root in involved[:_TRIED_EDITS] if (edit := _try_edit(wanted, fetcher, root, limits))]


def _try_edit(wanted: Wanted, fetcher: Fetcher, root: Root, limits: Limits) -> Suggestion | None:
    others = tuple(replace(other, request=Request()) if other == root else other for other in wanted.roots)
    edited = replace(wanted, roots=others)
    question = Question(edited, fetcher)
    try:
        chosen = _search(question, replace(limits, solver_rounds=min(limits.solver_rounds, _EDIT_ROUNDS)))
        check_answer(question.resolution(chosen), edited, question.universe)
    except (Unsolvable, RenderError):
        return None
    candidate = question.universe(root.source).candidates[chosen[root.source]]
    return Suggestion(root.place, root.source, str(candidate))
