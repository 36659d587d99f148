"""A lock with Git's conflict markers → one lock to start from; versions are resolved again, names must agree.

Of both sides are kept: every package with its pin and its object name. Still to come here, each as a union:
packages that are leaving, pins of earlier versions, recorded moves and stale entries.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

from render.errors import Unsatisfiable
from render.limits import Limits
from render.lock.findings import InvalidLock
from render.lock.halves import DetailsEntry, E, LockEntry
from render.lock.model import Lock, LockedPackage
from render.lock.parse import disagreement, join, parse_halves
from render.references import Source
from render.versions import InvalidVersion, Precedence, parse_version

# What a marker may follow, and what comes after it.
_OPEN, _BASE, _MIDDLE, _CLOSE = b"<<<<<<<", b"|||||||", b"=======", b">>>>>>>"
_STEPS = {
    ("both", _OPEN): "ours",
    ("ours", _BASE): "base",
    ("ours", _MIDDLE): "theirs",
    ("base", _MIDDLE): "theirs",
    ("theirs", _CLOSE): "both",
}


class ContradictingLocks(Unsatisfiable):
    """Two sides of a merge that cannot both be kept."""

    def __init__(self, place: str, why: list[str]) -> None:
        super().__init__(
            f"the two sides of {place} contradict each other",
            why=why,
            next="take one side's lock whole (git checkout --ours or --theirs), then run `xplock lock`",
        )


@dataclass(frozen=True, slots=True)
class MergedLock:
    """What both sides know; as a set of packages it need not hold together, so it is resolved again."""

    lock: Lock
    # Where the sides differ, and what is tried first.
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Side:
    """One side's text, and for each of its lines the line in the file."""

    data: bytes = b""
    lines: list[int] = field(default_factory=list)


def merge_sides(data: bytes, limits: Limits, *, place: str) -> MergedLock:
    """Read both sides of a lock with conflict markers; without any, what Git made of both by itself."""
    sides = [parse_halves(side.data, limits, place=place, lines=side.lines) for side in _split(data, place)]
    entries = _by_source(entry for side in sides for entry in side.entries)
    details = _by_source(entry for side in sides for entry in side.details)
    found = {source: _candidates(entries[source], details[source]) for source in {**entries, **details}}
    _refuse_contradictions(found, details, place)
    packages = {source: max(found[source], key=_rank) for source in sorted(found, key=str)}
    notes = [note for source, chosen in packages.items() for note in _note(found[source], chosen)]
    inputs = {**sides[1].inputs, **sides[0].inputs}
    return MergedLock(Lock(packages, inputs, max(side.revision for side in sides)), tuple(notes))


def _split(data: bytes, place: str) -> tuple[_Side, _Side]:
    ours, theirs = _Side(), _Side()
    texts: Mapping[str, list[bytes]] = {"ours": [], "theirs": []}
    state, opened = "both", 0
    for number, line in enumerate(data.split(b"\n"), start=1):
        marker = line[:7] if line.rstrip(b"\r")[7:8] in (b"", b" ") else b""
        # Conflicts inside of a common ancestor have longer markers.
        if marker in (_OPEN, _BASE, _MIDDLE, _CLOSE):
            if (state, marker) not in _STEPS:
                raise InvalidLock(place, [f"line {number}: a conflict marker out of place"])
            state, opened = _STEPS[state, marker], number if marker == _OPEN else opened
            continue
        for name, side in (("ours", ours), ("theirs", theirs)):
            if state in ("both", name):
                texts[name].append(line)
                side.lines.append(number)
    if state != "both":
        raise InvalidLock(place, [f"line {opened}: a conflict that is not closed"])
    ours.data, theirs.data = b"\n".join(texts["ours"]), b"\n".join(texts["theirs"])
    return ours, theirs


def _by_source(entries: Iterable[E]) -> dict[Source, list[E]]:
    found: dict[Source, list[E]] = defaultdict(list)
    for entry in entries:
        found[entry.source].append(entry)
    return found


def _candidates(entries: Iterable[LockEntry], details: Iterable[DetailsEntry]) -> list[LockedPackage]:
    # Git may have merged one document and left a conflict in the other, so that one side's halves differ.
    pairs = product(entries, details)
    return [join(entry, more) for entry, more in pairs if not disagreement(entry, more)]


def _refuse_contradictions(
    found: Mapping[Source, list[LockedPackage]], details: Mapping[Source, list[DetailsEntry]], place: str
) -> None:
    names = {source: sorted({more.object_name for more in details[source]}) for source in details}
    why = [
        f"{source} is the object {' and also '.join(names[source])}" for source in names if names[source][1:]
    ]
    # A half alone tells either no version or no name.
    why += [
        f"{source}: what Git left of its two entries does not fit together"
        for source in found
        if not found[source] and not names.get(source, [])[1:]
    ]
    if why:
        raise ContradictingLocks(place, sorted(why))


def _rank(package: LockedPackage) -> tuple[bool, Precedence, str]:
    try:
        version = parse_version(package.version_tag or "")
    except InvalidVersion:
        return False, (0, 0, 0, False, ()), package.version
    return True, version.precedence, package.version


def _note(found: list[LockedPackage], chosen: LockedPackage) -> Iterator[str]:
    shown = sorted({f"{package.version} ({package.digest})" for package in found})
    if len(shown) > 1:
        yield f"{chosen.source}: locked to {' and to '.join(shown)}; {chosen.version} is tried first"
