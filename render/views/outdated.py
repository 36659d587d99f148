"""Locked packages with newer versions: those that every dependant accepts, and the newest of all."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from render.lock.candidates import installed_candidate
from render.lock.model import Lock, LockedPackage, State
from render.lock.stale_entries import stale_bounds
from render.references import Source
from render.resolve.model import Bound, Candidate
from render.texts import first_names, visible
from render.versions.requests import Request
from render.versions.semantic import Step, order_candidates, step_between
from render.versions.version import Version
from render.views.closure.links import Closure, Link, read_closure, root_request
from render.views.labels import format_locked, format_step, step_document

_HEADER = ("SOURCE", "LOCKED", "WANTED", "LATEST", "STEP", "HELD BACK BY")
_NOTHING = "-"
_SHOWN_HOLDERS = 3


@dataclass(frozen=True, slots=True)
class Holder:
    """A dependant, or the user, that does not accept the latest version."""

    # None: the user.
    source: Source | None
    accepts: str

    def __str__(self) -> str:
        return f"{self.source or 'you'} ({self.accepts})"


@dataclass(frozen=True, slots=True)
class Standing:
    """A locked package beside the versions of its source."""

    package: LockedPackage
    # None: locked to a tag that is not a version, or to a digest without a known tag.
    locked: Version | None
    # The newest version that every dependant accepts, and the newest of all; the locked one if none is newer.
    wanted: Version | None
    latest: Version | None
    holders: tuple[Holder, ...] = ()

    @property
    def newer_within(self) -> bool:
        """Whether `xplock lock -U` may choose a newer version."""
        return _is_newer(self.wanted, self.locked)

    @property
    def newer_beyond(self) -> bool:
        """Whether there is a newer version that a dependant or the user does not accept."""
        return _is_newer(self.latest, self.wanted)

    @property
    def is_outdated(self) -> bool:
        """Whether there is a newer version."""
        return self.newer_within or self.newer_beyond

    @property
    def step(self) -> Step | None:
        """The size of the step to the newest version that every dependant accepts."""
        return self._step_to(self.wanted) if self.newer_within else None

    @property
    def latest_step(self) -> Step | None:
        """The size of the step to the newest version of all."""
        return self._step_to(self.latest) if self.is_outdated else None

    def _step_to(self, version: Version | None) -> Step | None:
        return step_between(self.locked.text, version.text) if self.locked and version else None


@dataclass(frozen=True, slots=True)
class _Asker:
    """The user or a dependant, and the versions that it accepts."""

    holder: Holder
    requests: Sequence[Request]
    link: Link | None = None

    def accepts(self, version: Version) -> bool:
        candidate = Candidate(version.text, version)
        return all(candidate.answers(request) for request in self.requests)


@dataclass(frozen=True, slots=True)
class _Asking:
    """The user and the dependants of each package, with what they accept."""

    closure: Closure
    # Packages that stale entries of the cluster's Lock name: their versions must not change yet.
    held: Mapping[Source, Bound]

    def askers(self, package: LockedPackage) -> Iterator[_Asker]:
        request = root_request(package)
        if request is not None:
            yield _Asker(Holder(None, str(request)), [request])
        for link in self.closure.dependants[package.source]:
            yield _Asker(Holder(link.dependant.source, str(link)), link.requests, link)
        bound = self.held.get(package.source)
        if bound:
            yield _Asker(Holder(bound.edge.dependant, "in the cluster's Lock"), [bound.edge.request])


def find_standings(
    lock: Lock, tags: Mapping[Source, Iterable[str]], *, follow_families: bool = True
) -> list[Standing]:
    """Compare every active package with the tags of its source; leaving packages keep their versions."""
    asking = _Asking(read_closure(lock), {bound.edge.source: bound for bound in stale_bounds(lock)})
    known = {source: order_candidates(of_source) for source, of_source in tags.items()}
    packages = wanted_packages(lock)
    wanted = {p.source: _wanted(asking, p, known[p.source]) for p in packages}
    majors = {p.source: _family_majors(asking, p, wanted) if follow_families else {} for p in packages}
    return [_standing(asking, p, known[p.source], majors[p.source]) for p in packages]


def wanted_packages(lock: Lock) -> list[LockedPackage]:
    """Return the packages that can be upgraded."""
    return [package for package in lock.in_order() if package.state is State.WANTED]


def format_standings(standings: Iterable[Standing]) -> str:
    """Write the table; empty without rows, and without the last column if nothing is held back."""
    rows = [_HEADER, *(_cells(standing) for standing in standings)]
    if len(rows) == 1:
        return ""
    # An empty column would wrap the header on a narrow terminal.
    columns = range(len(_HEADER) if any(row[-1] for row in rows[1:]) else len(_HEADER) - 1)
    widths = [max(len(row[i]) for row in rows) for i in columns]
    padded = ("  ".join(f"{row[i]:<{widths[i]}}" for i in columns) for row in rows)
    return "".join(f"{line.rstrip()}\n" for line in padded)


def standings_document(standings: Iterable[Standing]) -> dict[str, Any]:
    """Return the table as JSON values."""
    return {"packages": [_document(standing) for standing in standings]}


def _document(standing: Standing) -> dict[str, Any]:
    package = standing.package
    return {
        "source": str(package.source),
        "kind": package.kind,
        "locked": package.version,
        "tag": package.version_tag,
        "digest": package.digest,
        "wanted": standing.wanted.text if standing.wanted else None,
        "latest": standing.latest.text if standing.latest else None,
        **step_document(standing.step),
        "latestStep": standing.latest_step.word if standing.latest_step else None,
        "latestMayBreak": standing.latest_step is not None and standing.latest_step.may_break,
        "newerWithinConstraints": standing.newer_within,
        "newerBeyondConstraints": standing.newer_beyond,
        "heldBackBy": [
            {"source": str(holder.source) if holder.source else None, "accepts": holder.accepts}
            for holder in standing.holders
        ],
    }


def _cells(standing: Standing) -> tuple[str, str, str, str, str, str]:
    holders = [visible(str(holder)) for holder in standing.holders]
    # The step to WANTED, and the one to LATEST if it is another.
    steps = dict.fromkeys(step for step in (standing.step, standing.latest_step) if step)
    return (
        visible(str(standing.package.source)),
        format_locked(standing.package),
        visible(standing.wanted.text) if standing.wanted else _NOTHING,
        visible(standing.latest.text) if standing.latest else _NOTHING,
        ", ".join(map(format_step, steps)) or _NOTHING,
        first_names(holders, _SHOWN_HOLDERS),
    )


def _standing(
    asking: _Asking, package: LockedPackage, versions: Sequence[Version], majors: Mapping[Source, int]
) -> Standing:
    wanted = _wanted(asking, package, versions, set(majors.values()))
    latest = _newest((version for version in versions if not version.is_prerelease), wanted)
    holders = tuple(_holders(asking, package, latest, majors)) if latest and latest != wanted else ()
    return Standing(package, installed_candidate(package).version, wanted, latest, holders)


def _wanted(
    asking: _Asking, package: LockedPackage, versions: Iterable[Version], majors: set[int] | None = None
) -> Version | None:
    askers = list(asking.askers(package))
    accepted = [version for version in versions if all(asker.accepts(version) for asker in askers)]
    # As the solver does: a family package keeps the major version of its members, if it has one.
    followed = [version for version in accepted if version.major in (majors or ())]
    return _newest(followed or accepted, installed_candidate(package).version)


def _holders(
    asking: _Asking, package: LockedPackage, latest: Version, majors: Mapping[Source, int]
) -> Iterator[Holder]:
    for asker in asking.askers(package):
        major = majors.get(asker.link.dependant.source) if asker.link else None
        if not asker.accepts(latest):
            yield asker.holder
        elif major not in (None, latest.major):
            yield Holder(asker.holder.source, f"same family, v{major}")


def _family_majors(
    asking: _Asking, package: LockedPackage, wanted: Mapping[Source, Version | None]
) -> dict[Source, int]:
    """Return the major versions of a family's members, if this is the family package."""
    members = [
        link.dependant
        for link in asking.closure.dependants[package.source]
        if link.dependant.family == package.source.name
    ]
    # A leaving member keeps its version.
    versions = {
        member.source: wanted.get(member.source, installed_candidate(member).version) for member in members
    }
    return {source: version.major for source, version in versions.items() if version}


def _newest(versions: Iterable[Version], floor: Version | None) -> Version | None:
    best = max(versions, key=lambda version: version.rank, default=None)
    return best if _is_newer(best, floor) or floor is None else floor


def _is_newer(one: Version | None, other: Version | None) -> bool:
    return one is not None and other is not None and one > other
