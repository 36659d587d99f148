"""Errors about dependencies on CRDs: who asks for what, the nearest names, and the lines that decide."""

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches

from render.crd_dependencies import CrdRequest
from render.errors import Unsatisfiable
from render.references import Source
from render.resolve.crds.answers import Closure, Round, Unanswered
from render.resolve.crds.index import Index, Row
from render.resolve.crds.lookup import CatalogLookup
from render.texts import counted, first_names

_SHOWN = 5
_SHOWN_QUESTIONS = 10
_NEAR = 0.6


class UnansweredCrds(Unsatisfiable):
    """Dependencies on CRDs that no package answers, or several."""


class UnstableAnswers(Unsatisfiable):
    """Dependencies on CRDs whose answers change each other without end."""


def unanswered(found: Round, catalog: CatalogLookup) -> UnansweredCrds:
    """Return one error for all questions without an answer."""
    first, rest = found.unanswered[0], len(found.unanswered) - 1
    what = (
        f"{rest + 1:,} dependencies on CRDs have no single answer"
        if rest
        else f"{' and '.join(map(str, first.rivals))} both define {first.asked.crd}"
        if first.rivals
        else f"no package defines {first.asked.crd}"
    )
    known = Index({*found.closure.everything().rows, *([] if catalog.is_empty else catalog.index.rows)})
    why: list[str] = []
    advice: list[str] = []
    for one in found.unanswered[:_SHOWN_QUESTIONS]:
        why += _reasons(one, found.closure, known)
        advice += [line for line in _advice(one) if line not in advice]
    if rest >= _SHOWN_QUESTIONS:
        why.append(f"and {rest + 1 - _SHOWN_QUESTIONS} more")
    return UnansweredCrds(what, why=[*why, *_looked_in(found, catalog)], next=advice)


def with_unanswered(error: Unsatisfiable, found: Round | None, catalog: CatalogLookup) -> Unsatisfiable:
    """Return an error about versions with the questions that had no answer when they were chosen."""
    if found is None or not found.unanswered:
        return error
    more = unanswered(found, catalog)
    error.why, error.next = (*error.why, *more.why), (*error.next, *more.next)
    return error


def unstable(changing: Iterable[CrdRequest]) -> UnstableAnswers:
    """Return the error for answers that change each other."""
    return UnstableAnswers(
        "dependencies on CRDs change each other's answers",
        why=[
            f"the package that answers {crd} depends on how the others are answered"
            for crd in sorted(changing)
        ],
        next="ask for the package that defines one of them, in a manifest or under `roots`",
    )


def _reasons(one: Unanswered, closure: Closure, known: Index) -> Iterator[str]:
    crd, dependant = one.asked.crd, one.asked.dependant
    asker = f"{dependant} {closure.version(dependant)} needs" if dependant else "you ask for"
    yield f"{asker} {crd} ({one.place})"
    if one.rivals:
        yield f"{' and '.join(map(str, one.rivals))} define it, and a cluster has it once"
        return
    own = [row for row in known.rows_for(crd) if row.source == dependant]
    near = [] if own else _nearest(crd, known)
    for row in own:
        yield f"it defines {_shown(row)} itself"
    if near:
        yield f"the nearest: {first_names(near, _SHOWN)}"


def _nearest(crd: CrdRequest, known: Index) -> list[str]:
    """Return what may be meant: kinds of the group, groups below it, the same kind elsewhere, like groups."""
    below = [group for group in known.groups if group.endswith(f".{crd.group}")]
    group = known.in_group(crd.group)
    if group:
        words = {word: row for row in group for word in sorted(row.words)}
        near = get_close_matches(crd.name, sorted(words), n=_SHOWN, cutoff=_NEAR)
        rows = [words[word] for word in near] or sorted(group)
        return list(dict.fromkeys(_shown(row) for row in rows))
    if below:
        return [f"groups below it: {first_names([f'{crd.name}.{one}' for one in below], _SHOWN)}"]
    alike = get_close_matches(crd.group, known.groups, n=_SHOWN, cutoff=_NEAR)
    same = [row for row in known.rows if crd.name in row.words]
    named = [_shown(row) for row in known.rows if row.group in alike and crd.name in row.words]
    return list(dict.fromkeys([*named, *map(_shown, same), *(f"*.{one}" for one in alike)]))


def _shown(row: Row) -> str:
    return f"{row} ({', '.join(row.served) or 'no version served'})"


def _looked_in(found: Round, catalog: CatalogLookup) -> Iterator[str]:
    if any(one.rivals for one in found.unanswered) and all(one.rivals for one in found.unanswered):
        return
    folders = f", {' and '.join(found.closure.folders())}" if found.closure.folders() else ""
    packages = counted(len(found.closure.sources), "package")
    looked = [f"{packages} of the closure{folders}"]
    if catalog.is_empty:
        looked.append("xplock.yaml has no `catalog`")
    else:
        looked.append(f"the catalog: {first_names(catalog.searched(), _SHOWN)}")
    yield f"looked in {'; '.join(looked)}; no registry is searched"


def _advice(one: Unanswered) -> Iterator[str]:
    if one.rivals:
        yield f"leave one of them in `catalog`, or decide in xplock.yaml: {_root(one.rivals)}"
        return
    yield "name the source of the package that defines it in xplock.yaml:"
    yield "catalog:"
    yield "- source: registry/organisation/name"


def _root(rivals: Sequence[Source]) -> str:
    return " or ".join(f"roots: [{{package: {source}}}]" for source in rivals)
