"""Locked packages with newer versions: those that every dependant accepts, and the newest of all."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from render.definitions.model import Comparison
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
from render.views.definitions.groups import count_by_risk, format_counts
from render.views.definitions.lines import classes_document
from render.views.definitions.missing import format_not_compared
from render.views.fitting import format_table, short_digests, short_names
from render.views.labels import format_locked, format_step, step_document

_NOTHING = "-"
_SHOWN_HOLDERS = 3


@dataclass(frozen=True, slots=True)
class Holder:
    """A dependant, or the user, that does not accept the latest version."""

    # None: the user.
    source: Source | None
    accepts: str

    def told(self, names: Mapping[Source, str]) -> str:
        """Return it as a few words, by the names that packages have beside each other."""
        name = names.get(self.source, str(self.source)) if self.source else "you"
        return f"{name} ({short_digests(self.accepts)})"


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
    # What the upgrade that is available does to definitions; None without an upgrade, or without --definitions.
    definitions: Comparison | None = None

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


def format_standings(standings: Sequence[Standing], *, everyone: bool = False) -> str:
    """Write what can be upgraded now, and what is held back and by whom: the first few, or everyone."""
    names = _names(standings)

    def holders(one: Standing) -> str:
        told = [visible(holder.told(names)) for holder in one.holders]
        return f"by {first_names(told, len(told) if everyone else _SHOWN_HOLDERS)}" if told else ""

    newer = [one for one in standings if one.newer_within]
    held = [one for one in standings if one.newer_beyond]
    others = [one for one in standings if not one.is_outdated]
    blocks = [
        _table("Can be upgraded now", "TO", newer, _wanted_cells, _definitions),
        _table("Held back", "LATEST", held, _latest_cells, holders),
        _table("Nothing newer known", "", others, _locked_cells),
    ]
    return "\n".join("".join(f"{line}\n" for line in block) for block in blocks if block)


def _table(
    title: str,
    target: str,
    standings: Sequence[Standing],
    cells: Callable[[Standing], tuple[str, str]],
    note: Callable[[Standing], str] = lambda _: "",
) -> list[str]:
    known = {str(one.package.source): one for one in standings}
    rows = {name: (format_locked(one.package), *cells(one)) for name, one in known.items()}
    header = ("LOCKED", target, "STEP" if target else "")
    return [title, *format_table(header, rows, lambda source: note(known[source]))] if rows else []


def _definitions(standing: Standing) -> str:
    """Say how many definitions of each class the upgrade changes, and what is not compared."""
    compared = standing.definitions
    if compared is None:
        return ""
    counts = format_counts(count_by_risk(compared.findings))
    told = [*([counts] if counts else []), *format_not_compared(compared, ())]
    return f"definitions: {'; '.join(told) or 'no change'}"


def _names(standings: Iterable[Standing]) -> dict[Source, str]:
    """Return how the packages and those who hold them back are called beside each other."""
    sources = {one.package.source for one in standings}
    sources |= {holder.source for one in standings for holder in one.holders if holder.source}
    short = short_names(sorted(map(str, sources)))
    return {source: short[str(source)] for source in sources}


def _wanted_cells(standing: Standing) -> tuple[str, str]:
    return _cells(standing.wanted, standing.step)


def _latest_cells(standing: Standing) -> tuple[str, str]:
    return _cells(standing.latest, standing.latest_step)


def _locked_cells(_standing: Standing) -> tuple[str, str]:
    return "", ""


def _cells(version: Version | None, step: Step | None) -> tuple[str, str]:
    return visible(version.text) if version else _NOTHING, format_step(step) if step else _NOTHING


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
        **(classes_document(standing.definitions) if standing.definitions is not None else {}),
    }


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
