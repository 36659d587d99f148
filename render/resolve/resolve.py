"""Requests → one version for each package: the search, then the rules on the whole resolution."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from render.errors import RenderError
from render.limits import Limits
from render.packages import Package
from render.references import Source
from render.resolve.answer_rules import check_answer
from render.resolve.conflict import (
    Advised,
    CorrectedCommand,
    NoSolution,
    Suggestion,
    accepted,
    explain,
    find_facts,
)
from render.resolve.crds.answers import answer_questions
from render.resolve.crds.errors import unanswered, unstable, with_unanswered
from render.resolve.crds.lookup import CatalogLookup
from render.resolve.crds.model import NO_ANSWERS, Answers
from render.resolve.edges import dependency_edges
from render.resolve.missing import MissingVersion
from render.resolve.model import COMMAND_LINE, Candidate, Catalog, Edge, Resolution, Wanted
from render.resolve.prefetch import Fetcher
from render.resolve.question import NewCandidates, Question
from render.resolve.solver import Fact, Solver, Unsolvable
from render.versions.requests import Request, Root
from render.versions.version import parse_candidate

_TRIED_EDITS = 3
_EDIT_ROUNDS = 2_000


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
    catalog, seen, found = CatalogLookup(wanted, fetcher, limits), [NO_ANSWERS], None
    while True:
        question = Question(wanted, fetcher, seen[-1])
        try:
            resolution = _resolve(question, wanted, fetcher, limits)
        except NoSolution as error:
            raise with_unanswered(error, found, catalog) from None
        found = answer_questions(resolution, wanted, question.served, catalog)
        if found.answers == seen[-1]:
            if found.unanswered:
                raise unanswered(found, catalog)
            return question, resolution
        if found.answers in seen or len(seen) > limits.solver_rounds:
            raise unstable({asked.crd for asked, _ in found.answers.items() ^ seen[-1].items()})
        seen.append(found.answers)


def _resolve(question: Question, wanted: Wanted, fetcher: Fetcher, limits: Limits) -> Resolution:
    for edge in question.roots():
        fetcher.expect(edge)
    try:
        chosen = _search(question, limits)
    except Unsolvable as unsolvable:
        facts = find_facts(unsolvable.cause)
        edits = _helpful_edits(wanted, fetcher, facts, question.crds.answers, limits)
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


def _helpful_edits(
    wanted: Wanted, fetcher: Fetcher, facts: Sequence[Fact], answers: Answers, limits: Limits
) -> list[Advised]:
    """Search again with any version allowed for each request in the conflict, and return the edits that help."""
    requests = [fact.edge for fact in facts if fact.edge and fact.edge.dependant is None]
    too_much = sorted({edge.source for edge in requests if edge.place == COMMAND_LINE})
    found: list[Advised | None] = [*_corrected_commands(wanted, fetcher, too_much, answers, limits)]
    places = {edge.place for edge in requests}
    roots = sorted(wanted.roots, key=lambda root: (root.source, root.place))
    involved = [root for root in roots if root.place in places and root.request != Request()]
    for root in involved[:_TRIED_EDITS]:
        edit = _try_edit(wanted, fetcher, root, answers, limits)
        # An upgrade that goes too far is no reason to go back elsewhere.
        if edit and (not too_much or _goes_up(root, edit, wanted)):
            found.append(edit)
    return [edit for edit in found if edit]


def _corrected_commands(
    wanted: Wanted, fetcher: Fetcher, too_much: Sequence[Source], answers: Answers, limits: Limits
) -> list[CorrectedCommand]:
    """Return the command without each version that goes too far, or without all versions if no other one helps."""
    tried = [_correct(wanted, fetcher, [source], answers, limits) for source in too_much[:_TRIED_EDITS]]
    found = [command for command in tried if command]
    if not found and too_much and len(wanted.asked) > 1:
        found = [
            command
            for command in [_correct(wanted, fetcher, sorted(wanted.asked), answers, limits)]
            if command
        ]
    return found


def _correct(
    wanted: Wanted, fetcher: Fetcher, sources: Sequence[Source], answers: Answers, limits: Limits
) -> CorrectedCommand | None:
    kept = {source: request for source, request in wanted.asked.items() if source not in sources}
    chosen = _try(replace(wanted, asked=kept), fetcher, answers, limits)
    versions = {source: str(chosen[source]) for source in sources if source in chosen}
    if not versions:
        return None
    call = wanted.call
    for source in sources:
        locked = wanted.upgraded.get(source) or wanted.preferred.get(source)
        stays = source not in versions or (locked is not None and str(locked) == versions[source])
        call = (
            call.without_upgrade(str(source)) if stays else call.with_upgrade(str(source), versions[source])
        )
    return CorrectedCommand(versions, call.again() if call.upgrades else "")


def _try_edit(
    wanted: Wanted, fetcher: Fetcher, root: Root, answers: Answers, limits: Limits
) -> Suggestion | None:
    others = tuple(replace(other, request=Request()) if other == root else other for other in wanted.roots)
    chosen = _try(replace(wanted, roots=others), fetcher, answers, limits)
    return Suggestion(root.place, root.source, str(chosen[root.source])) if root.source in chosen else None


def _try(edited: Wanted, fetcher: Fetcher, answers: Answers, limits: Limits) -> Mapping[Source, Candidate]:
    """Return what another search chooses; nothing if it fails."""
    question = Question(edited, fetcher, answers)
    try:
        chosen = _search(question, replace(limits, solver_rounds=min(limits.solver_rounds, _EDIT_ROUNDS)))
        check_answer(question.resolution(chosen), edited, question.universe)
    except (Unsolvable, RenderError):
        return {}
    return {source: question.universe(source).candidates[index] for source, index in chosen.items()}


def _goes_up(root: Root, edit: Suggestion, wanted: Wanted) -> bool:
    locked = wanted.preferred.get(root.source) or wanted.upgraded.get(root.source)
    before = parse_candidate(root.request.only_tag or "") or (locked.version if locked else None)
    after = parse_candidate(edit.version)
    return before is not None and after is not None and after > before
