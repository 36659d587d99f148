"""Who needs a CRD, and which package answers, from a lock."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from render.crd_dependencies import CrdAnswer
from render.errors import InvalidInput
from render.lock.model import Lock
from render.references import Source
from render.texts import visible

PREFIX = "crd:"
_SHOWN = 5
YOU = "you"


class UnknownCrd(InvalidInput):
    """A name that no dependency on a CRD in a lock has."""


@dataclass(frozen=True, slots=True)
class Asker:
    """A dependency on a CRD; of the user, if no package has it."""

    dependant: Source | None
    answer: CrdAnswer


def find_askers(lock: Lock, text: str) -> list[Asker]:
    """Return who needs a CRD; a name without a group will do, and one without a version means every version."""
    everyone = list(_askers(lock))
    found = [one for one in everyone if _is_meant(one.answer, text.lower())]
    if found:
        return found
    known = sorted({str(one.answer.crd) for one in everyone})
    near = get_close_matches(text.lower(), known, n=_SHOWN, cutoff=0.4) or known[:_SHOWN]
    raise UnknownCrd(
        f"no package of the lock depends on {text}",
        why=[f"did you mean {PREFIX}{crd}?" for crd in near] or "the lock has no dependency on a CRD",
        next="write <name>.<group>, with or without /<version>",
    )


def format_askers(lock: Lock, text: str) -> str:
    """Write who needs a CRD and who answers."""
    found = find_askers(lock, text)
    lines = [line for one in found for line in _lines(one, lock)]
    return "\n".join([f"Needed by ({len(found)})", *lines]) + "\n"


def askers_document(lock: Lock, text: str) -> list[dict[str, Any]]:
    """Return who needs a CRD as JSON values."""
    return [
        {
            "dependant": str(one.dependant) if one.dependant else None,
            "crd": str(one.answer.crd),
            "versions": one.answer.versions or None,
            "answeredBy": str(one.answer.source),
            "from": one.answer.place,
        }
        for one in find_askers(lock, text)
    ]


def _lines(one: Asker, lock: Lock) -> Iterator[str]:
    # A line for each, since a CRD and two sources rarely fit on one line of a terminal.
    answer = one.answer
    narrowed = f" {visible(answer.versions)}" if answer.versions else ""
    yield f"  {_pin(one.dependant, lock) if one.dependant else YOU}"
    yield f"    needs        {answer.crd}{narrowed}"
    if answer.source == one.dependant:
        yield "    answered by  itself"
    else:
        yield f"    answered by  {_pin(answer.source, lock)}, from the {answer.place}"


def _pin(source: Source, lock: Lock) -> str:
    package = lock.packages.get(source) or lock.provided.get(source)
    return f"{source} {package.version}" if package else str(source)


def _askers(lock: Lock) -> Iterator[Asker]:
    yield from (Asker(None, answer) for answer in lock.crds)
    for package in lock.in_order():
        yield from (Asker(package.source, answer) for answer in package.crds)


def _is_meant(answer: CrdAnswer, text: str) -> bool:
    crd = str(answer.crd)
    return text in (crd, crd.partition("/")[0], answer.crd.name)
