"""Errors about dependencies on CRDs: who asks for what, the nearest names, and the lines that decide."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypeAlias

from render.crd_dependencies import CrdRequest
from render.errors import Unsatisfiable
from render.references import Source
from render.resolve.crds.answers import Closure, Round, Unanswered
from render.resolve.crds.index import Index
from render.resolve.crds.lookup import CatalogLookup
from render.resolve.crds.model import Answer, Asked
from render.texts import counted, first_names

_SHOWN = 5
_SHOWN_QUESTIONS = 10
_NEAR = 0.6


class UnansweredCrds(Unsatisfiable):
    """Dependencies on CRDs that no package answers, or several."""


class UnstableAnswers(Unsatisfiable):
    """Dependencies on CRDs whose answers change each other without end."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A package that settles a question if the user asks for it by name, and the version that is chosen then."""

    source: Source
    version: str


# Which of several packages settles a question; none, if another search shows that none does.
Decider: TypeAlias = Callable[[Asked, Sequence[Source]], Decision | None]
_Decided: TypeAlias = Mapping[Asked, Decision | None]


def unanswered(found: Round, catalog: CatalogLookup, decide: Decider) -> UnansweredCrds:
    """Return one error for all questions without an answer."""
    known = Index({*found.closure.everything().rows, *([] if catalog.is_empty else catalog.index.rows)})
    asked = found.unanswered
    shown, rest = asked[:_SHOWN_QUESTIONS], len(asked) - _SHOWN_QUESTIONS
    decided = {one.asked: decide(one.asked, one.rivals[:_SHOWN]) for one in shown if one.rivals}
    why = [line for one in shown for line in _reasons(one, found.closure, known, catalog, decided)]
    why += [f"and {rest} more"] if rest > 0 else []
    blocks = dict.fromkeys(block for one in shown for block in _advice(one, known, decided))
    return UnansweredCrds(
        _what(asked[0], known)
        if len(asked) == 1
        else f"{len(asked):,} dependencies on CRDs have no single answer",
        why=[*why, *_looked_in(found, catalog)],
        next=[*_roots_that_decide(decided.values()), *(line for block in blocks for line in block)],
    )


def _what(one: Unanswered, known: Index) -> str:
    crd = one.asked.crd
    if not one.rivals:
        return f"no package defines {crd}"
    verb = "define" if known.find(crd).served else "define, and do not serve,"
    return f"{_names(one)} {verb} {crd}"


def _names(one: Unanswered) -> str:
    names = [str(source) for source in one.rivals]
    return " and ".join(names) if len(names) <= _SHOWN else first_names(names, _SHOWN)


def with_unanswered(
    error: Unsatisfiable, found: Round | None, catalog: CatalogLookup, decide: Decider
) -> Unsatisfiable:
    """Return an error about versions with the questions that had no answer when they were chosen."""
    if found is None or not found.unanswered:
        return error
    more = unanswered(found, catalog, decide)
    error.why, error.next = (*error.why, *more.why), (*error.next, *more.next)
    return error


def unstable(changing: Collection[tuple[Asked, Answer]], decide: Decider) -> UnstableAnswers:
    """Return the error for answers that change each other."""
    asked = sorted({asked for asked, _ in changing}, key=lambda asked: asked.order)
    sources = sorted({source for _, answer in changing for source in answer.sources})
    decided = decide(asked[0], sources[:_SHOWN])
    return UnstableAnswers(
        "dependencies on CRDs change each other's answers",
        why=[
            f"the package that answers {crd} depends on how the others are answered"
            for crd in sorted({one.crd for one in asked})
        ],
        next=_roots_that_decide([decided])
        or "ask for the package that defines one of them, in a manifest or under `roots`",
    )


