"""Derivation → an error that a person can act on: the constraints, the existing versions, and an edit that helps."""

from collections.abc import Callable, Iterator, Sequence

from render.errors import RenderError, Unsatisfiable
from render.references import Source
from render.resolve.advice.suggested import Advised, CorrectedCommand, ProvidedInstead
from render.resolve.candidates import ANYTHING, Bits, Universe, bit
from render.resolve.crds.unserved import Listed, Serving, describe_unserved
from render.resolve.model import Candidate, Edge
from render.resolve.solver import Fact, Incompatibility
from render.texts import first_lines, first_names
from render.versions.constraints import ANY

_SHOWN_VERSIONS = 6
_SHOWN_LINES = 8
_SHOWN_REFUSED = 3
_SHOWN_WAYS = 4
_CHANGE = "change what you ask for"


class NoSolution(Unsatisfiable):
    """No set of versions satisfies every constraint."""


class RefusedByPolicy(NoSolution):
    """No set of versions that policies allow satisfies every constraint."""


class MissingPackage(RenderError):
    """A required package that its registry does not have."""


def find_facts(cause: Incompatibility) -> list[Fact]:
    """Return the facts that a derivation is based on, each once, those nearest to the conflict first."""
    found: dict[int, Fact] = {}
    waiting, seen = [cause], {id(cause)}
    while waiting:
        current = waiting.pop(0)
        if current.fact is not None and (current.fact.edge or current.fact.problem):
            found[id(current.fact)] = current.fact
        for parent in current.causes or ():
            if id(parent) not in seen:
                seen.add(id(parent))
                waiting.append(parent)
    return list(found.values())


def explain(
    facts: Sequence[Fact],
    universe: Callable[[Source], Universe],
    listed: Listed,
    suggestions: Sequence[Advised],
    *,
    serving: Serving,
) -> RenderError:
    """Return the error for a search without a solution; `listed` has the versions that registries list."""
    unserved = [fact.unserved for fact in facts if fact.unserved]
    edges = _once([fact for fact in facts if fact.edge])
    target = _disputed(facts, universe) if edges else None
    if unserved and target:
        target = unserved[0].source
    if target is None:
        return NoSolution(
            "no package can be used", why=[fact.problem for fact in facts], next=_advice((), suggestions)
        )
    there = universe(target)
    about = [fact for fact in edges if fact.edge and fact.edge.source == target]
    others = [fact for fact in edges if fact not in about]
    why = [
        *accepted(about),
        # Nothing is asked of a source that policies refuse.
        *_existing(there, None if there.refused else listed(target)),
        *_untagged(about, there),
        *describe_unserved(unserved, listed, serving),
        *_problems(facts),
        *accepted(others),
    ]
    lines = first_lines(why, _SHOWN_LINES)
    refused = [fact for fact in facts if fact.refused]
    if there.refused or refused:
        return _refused(target, lines, there, [*about, *refused], suggestions)
    if there.problem:
        # A package that only other packages require is not misspelt by the user.
        asked = any(fact.edge and fact.edge.dependant is None for fact in about)
        return MissingPackage(
            f"{target} is required, but cannot be fetched",
            why=lines,
            next=there.advice
            if asked and there.advice
            else _listed_wrongly(about) or _advice(about, suggestions),
        )
    dependants = {fact.edge.dependant for fact in about if fact.edge}
    if unserved:
        what = f"no version of {target} serves {unserved[0].crd} and suits every dependant"
        return NoSolution(what, why=lines, next=_advice(about, suggestions, there.provider))
    what = f"no version of {target} suits " + ("every dependant" if len(dependants) > 1 else "its dependant")
    return NoSolution(what, why=lines, next=_advice(about, suggestions, there.provider))


def _listed_wrongly(about: Sequence[Fact]) -> list[str]:
    """Return the places of the catalog that name a source for a CRD that another package asks for."""
    edges = [fact.edge for fact in about if fact.edge and fact.edge.crd and fact.edge.dependant]
    places = sorted({edge.place for edge in edges if edge.place})
    return [f"correct {edges[0].source} in {' and '.join(places)}, or remove it there"] if places else []


def _refused(
    target: Source, why: Sequence[str], there: Universe, facts: Sequence[Fact], suggestions: Sequence[Advised]
) -> RefusedByPolicy:
    """Return the error for packages that constraints accept, and policies do not allow."""
    if there.refused:
        what = f"{target} is required, and its source is not allowed"
    else:
        sources = sorted({str(fact.refused) for fact in facts if fact.refused})
        what = f"no version of {' or of '.join(sources)} suits its dependants and is allowed"
    advice = dict.fromkeys([*there.advice, *(line for fact in facts for line in fact.advice)])
    ways = [*map(str, suggestions), *advice][:_SHOWN_WAYS]
    # Every way helps by itself.
    return RefusedByPolicy(
        what,
        why=why,
        next=[f"{'or ' if i else ''}{line.removeprefix('or ')}" for i, line in enumerate(ways)],
    )


def _problems(facts: Sequence[Fact]) -> Iterator[str]:
    """Yield why candidates cannot be used; of many that policies refuse, the highest ones."""
    yield from (fact.problem for fact in facts if fact.problem and fact.refused is None)
    groups: dict[Source, list[Fact]] = {}
    for fact in facts:
        if fact.refused:
            groups.setdefault(fact.refused, []).append(fact)
    for refused in groups.values():
        ranked = sorted(refused, key=lambda fact: _rank(fact.candidate or Candidate(None)), reverse=True)
        yield from first_lines([fact.problem for fact in ranked], _SHOWN_REFUSED)


