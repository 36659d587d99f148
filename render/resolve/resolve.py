"""Requests → one version for each package: the search, then the rules on the whole resolution."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from render.errors import RenderError
from render.limits import Limits
from render.packages import Package
from render.references import Source
from render.resolve.advice.edits import TRIED_ROUNDS, SecondSearch, helpful_edits
from render.resolve.advice.suggested import Advised
from render.resolve.answer_rules import check_answer
from render.resolve.conflict import NoSolution, accepted, explain, find_facts
from render.resolve.crds.answers import Round, answer_questions
from render.resolve.crds.errors import Decider, Decision, unanswered, unstable, with_unanswered
from render.resolve.crds.lookup import CatalogLookup
from render.resolve.crds.model import NO_ANSWERS, Answer, Asked
from render.resolve.edges import dependency_edges
from render.resolve.missing import MissingVersion
from render.resolve.model import COMMAND_LINE, Catalog, Edge, Resolution, Wanted
from render.resolve.prefetch import Fetcher
from render.resolve.question import NewCandidates, Question
from render.resolve.solver import Fact, Solver, Unsolvable
from render.versions.requests import Request, Root


class _Unsettled(Exception):
    """Answers to dependencies on CRDs change each other without end."""

    def __init__(self, changing: Collection[tuple[Asked, Answer]]) -> None:
        super().__init__("no settled answers")
        self.changing = changing


def resolve(wanted: Wanted, catalog: Catalog, limits: Limits) -> Resolution:
    """Choose one version for every required package, so that all constraints hold."""

    def edges(source: Source, package: Package) -> tuple[Edge, ...]:
        return dependency_edges(source, package, complete=wanted.complete_partial, moves=wanted.moves)

    # Bounds alone require nothing, so no registry is asked about them.
    if not wanted.roots and not wanted.asked and not wanted.crd_roots:
        return Resolution({}, ())

    with Fetcher(catalog, limits, edges, wanted) as fetcher:
        question, resolution = _answer_crds(wanted, fetcher, limits)
        check_answer(resolution, wanted, question.universe)
    return resolution


def _answer_crds(wanted: Wanted, fetcher: Fetcher, limits: Limits) -> tuple[Question, Resolution]:
    """Search until the answers to dependencies on CRDs are those that the search was made with."""
    catalog, decide = CatalogLookup(wanted, fetcher, limits), _decider(wanted, fetcher, limits)

    def choose(question: Question, found: Round | None) -> Resolution:
        try:
            return _resolve(question, wanted, fetcher, limits)
        except NoSolution as error:
            raise with_unanswered(error, found, catalog, decide) from None

    try:
        question, resolution, found = _settle(wanted, fetcher, limits, catalog, choose)
    except _Unsettled as unsettled:
        raise unstable(unsettled.changing, decide) from None
    if found.unanswered:
        raise unanswered(found, catalog, decide)
    return question, resolution


def _settle(
    wanted: Wanted,
    fetcher: Fetcher,
    limits: Limits,
    catalog: CatalogLookup,
    choose: Callable[[Question, Round | None], Resolution],
) -> tuple[Question, Resolution, Round]:
    """Search with the answers of the search before, until they stay the same."""
    seen, found = [NO_ANSWERS], None
    while True:
        question = Question(wanted, fetcher, seen[-1])
        resolution = choose(question, found)
        found = answer_questions(resolution, wanted, question.served, catalog)
        if found.answers == seen[-1]:
            return question, resolution, found
        if found.answers in seen or len(seen) > limits.solver_rounds:
            raise _Unsettled(found.answers.items() ^ seen[-1].items())
        seen.append(found.answers)


def _decider(wanted: Wanted, fetcher: Fetcher, limits: Limits) -> Decider:
    """Return which of several packages would settle a question, if the user asked for it by name."""

    def decide(asked: Asked, sources: Sequence[Source]) -> Decision | None:
        bounded = replace(limits, solver_rounds=min(limits.solver_rounds, TRIED_ROUNDS))
        for source in sources:
            edited = replace(wanted, roots=(*wanted.roots, Root(source, Request(), "")))
            catalog = CatalogLookup(edited, fetcher, limits)
            try:
                question, resolution, found = _settle(
                    edited, fetcher, bounded, catalog, lambda q, _: q.resolution(_search(q, bounded))
                )
                check_answer(resolution, edited, question.universe)
            except (Unsolvable, _Unsettled, RenderError):
                continue
            # A folder that is used chooses the versions of what it provides.
            if asked in found.answers and source in resolution.packages:
                return Decision(source, str(resolution.packages[source].candidate))
        return None

    return decide


def _resolve(question: Question, wanted: Wanted, fetcher: Fetcher, limits: Limits) -> Resolution:
    for edge in question.roots():
        fetcher.expect(edge)
    try:
        chosen = _search(question, limits)
    except Unsolvable as unsolvable:
        facts = find_facts(unsolvable.cause)
        facts += question.unsaid(facts)
        second = SecondSearch(wanted, fetcher, question.crds.answers, limits, _search)
        edits = helpful_edits(second, facts)
        raise _missing(question, wanted, facts, edits) or explain(
            facts, question.universe, question.listed, edits, serving=question.served.index
        ) from None
    return question.resolution(chosen)


def _search(question: Question, limits: Limits) -> dict[Source, int]:
    while True:
        try:
            chosen = Solver(question, limits).solve()
        except NewCandidates:
            continue
        if not question.expect_families(chosen):
            return chosen


def _missing(
    question: Question, wanted: Wanted, facts: Sequence[Fact], edits: Sequence[Advised]
) -> MissingVersion | None:
    """Return the error for a requested version that no registry has, with the other requests that it would meet."""
    for edge in [fact.edge for fact in facts if fact.edge and fact.edge.dependant is None]:
        error = question.missing(edge)
        if error:
            others = [fact for fact in facts if fact.edge and fact.edge.source == edge.source]
            error.why = (*error.why, *accepted([fact for fact in others if fact.edge != edge]))
            # The nearest version may be one that others do not accept.
            error.next = (*map(str, edits), *_other_version(question, wanted, edge)) or error.next
            return error
    return None


def _other_version(question: Question, wanted: Wanted, edge: Edge) -> list[str]:
    """Return where a file decides about a version that the command line asks for."""
    if edge.place != COMMAND_LINE:
        return []
    call = wanted.call
    for source, request in wanted.asked.items():
        if question.missing(Edge(source, request, None)):
            call = call.without_upgrade(str(source))
    return [
        f"or write another version in {root.place}, which asks for {root.request}, then: {call.again()}"
        for root in wanted.roots
        if root.source == edge.source and root.request != Request()
    ]
