"""The packages of a lock that bring definitions, and those that are the same in both locks."""

from collections.abc import Iterator

from render.lean import dataclass
from render.lock.model import Lock, LockedPackage, Provided, State
from render.packages import Kind
from render.references import Digest, Source
from render.xpkg.definitions import COMPOSITION, CRD, MRD, XRD

_WITH_FACTS = frozenset({CRD, MRD, XRD, COMPOSITION})


@dataclass(frozen=True, slots=True)
class Bringer:
    """A package of a lock, as far as a comparison of definitions looks at it."""

    source: Source
    digest: Digest
    version: str
    kind: Kind
    object_name: str
    # The source that people know it by.
    name: str
    is_active: bool = True
    definitions_digest: str = ""
    # The API groups in which it defines kinds; None if that is unknown.
    groups: tuple[str, ...] | None = None
    # Whether it brings no definition and no Composition, and whether it may bring Compositions.
    is_empty: bool = False
    has_compositions: bool = True

    @property
    def place(self) -> tuple[str, str, bool]:
        """What makes it the same package in another lock."""
        return self.name, self.object_name, self.is_active

    def may_define_in(self, group: str) -> bool:
        """Return whether it may bring a definition of a group."""
        return not self.is_empty and (self.groups is None or group in self.groups)

    def is_same(self, other: "Bringer") -> bool:
        """Return whether digests settle that both bring the same definitions."""
        both_known = self.definitions_digest and self.definitions_digest == other.definitions_digest
        return self.digest == other.digest or bool(both_known) or (self.is_empty and other.is_empty)


@dataclass(frozen=True, slots=True)
class Bringers:
    """The packages of two locks, apart from those that digests settle."""

    old: tuple[Bringer, ...]
    new: tuple[Bringer, ...]
    # The packages that bring the same in both locks, as they are in the new one.
    settled: tuple[Bringer, ...]


def pair_bringers(old: Lock, new: Lock) -> Bringers:
    """Return the packages of two locks that have to be compared."""
    before = {one.place: one for one in _bringers(old, new)}
    after = {one.place: one for one in _bringers(new, old)}
    settled = {place for place, one in after.items() if place in before and before[place].is_same(one)}
    return Bringers(
        tuple(one for place, one in before.items() if place not in settled),
        tuple(one for place, one in after.items() if place not in settled),
        tuple(one for place, one in after.items() if place in settled),
    )


def _bringers(lock: Lock, other: Lock) -> Iterator[Bringer]:
    for package in lock.installed():
        yield _from_package(package)
    # What another folder provides matters here if this folder brings it in the other lock.
    installed = {package.cluster_source for package in other.installed()}
    for provided in lock.provided.values():
        if provided.cluster_source in installed:
            yield _from_provided(provided)


def _from_package(package: LockedPackage) -> Bringer:
    # A lock of an earlier xplock says nothing about groups.
    counted = bool(package.objects_digest)
    return Bringer(
        package.source,
        package.digest,
        package.version,
        package.kind,
        package.object_name,
        str(package.display_source),
        package.state is not State.DEACTIVATED,
        package.definitions_digest,
        package.groups if package.groups else None,
        counted and not _WITH_FACTS & package.objects.keys(),
        not counted or COMPOSITION in package.objects,
    )


def _from_provided(provided: Provided) -> Bringer:
    return Bringer(
        provided.source,
        provided.digest,
        provided.version,
        provided.kind,
        provided.object_name,
        str(provided.display_source),
    )
