"""What the search prefers and must respect: the versions of the last lock, upgrades, orphans, and other folders."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from render.crd_dependencies import CrdAnswer
from render.errors import InvalidInput
from render.folders.neighbours import NamedLocks
from render.lock.candidates import installed_candidate, locked_candidate
from render.lock.lookup import find_source
from render.lock.model import Lock, LockedPackage, named_source
from render.moves import Move
from render.packages import Package
from render.references import Digest, Reference, Source
from render.registry.offline import CachedTags, Offline
from render.resolve.model import Bound, Candidate, Catalog, Edge
from render.versions.constraints import parse_constraint
from render.versions.requests import Request
from render.versions.version import parse_candidate
from render.xpkg.definitions import Definitions


@dataclass(frozen=True, slots=True)
class Upgrade:
    """Which locked versions may change although they still fit."""

    everything: bool = False
    # SRC, or SRC=VERSION with the version or range that it has to move to.
    packages: Mapping[Source, Request | None] = field(default_factory=dict)

    def frees(self, package: LockedPackage, families: Collection[str | None]) -> bool:
        """Return whether a package may have its newest version; the members of these families move together."""
        return self.everything or package.source in self.packages or package.family in families


def parse_upgrade(
    texts: Sequence[str], lock: Lock, *, everything: bool, folder: str | PurePath = "."
) -> Upgrade:
    """Parse the values of -P; a source may be shortened to its last components while that is unambiguous."""
    packages: dict[Source, Request | None] = {}
    for text in texts:
        name, equals, version = text.partition("=")
        packages[find_source(name, lock, folder=folder)] = _parse_version(version, text) if equals else None
    return Upgrade(everything, packages)


def kept_candidates(lock: Lock, upgrade: Upgrade) -> tuple[dict[Source, Candidate], dict[Source, Candidate]]:
    """Return the locked candidates that stay while they fit, and those that an upgrade frees."""
    families = _upgraded_families(lock, upgrade)
    newest = {family for family, leaders in families.items() if not leaders}
    kept: dict[Source, Candidate] = {}
    freed: dict[Source, Candidate] = {}
    # A deactivated package that is asked for again returns as it was.
    returning = {package.source: package for package in lock.deactivated.values()}
    for source, package in {**returning, **lock.packages}.items():
        target = freed if upgrade.frees(package, newest) else kept
        target[source] = locked_candidate(package)
    return kept, freed


def family_followers(lock: Lock, upgrade: Upgrade) -> dict[Source, tuple[Source, ...]]:
    """Return the members of families that follow others to a version, with those."""
    families = _upgraded_families(lock, upgrade)
    return {
        source: leaders
        for source, package in lock.packages.items()
        if package.family and source not in upgrade.packages and (leaders := families.get(package.family))
    }


def pinned_digests(lock: Lock, kept: Mapping[Source, Candidate]) -> dict[Reference, Digest]:
    """Return the digests behind the tags that stay."""
    locked = {package.source: package for package in (*lock.deactivated.values(), *lock.packages.values())}
    return {
        Reference(source, candidate.tag): locked[source].digest
        for source, candidate in kept.items()
        if candidate.tag is not None
    }


def promoted_candidates(packages: Mapping[Source, LockedPackage]) -> dict[Source, Candidate]:
    """Return the candidates that another folder has locked."""
    return {source: locked_candidate(package) for source, package in packages.items()}


def promoted_digests(packages: Mapping[Source, LockedPackage]) -> dict[Reference, Digest]:
    """Return the digests behind the tags that another folder has locked."""
    return {
        Reference(source, package.version_tag): package.digest
        for source, package in packages.items()
        if package.version_tag is not None
    }


def promoted_bounds(
    packages: Mapping[Source, LockedPackage], origin: str, provided: Collection[Source]
) -> Iterator[Bound]:
    """Yield bounds that allow exactly these versions; what a used folder provides is promoted there."""
    for source, candidate in promoted_candidates(packages).items():
        if source not in provided:
            request = Request(digest=candidate.digest) if candidate.digest else Request(tag=candidate.tag)
            yield Bound(Edge(source, request, None, f"promoted from {origin}"))


def orphan_bounds(orphans: Mapping[Source, LockedPackage], moves: Mapping[Source, Move]) -> Iterator[Bound]:
    """Yield the constraints of orphans: they are active, and still depend on other packages."""
    for _, orphan in sorted(orphans.items()):
        yield from _bounds(orphan, moves, "an orphaned package")


def folder_bounds(using: NamedLocks, before: Lock, moves: Mapping[Source, Move]) -> Iterator[Bound]:
    """Yield the constraints of packages in folders that use this one; a constraint that fails today binds nothing."""
    for folder, lock in using:
        for package in lock.in_order():
            for bound in _bounds(package, moves, f"in {folder}"):
                known = before.packages.get(bound.edge.source)
                if known is None or installed_candidate(known).answers(bound.edge.request):
                    yield bound


@dataclass(frozen=True, slots=True)
class LockedTags:
    """A catalog for working offline: of a source without a layout, the tags in the lock and the cache are known."""

    catalog: Catalog
    lock: Lock
    # The sources that may have more tags than are known here.
    incomplete: set[Source] = field(default_factory=set, init=False)

    def tags(self, source: Source) -> Sequence[str]:
        """Return all known tags of a source."""
        locked = self.lock.packages.get(source)
        try:
            found = self.catalog.tags(source)
        except Offline:
            if locked is None:
                raise
            found = CachedTags()
        if not isinstance(found, CachedTags):
            return found
        self.incomplete.add(source)
        return sorted({*found, *([locked.version_tag] if locked and locked.version_tag else [])})

    def package(self, reference: Reference) -> Package:
        """Return the package that a reference names."""
        return self.catalog.package(reference)

    def definitions(self, reference: Reference) -> Definitions:
        """Return the definitions of the package that a reference names."""
        return self.catalog.definitions(reference)


@dataclass(frozen=True, slots=True)
class LockedVersions:
    """A catalog for confirming a lock: of a locked source, only the locked tag is known."""

    catalog: Catalog
    lock: Lock

    def tags(self, source: Source) -> Sequence[str]:
        """Return the locked tag of a source; all tags, if it is not locked or has none."""
        locked = self.lock.packages.get(source)
        tag = locked.version_tag if locked else None
        return [tag] if tag else self.catalog.tags(source)

    def package(self, reference: Reference) -> Package:
        """Return the package that a reference names."""
        return self.catalog.package(reference)

    def definitions(self, reference: Reference) -> Definitions:
        """Return the definitions of the package that a reference names."""
        return self.catalog.definitions(reference)


def _bounds(package: LockedPackage, moves: Mapping[Source, Move], place: str) -> Iterator[Bound]:
    for dependency in package.dependencies:
        named = named_source(dependency, package.source)
        request = Request.of(parse_constraint(dependency.constraints))
        for target in moves[named].targets if named in moves else (named,):
            instead_of = named if target != named else None
            edge = Edge(target, request, package.source, place, instead_of=instead_of)
            yield Bound(edge, locked_candidate(package))
    for answer in package.crds:
        if answer.source != package.source:
            yield Bound(_crd_edge(package, answer, place), locked_candidate(package))


def _crd_edge(package: LockedPackage, answer: CrdAnswer, place: str) -> Edge:
    """Return the edge by which a package still needs what a CRD is answered by."""
    request = Request.of(parse_constraint(answer.versions)) if answer.versions else Request()
    free = not answer.versions
    return Edge(answer.source, request, package.source, place, crd=answer.crd, accepts_all=free)


def _upgraded_families(lock: Lock, upgrade: Upgrade) -> dict[str, tuple[Source, ...]]:
    """Return the families of upgraded packages, with the members that are upgraded to a version."""
    families: dict[str, tuple[Source, ...]] = {}
    for source, request in upgrade.packages.items():
        family = lock.packages[source].family if source in lock.packages else None
        if family:
            families[family] = (*families.get(family, ()), *([source] if request else []))
    return families


def _parse_version(version: str, option: str) -> Request:
    if parse_candidate(version):
        return Request(tag=version)
    try:
        return Request.of(parse_constraint(version))
    except InvalidInput as error:
        error.what = f"-P {option}: {error.what}"
        raise
