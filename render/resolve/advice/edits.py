"""Second searches: which edit of a request, of the command line or of a used folder would help."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeAlias

from render.errors import RenderError
from render.limits import Limits
from render.references import Source
from render.resolve.advice.suggested import (
    Advised,
    CorrectedCommand,
    OtherApiVersion,
    ProvidedInstead,
    Suggestion,
)
from render.resolve.answer_rules import check_answer
from render.resolve.crds.index import Index, read_rows
from render.resolve.crds.model import Answers, Asked
from render.resolve.model import COMMAND_LINE, Candidate, Edge, Wanted
from render.resolve.prefetch import Fetcher
from render.resolve.question import Question
from render.resolve.solver import Fact, Unsolvable
from render.versions.constraints import ANY
from render.versions.requests import Request, Root
from render.versions.version import parse_candidate

# Finds the candidates of a question, by their numbers.
Searching: TypeAlias = Callable[[Question, Limits], Mapping[Source, int]]

_TRIED = 3
# How many rounds of the solver a second search may take.
TRIED_ROUNDS = 2_000


@dataclass(frozen=True, slots=True)
class SecondSearch:
    """The search that failed, to be repeated with an edit."""

    wanted: Wanted
    fetcher: Fetcher
    answers: Answers
    limits: Limits
    search: Searching

    def choose(self, edited: Wanted, answers: Answers | None = None) -> Mapping[Source, Candidate]:
        """Return what a search chooses after an edit; nothing if it fails."""
        question = Question(edited, self.fetcher, self.answers if answers is None else answers)
        rounds = min(self.limits.solver_rounds, TRIED_ROUNDS)
        try:
            chosen = self.search(question, replace(self.limits, solver_rounds=rounds))
            check_answer(question.resolution(chosen), edited, question.universe)
        except (Unsolvable, RenderError):
            return {}
        return {source: question.universe(source).candidates[index] for source, index in chosen.items()}


def helpful_edits(second: SecondSearch, facts: Sequence[Fact]) -> list[Advised]:
    """Search again with any version allowed for each request in the conflict, and return the edits that help."""
    edges = list(dict.fromkeys(fact.edge for fact in facts if fact.edge))
    asked = [edge for edge in edges if edge.dependant is None]
    too_much = sorted({edge.source for edge in asked if edge.place == COMMAND_LINE})
    roots = _other_versions(second, {edge.place for edge in asked})
    return [
        *_corrected_commands(second, too_much),
        # An upgrade that goes too far is no reason to go back elsewhere.
        *(edit for root, edit in roots if not too_much or _goes_up(root, edit, second.wanted)),
        *islice(_wider_ranges(second, edges), _TRIED),
        *islice(_other_api_versions(second, asked), _TRIED),
        *islice(_other_provided(second, edges), _TRIED),
    ]


def _corrected_commands(second: SecondSearch, too_much: Sequence[Source]) -> list[CorrectedCommand]:
    """Return the command without each version that goes too far, or without all versions if no other one helps."""
    tried = [_correct(second, [source]) for source in too_much[:_TRIED]]
    found = [command for command in tried if command]
    if found or not too_much or len(second.wanted.asked) < 2:
        return found
    command = _correct(second, sorted(second.wanted.asked))
    return [command] if command else []


def _correct(second: SecondSearch, sources: Sequence[Source]) -> CorrectedCommand | None:
    wanted = second.wanted
    kept = {source: request for source, request in wanted.asked.items() if source not in sources}
    chosen = second.choose(replace(wanted, asked=kept))
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


def _other_versions(second: SecondSearch, places: set[str]) -> Iterator[tuple[Root, Suggestion]]:
    """Yield other versions for the user's requests for packages."""
    wanted = second.wanted
    roots = sorted(wanted.roots, key=lambda root: (root.source, root.place))
    involved = [root for root in roots if root.place in places and root.request != Request()]
    for root in involved[:_TRIED]:
        others = tuple(
            replace(other, request=Request()) if other == root else other for other in wanted.roots
        )
        chosen = second.choose(replace(wanted, roots=others))
        if root.source in chosen:
            yield root, Suggestion(root.place, root.source, str(chosen[root.source]))


def _goes_up(root: Root, edit: Suggestion, wanted: Wanted) -> bool:
    locked = wanted.preferred.get(root.source) or wanted.upgraded.get(root.source)
    before = parse_candidate(root.request.only_tag or "") or (locked.version if locked else None)
    after = parse_candidate(edit.version)
    return before is not None and after is not None and after > before


def _wider_ranges(second: SecondSearch, edges: Sequence[Edge]) -> Iterator[Suggestion]:
    """Yield versions that the user's range beside a CRD, or that of the catalog, excludes."""
    for edge in edges:
        edited = _accepting_all(second.wanted, edge)
        if edited == second.wanted:
            continue
        chosen = second.choose(edited)
        if edge.source in chosen:
            yield Suggestion(edge.place, edge.source, str(chosen[edge.source]), accepts=True)


def _accepting_all(wanted: Wanted, edge: Edge) -> Wanted:
    """Return the input with every version accepted at the place of an edge to a package that defines a CRD."""
    if edge.crd is None:
        return wanted
    return replace(
        wanted,
        crd_roots=tuple(
            replace(one, constraint=ANY) if one.place == edge.place else one for one in wanted.crd_roots
        ),
        catalog=tuple(
            replace(one, constraint=ANY) if one.place == edge.place else one for one in wanted.catalog
        ),
        catalog_rows=tuple(
            replace(one, versions="*") if (one.place, one.source) == (edge.place, edge.source) else one
            for one in wanted.catalog_rows
        ),
    )


def _other_api_versions(second: SecondSearch, asked: Sequence[Edge]) -> Iterator[OtherApiVersion]:
    """Yield the API versions that are served, where the user asks for one that is not."""
    wanted = second.wanted
    sources = {edge.crd: edge.source for edge in asked if edge.crd}
    for root in sorted(wanted.crd_roots, key=lambda root: (root.crd, root.place)):
        if root.crd.version is None or root.crd not in sources:
            continue
        source, free = sources[root.crd], replace(root.crd, version=None)
        roots = tuple(replace(one, crd=free) if one.crd == root.crd else one for one in wanted.crd_roots)
        given = {
            Asked(None, free) if key == Asked(None, root.crd) else key: answer
            for key, answer in second.answers.items()
        }
        candidate = second.choose(replace(wanted, crd_roots=roots), given).get(source)
        if candidate:
            rows = read_rows(source, second.fetcher.definitions(source, candidate))
            served = dict.fromkeys(name for row in Index(rows).rows_for(free) for name in row.served)
            yield OtherApiVersion(root.place, root.crd, tuple(served), source, str(candidate))


def _other_provided(second: SecondSearch, edges: Sequence[Edge]) -> Iterator[ProvidedInstead]:
    """Yield the versions that used folders would have to provide."""
    wanted = second.wanted
    for source in dict.fromkeys(edge.source for edge in edges if edge.source in wanted.provided):
        others = {key: candidate for key, candidate in wanted.provided.items() if key != source}
        candidate = second.choose(replace(wanted, provided=others)).get(source)
        if candidate:
            yield ProvidedInstead(wanted.providers.get(source, ""), source, str(candidate))