def _reasons(
    one: Unanswered, closure: Closure, known: Index, catalog: CatalogLookup, decided: _Decided
) -> Iterator[str]:
    crd, dependant = one.asked.crd, one.asked.dependant
    asker = f"{dependant} {closure.version(dependant)} needs" if dependant else "you ask for"
    yield f"{asker} {crd} ({one.place})"
    if one.rivals:
        yield from _rivals(one, known, catalog, decided[one.asked])
    elif near := _nearest(crd, known):
        yield f"the nearest: {first_names(near, _SHOWN)}"


def _rivals(one: Unanswered, known: Index, catalog: CatalogLookup, decided: Decision | None) -> Iterator[str]:
    crd = one.asked.crd
    for source in one.rivals[:_SHOWN]:
        rows = [row.described for row in known.rows_for(crd) if row.source == source]
        yield f"{source} defines {first_names(rows, _SHOWN)} ({' and '.join(catalog.places(source))})"
    if not known.find(crd).served:
        if decided:
            yield f"{decided.source} {decided.version} serves {crd.version}"
        else:
            yield f"no version of one of them serves {crd.version} and suits everyone"
    elif crd.is_wildcard:
        yield "one of them will do"
    else:
        yield "a cluster can have it from one of them only"


def _nearest(crd: CrdRequest, known: Index) -> list[str]:
    """Return what may be meant: kinds of the group, groups below it, the same kind elsewhere, like groups."""
    below = [group for group in known.groups if group.endswith(f".{crd.group}")]
    group = known.in_group(crd.group)
    if group:
        words = {word: row for row in group for word in sorted(row.words)}
        near = get_close_matches(crd.name, sorted(words), n=_SHOWN, cutoff=_NEAR)
        rows = [words[word] for word in near] or sorted(group)
        return list(dict.fromkeys(row.described for row in rows))
    if below:
        return [f"groups below it: {first_names([f'{crd.name}.{one}' for one in below], _SHOWN)}"]
    alike = get_close_matches(crd.group, known.groups, n=_SHOWN, cutoff=_NEAR)
    same = [row.described for row in known.rows if crd.name in row.words]
    named = [row.described for row in known.rows if row.group in alike and crd.name in row.words]
    return list(dict.fromkeys([*named, *same, *(f"*.{one}" for one in alike)]))


def _looked_in(found: Round, catalog: CatalogLookup) -> Iterator[str]:
    if all(one.rivals for one in found.unanswered):
        return
    folders = f", {' and '.join(found.closure.folders())}" if found.closure.folders() else ""
    packages = counted(len(found.closure.sources), "package")
    looked = [f"{packages} of the closure{folders}"]
    if catalog.is_empty:
        looked.append("xplock.yaml has no `catalog`")
    else:
        looked.append(f"the catalog: {first_names(catalog.searched(), _SHOWN)}")
    yield f"looked in {'; '.join(looked)}; no registry is searched"


def _roots_that_decide(decided: Iterable[Decision | None]) -> list[str]:
    """Return the roots that settle questions; another search has shown that they do."""
    sources = sorted({one.source for one in decided if one})
    if not sources:
        return []
    return [
        "ask for the one that you want in xplock.yaml, such as:",
        "roots:",
        *(f"- package: {one}" for one in sources),
    ]


def _advice(one: Unanswered, known: Index, decided: _Decided) -> Iterator[tuple[str, ...]]:
    """Yield blocks of lines; a block that several questions have is shown once."""
    if one.rivals:
        if decided[one.asked] is None:
            yield (_other_request(one.asked, one.place),)
        return
    if one.asked.dependant is None and _nearest(one.asked.crd, known):
        yield (f"if one of the nearest names is meant, write it in {one.place}",)
    yield (
        "name the source of the package that defines it in xplock.yaml:",
        "catalog:",
        "- source: registry/organisation/name",
    )


def _other_request(asked: Asked, place: str) -> str:
    if asked.dependant:
        return f"use another version of {asked.dependant}, or ask its maintainers"
    return f"ask for another CRD in {place}, or for another of its API versions"