def _once(facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts without those that only differ in the version that does not serve what is asked for."""
    return list({(fact.edge, fact.candidate): fact for fact in facts}.values())


def _disputed(facts: Sequence[Fact], universe: Callable[[Source], Universe]) -> Source:
    """Return the source without a version that all its dependants accept; of several, that with most dependants."""
    sources = list(dict.fromkeys(fact.edge.source for fact in facts if fact.edge))
    empty = [
        source
        for source in sources
        if not _agreed(source, facts, universe(source)) & ~_ruled_out(source, facts, universe(source))
    ]
    return max(empty or sources, key=lambda source: len(_by_dependant(source, facts)))


def _agreed(source: Source, facts: Sequence[Fact], there: Universe) -> int:
    agreed = ANYTHING
    for edges in _by_dependant(source, facts).values():
        accepted = 0
        for edge in edges:
            accepted |= there.answering(edge.request)
        agreed &= accepted
    return agreed


def _ruled_out(source: Source, facts: Sequence[Fact], there: Universe) -> Bits:
    """Return the candidates that policies refuse."""
    refused = {fact.candidate for fact in facts if fact.refused == source}
    return sum(bit(i) for i, candidate in enumerate(there.candidates) if candidate in refused)


def _by_dependant(source: Source, facts: Sequence[Fact]) -> dict[Source | None, list[Edge]]:
    found: dict[Source | None, list[Edge]] = {}
    for fact in facts:
        if fact.edge and fact.edge.source == source:
            found.setdefault(fact.edge.dependant, []).append(fact.edge)
    return found


def accepted(facts: Sequence[Fact]) -> Iterator[str]:
    """Yield one line for each dependant and constraint, with all of its versions that were tried."""
    groups: dict[tuple[Source | None, str], list[Fact]] = {}
    for fact in facts:
        if fact.edge:
            groups.setdefault((fact.edge.dependant, _request(fact.edge)), []).append(fact)
    for (dependant, request), members in groups.items():
        if dependant is None:
            yield f"you ask for {request}{_place(members[0])}"
        else:
            tried = [fact.candidate for fact in members if fact.candidate]
            versions = [str(candidate) for candidate in sorted(tried, key=_rank, reverse=True)]
            verb = "needs" if members[0].edge and members[0].edge.crd else "accepts"
            words = [str(dependant), first_names(versions, _SHOWN_VERSIONS), verb, request]
            yield f"{' '.join(word for word in words if word)}{_place(members[0])}"


def _request(edge: Edge) -> str:
    if edge.crd is None:
        return f"{edge.source} {edge.request}"
    constraint = edge.request.constraint
    narrowed = "" if constraint == ANY else f" {edge.request}"
    return f"{edge.crd} of {edge.source}{narrowed}"


def _place(fact: Fact) -> str:
    if fact.edge is None:
        return ""
    moved = f"instead of {fact.edge.instead_of}" if fact.edge.instead_of else ""
    words = ", ".join(word for word in (moved, fact.edge.place) if word)
    return f" ({words})" if words else ""


def _existing(there: Universe, listed: Sequence[str] | None) -> Iterator[str]:
    """Yield which versions exist: those that were only asked for are candidates as well, and may not exist."""
    if there.problem:
        yield there.problem
    elif there.provider:
        yield f"{there.provider} provides {there.candidates[0]}"
    elif listed is not None:
        shown = first_names(listed, _SHOWN_VERSIONS) if listed else "no version that can be installed"
        yield f"it has {shown}"


def _untagged(about: Sequence[Fact], there: Universe) -> Iterator[str]:
    """Yield a line for each digest without a version, if a dependant constrains the version."""
    if any(fact.edge and not fact.edge.request.exact for fact in about):
        for candidate in there.candidates:
            if candidate.digest and not candidate.version:
                yield f"no version has the digest {candidate.digest}, so no constraint accepts it"


def _rank(candidate: Candidate) -> tuple[bool, object]:
    return (True, candidate.version.rank) if candidate.version else (False, str(candidate))


def _advice(about: Sequence[Fact], suggestions: Sequence[Advised], provider: str = "") -> list[str]:
    stated = list(dict.fromkeys(line for fact in about for line in fact.advice))
    advice = stated or list(_listed(suggestions))
    blamed = _other_versions(about)
    if stated or any(not isinstance(one, CorrectedCommand) or one.command for one in suggestions):
        return advice
    if provider and not advice and not blamed:
        return [f"change its version in {provider}, and lock that first"]
    if advice:
        # Keeping what is locked is no help to a user who wants something newer.
        return [*advice, *(f"or {line.removeprefix('or ')}" for line in blamed)]
    return blamed or [_CHANGE]


def _listed(suggestions: Sequence[Advised]) -> Iterator[str]:
    for i, one in enumerate(suggestions):
        # No edit in this folder changes the version of a provided package.
        yield f"{'or ' if i and isinstance(one, ProvidedInstead) else ''}{one}"


def _other_versions(about: Sequence[Fact]) -> list[str]:
    """Return the advice to change the packages that constrain the disputed one."""
    dependants = sorted({str(fact.edge.dependant) for fact in about if fact.edge and fact.edge.dependant})
    moved = sorted({str(fact.edge.instead_of) for fact in about if fact.edge and fact.edge.instead_of})
    if not dependants:
        return []
    corrected = [f"or correct the move of {' and of '.join(moved)}"] if moved else []
    return [f"use another version of {' or of '.join(dependants)}, or ask its maintainers", *corrected]
