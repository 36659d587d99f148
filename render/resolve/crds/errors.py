"""Errors about dependencies on CRDs: who asks for what, the nearest names, and the lines that decide."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from render.crd_dependencies import CrdRequest
from render.errors import Unsatisfiable
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
    known = Index({*found.closure.everything().rows, *([] if catalog.is_empty else catalog.index.rows)})
    asked = found.unanswered
    shown, rest = asked[:_SHOWN_QUESTIONS], len(asked) - _SHOWN_QUESTIONS
    why = [line for one in shown for line in _reasons(one, found.closure, known)]
    why += [f"and {rest} more"] if rest > 0 else []
    blocks = dict.fromkeys(block for one in shown for block in _advice(one, known))
    return UnansweredCrds(
        _what(asked[0], known)
        if len(asked) == 1
        else f"{len(asked):,} dependencies on CRDs have no single answer",
        why=[*why, *_looked_in(found, catalog)],
        next=[line for block in blocks for line in block],
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
        yield from _rivals(one, known)
        return
    own = [row for row in known.rows_for(crd) if row.source == dependant]
    near = [] if own else _nearest(crd, known)
    for row in own:
        yield f"it defines {_shown(row)} itself"
    if near:
        yield f"the nearest: {first_names(near, _SHOWN)}"


def _rivals(one: Unanswered, known: Index) -> Iterator[str]:
    crd = one.asked.crd
    if not known.find(crd).served:
        rows = [row for row in known.rows_for(crd) if row.source in one.rivals]
        yield from (f"{row.source} defines {_shown(row)}" for row in rows[:_SHOWN])
        yield f"older versions of one of these sources may serve {crd.version or crd}, and only one of them can be tried"
    elif crd.is_wildcard:
        yield f"{_names(one)} define kinds of that group, and one of them will do"
    else:
        yield f"{_names(one)} define it, and a cluster has it once"


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


def _advice(one: Unanswered, known: Index) -> Iterator[tuple[str, ...]]:
    """Yield blocks of lines; a block that several questions have is shown once."""
    if one.rivals:
        yield (
            "keep one of these sources in `catalog`, or ask for one of them in xplock.yaml, such as:",
            "roots:",
            f"- package: {one.rivals[0]}",
        )
        return
    if one.asked.dependant is None and _nearest(one.asked.crd, known):
        yield (f"if one of the nearest names is meant, write it in {one.place}",)
    yield (
        "name the source of the package that defines it in xplock.yaml:",
        "catalog:",
        "- source: registry/organisation/name",
    )
