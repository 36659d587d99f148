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
from render.resolve.model import COMMAND_LINE, Catalog, Edge, Resolution, Wanted
from render.resolve.prefetch import Fetcher
from render.resolve.question import NewCandidates, Question
from render.resolve.solver import Fact, Solver, Unsolvable
from render.versions import parse_candidate

_TRIED_EDITS = 3
_EDIT_ROUNDS = 2_000


def resolve(wanted: Wanted, catalog: Catalog, limits: Limits) -> Resolution:
    """Choose one version for every required package, so that all constraints hold."""

    def edges(source: Source, package: Package) -> tuple[Edge, ...]:
        return dependency_edges(source, package, complete=wanted.complete_partial, moves=wanted.moves)

    # Bounds alone require nothing, so no registry is asked about them.
    if not wanted.roots and not wanted.asked:
        return Resolution({}, ())

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
    """Search again with any version allowed for each request in the conflict, and return the edits that help."""
    requests = [fact.edge for fact in facts if fact.edge and fact.edge.dependant is None]
    too_much = sorted({edge.source for edge in requests if edge.place == COMMAND_LINE})
    found = [_try_without_option(wanted, fetcher, source, limits) for source in too_much[:_TRIED_EDITS]]
    places = {edge.place for edge in requests}
    roots = sorted(wanted.roots, key=lambda root: (root.source, root.place))
    involved = [root for root in roots if root.place in places and root.request != Request()]
    for root in involved[:_TRIED_EDITS]:
        edit = _try_edit(wanted, fetcher, root, limits)
        # An upgrade that goes too far is no reason to go back elsewhere.
        if edit and (not too_much or _goes_up(root, edit, wanted)):
            found.append(edit)
    return [edit for edit in found if edit]


def _try_without_option(
    wanted: Wanted, fetcher: Fetcher, source: Source, limits: Limits
) -> Suggestion | None:
    asked = {other: request for other, request in wanted.asked.items() if other != source}
    version = _try(replace(wanted, asked=asked), fetcher, source, limits)
    if version is None:
        return None
    return Suggestion(COMMAND_LINE, source, version, wanted.call.upgrading(str(source), version))


def _try_edit(wanted: Wanted, fetcher: Fetcher, root: Root, limits: Limits) -> Suggestion | None:
    others = tuple(replace(other, request=Request()) if other == root else other for other in wanted.roots)
    version = _try(replace(wanted, roots=others), fetcher, root.source, limits)
    return Suggestion(root.place, root.source, version) if version else None


def _try(edited: Wanted, fetcher: Fetcher, source: Source, limits: Limits) -> str | None:
    """Return the version that a source gets in another search, if that one succeeds."""
    question = Question(edited, fetcher)
    try:
        chosen = _search(question, replace(limits, solver_rounds=min(limits.solver_rounds, _EDIT_ROUNDS)))
        check_answer(question.resolution(chosen), edited, question.universe)
    except (Unsolvable, RenderError):
        return None
    return str(question.universe(source).candidates[chosen[source]]) if source in chosen else None


def _goes_up(root: Root, edit: Suggestion, wanted: Wanted) -> bool:
    locked = wanted.preferred.get(root.source) or wanted.upgraded.get(root.source)
    before = parse_candidate(root.request.only_tag or "") or (locked.version if locked else None)
    after = parse_candidate(edit.version)
    return before is not None and after is not None and after > before
