"""Text → Lock: everything is checked before anything is used."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath

from render import __version__
from render.commands import xplock
from render.errors import InvalidInput, RenderError
from render.lean import Any, replace
from render.limits import Limits
from render.lock.model import FORMAT_VERSION, Lock, LockedPackage, Provided
from render.lock.text.documents import (
    DOCUMENTS,
    DetailsEntry,
    E,
    LockDocuments,
    LockEntry,
    LockProblems,
    read_documents,
)
from render.names import revision_name
from render.references import Source, is_digest
from render.system.files import LOCK_FILE
from render.texts import first_lines
from render.yaml.documents import InvalidDocument, Place, lock_rules, parse_documents

_SHOWN_PROBLEMS = 50
_HIGHEST_VERSION = 1_000_000_000
# Git starts a line with seven equal characters; no line of a lock starts like that.
_MARKS = (b"<<<<<<<", b"|||||||", b"=======", b">>>>>>>")
_MARKER = rb"(?m)^(?:<{7}|\|{7}|={7}|>{7})(?: [^\n]*)?\r?$"


class InvalidLock(InvalidInput):
    """A file that is not a valid lock: edited, damaged, or merged by Git into something else."""

    def __init__(self, place: str, problems: Sequence[str]) -> None:
        super().__init__(
            f"{place} is not a valid lock",
            why=first_lines(problems, _SHOWN_PROBLEMS),
            next=[
                "restore it from Git",
                f"or run `{_lock_command(place, '--new')}`, which starts without knowing what is installed",
            ],
        )


def _lock_command(place: str, *options: str) -> str:
    """Return the command for the folder of a lock; one that was read from Git or stdin has none."""
    path = PurePath(place)
    return xplock("lock", *options, folder=path.parent if path.name == LOCK_FILE else ".")


class DoubledLock(InvalidLock):
    """A lock whose only fault is that Git merged the same package into it twice, without a conflict."""


class ConflictedLock(InvalidInput):
    """A lock with conflict markers."""

    def __init__(self, place: str, line: int) -> None:
        super().__init__(
            f"{place} holds a merge conflict",
            why=f"line {line}: a conflict marker",
            next=f"run `{_lock_command(place)}`: it reads both sides and resolves again",
        )


class UnsupportedLock(RenderError):
    """A lock in a format that only a newer xplock reads."""

    def __init__(self, place: str, version: int) -> None:
        super().__init__(
            f"{place} cannot be read by this xplock",
            why=f"it has format version {version}; xplock {__version__} reads version {FORMAT_VERSION}",
            next=f"use a newer xplock, one that reads version {version}",
        )


def parse_lock(data: bytes | str, limits: Limits, *, place: str) -> Lock:
    """Parse a lock; all problems are reported in one error."""
    data = data.encode() if isinstance(data, str) else data
    marker = re.search(_MARKER, data) if any(mark in data for mark in _MARKS) else None
    if marker:
        raise ConflictedLock(place, data.count(b"\n", 0, marker.start()) + 1)
    problems = LockProblems(limits)
    documents = _parse(data, problems, place)
    packages = {package.source: package for package in _join_all(documents, problems)}
    deactivated = {package.cluster_source: package for package in documents.deactivated}
    provided = {package.source: package for package in documents.provided}
    _find_repeated(documents, problems)
    _find_contradictions(documents, packages, problems)
    _raise_problems(problems, data, place)
    return Lock(
        packages,
        documents.inputs,
        documents.revision,
        deactivated,
        provided,
        documents.crds,
        documents.promoted,
    )


def parse_lock_documents(data: bytes, limits: Limits, *, place: str, lines: Sequence[int]) -> LockDocuments:
    """Parse both documents without comparing them; `lines` are those of the file that the text was cut from."""
    problems = LockProblems(limits)
    documents = _parse(data, problems, place, lines)
    _raise_problems(problems, data, place, lines)
    return documents


def disagreement(entry: LockEntry, details: DetailsEntry) -> str:
    """Return why two entries cannot describe the same package; empty if they can."""
    package = details.package
    expected = revision_name(package.object_name, package.digest)
    if entry.name != expected:
        return f"the revision is named {entry.name}; object and digest in LockDetails make it {expected}"
    if is_digest(entry.version) and entry.version != package.digest:
        return f"the version is {entry.version}, the digest in LockDetails {package.digest}"
    if package.tag is not None and not is_digest(entry.version):
        return f"the version is {entry.version}, so LockDetails has no tag to add; it has {package.tag}"
    return ""


def join(entry: LockEntry, details: DetailsEntry) -> LockedPackage:
    """Join the two entries of a package."""
    return replace(details.package, version=entry.version, kind=entry.kind, dependencies=entry.dependencies)


def _parse(data: bytes, problems: LockProblems, place: str, lines: Sequence[int] = ()) -> LockDocuments:
    try:
        documents = parse_documents(data, lock_rules(problems.limits))
    except InvalidDocument as error:
        line = lines[min(error.line, len(lines)) - 1] if lines else error.line
        raise InvalidLock(place, [f"line {line}: {error.problem}"]) from None
    _refuse_newer(documents, place)
    if len(documents) != len(DOCUMENTS):
        found = f"expected two documents, Lock and LockDetails; found {len(documents)}"
        raise InvalidLock(place, [found])
    return read_documents(documents[0], documents[1], problems)


def _refuse_newer(documents: list[Any], place: str) -> None:
    for document in documents:
        if isinstance(document, dict) and document.get("kind") == "LockDetails":
            version = document.get("version")
            if type(version) is int and FORMAT_VERSION < version <= _HIGHEST_VERSION:
                raise UnsupportedLock(place, version)


def _join_all(documents: LockDocuments, problems: LockProblems) -> Iterator[LockedPackage]:
    entries = _by_source(documents.entries, 0, problems)
    details = _by_source(documents.details, 1, problems)
    in_lock, in_details = documents.named
    for source, entry in entries.items():
        if source not in in_details:
            problems.add((0, "packages", entry.index), f"{source} is missing in LockDetails")
        elif source in details:
            problem = disagreement(entry, details[source])
            if problem:
                problems.add((0, "packages", entry.index), f"{source}: {problem}")
            yield join(entry, details[source])
    for source, more in details.items():
        if source not in in_lock:
            problems.add((1, "packages", more.index), f"{source} is missing in Lock")
    _find_namesakes(entries, details, problems)


def _by_source(entries: Iterable[E], document: int, problems: LockProblems) -> dict[Source, E]:
    found: dict[Source, E] = {}
    for entry in entries:
        if entry.source in found:
            problems.add_doubled((document, "packages", entry.index, "source"), entry.source)
        found[entry.source] = entry
    return found


def _find_repeated(documents: LockDocuments, problems: LockProblems) -> None:
    """Find packages that are listed under two sources of the cluster."""
    known: dict[Source, Source] = {}
    for more in documents.details:
        if known.setdefault(more.package.source, more.source) != more.source:
            problems.add_doubled((1, "packages", more.index, "source"), more.package.source)


def _find_contradictions(
    documents: LockDocuments, packages: Mapping[Source, LockedPackage], problems: LockProblems
) -> None:
    """Find objects with two owners, and packages that are in two states at once."""
    owners = {(package.kind, package.object_name): package.cluster_source for package in packages.values()}
    seen = {source for package in packages.values() for source in (package.source, package.cluster_source)}
    wrong = {place[:3] for place, _ in problems.found}
    for place, package in _others(documents):
        if place in wrong:
            continue
        # A deactivated package may be a former alias: its own source may then be that of an active package.
        deactivated = isinstance(package, LockedPackage)
        sources = {package.cluster_source} if deactivated else {package.source, package.cluster_source}
        if sources & seen:
            problems.add_doubled((*place, "source"), min(sources & seen))
        seen |= sources
        other = owners.setdefault((package.kind, package.object_name), package.cluster_source)
        if other != package.cluster_source:
            problems.add((*place, "object"), _namesake(package, other))


def _others(documents: LockDocuments) -> Iterator[tuple[Place, LockedPackage | Provided]]:
    for i, package in enumerate(documents.deactivated):
        yield (1, "deactivated", i), package
    for i, provided in enumerate(documents.provided):
        yield (1, "provided", i), provided


def _find_namesakes(
    entries: Mapping[Source, LockEntry], details: Mapping[Source, DetailsEntry], problems: LockProblems
) -> None:
    owners: dict[tuple[str, str], Source] = {}
    for source in sorted(entries.keys() & details.keys(), key=str):
        entry, more = entries[source], details[source]
        other = owners.setdefault((entry.kind, more.package.object_name), source)
        if other != source:
            problem = _namesake(join(entry, more), other)
            problems.add((1, "packages", more.index, "object"), problem)


def _namesake(package: LockedPackage | Provided, other: Source) -> str:
    return f"the {package.kind} {package.object_name} also belongs to {other}"


def _raise_problems(problems: LockProblems, data: bytes, place: str, lines: Sequence[int] = ()) -> None:
    if problems:
        error = DoubledLock if problems.doubled == len(problems) else InvalidLock
        raise error(place, problems.with_lines(data, lines))
