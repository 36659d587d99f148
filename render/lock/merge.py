"""A lock with Git's conflict markers → one lock to start from; versions are resolved again, names must agree.

Of both sides are kept: every package with its pin and its object name. Still to come here, each as a union:
packages that are leaving, pins of earlier versions, recorded moves and stale entries.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

from render.errors import Unsatisfiable
from render.limits import Limits
from render.lock.findings import InvalidLock
from render.lock.halves import Halves
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
    """Read both sides of a lock with conflict markers."""
    ours, theirs = [
        parse_halves(side.data, limits, place=place, lines=side.lines) for side in _split(data, place)
    ]
    _check_names(ours, theirs, place)
    packages: dict[Source, LockedPackage] = {}
    notes: list[str] = []
    lost: list[str] = []
    for source in sorted(_sources(ours) | _sources(theirs), key=str):
        found = list(_candidates(source, ours, theirs))
        if found:
            packages[source] = max(found, key=_rank)
            notes += _note(found, packages[source])
        else:
            lost.append(f"{source}: one side dropped it, and of the other's entry only half is left")
    if lost:
        raise ContradictingLocks(place, lost)
    inputs = {**theirs.inputs, **ours.inputs}
    return MergedLock(Lock(packages, inputs, max(ours.revision, theirs.revision)), tuple(notes))


def _split(data: bytes, place: str) -> tuple[_Side, _Side]:
    ours, theirs = _Side(), _Side()
    texts: Mapping[str, list[bytes]] = {"ours": [], "theirs": []}
    state, opened = "both", 0
    for number, line in enumerate(data.split(b"\n"), start=1):
        marker = line[:7] if line.rstrip(b"\r")[7:8] in (b"", b" ") else b""
        # The common ancestor of a recursive merge may hold markers of its own; none of it matters here.
        if marker in (_OPEN, _BASE, _MIDDLE, _CLOSE) and (state != "base" or marker == _MIDDLE):
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


def _check_names(ours: Halves, theirs: Halves, place: str) -> None:
    contradictions = [
        f"{source} is the object {here.object_name} on one side and {there.object_name} on the other"
        for source, here in sorted(ours.details.items(), key=str)
        if (there := theirs.details.get(source)) and there.object_name != here.object_name
    ]
    if contradictions:
        raise ContradictingLocks(place, contradictions)


def _sources(side: Halves) -> set[Source]:
    return {*side.entries, *side.details}


def _candidates(source: Source, ours: Halves, theirs: Halves) -> Iterator[LockedPackage]:
    """Yield what a source is locked to; Git may have merged one document and left a conflict in the other."""
    entries = [side.entries[source] for side in (ours, theirs) if source in side.entries]
    details = [side.details[source] for side in (ours, theirs) if source in side.details]
    for entry, more in product(entries, details):
        if not disagreement(entry, more):
            yield join(entry, more)


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
