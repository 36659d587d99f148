"""Values of the simulation: entries of a Lock as Crossplane writes them, the steps it takes, and where it ends."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from render.packages import Package
from render.references import Digest, Source


class Flag(StrEnum):
    """The alpha flags of Crossplane that change how it picks versions; the second one implies the first."""

    UPGRADES = "upgrades"
    DOWNGRADES = "downgrades"


@dataclass(frozen=True, slots=True)
class LockDependency:
    """A dependency as Crossplane's Lock holds it: texts, which it compares as they are."""

    package: str
    constraints: str
    kind: str = "Provider"
    # Only the explicit form of a dependency has one.
    api_version: str | None = None

    def __str__(self) -> str:
        return f"{self.package} {self.constraints}".rstrip()


@dataclass(frozen=True, slots=True)
class LockEntry:
    """A package in Crossplane's Lock."""

    source: str
    version: str
    kind: str
    object_name: str
    dependencies: tuple[LockDependency, ...] = ()
    # Unknown for an entry that was there before.
    digest: Digest | None = None

    def __str__(self) -> str:
        return f"{self.source} {self.version}"


@dataclass(frozen=True, slots=True)
class AppliedRoot:
    """A package object that the user applies."""

    source: Source
    version: str
    # Empty: the kind in the package's own metadata.
    kind: str = ""
    # Empty: the derived name.
    object_name: str = ""


class Action(StrEnum):
    """What happens to a package object."""

    APPLIED = "applied"
    CREATED = "created"
    UPDATED = "updated"


@dataclass(frozen=True, slots=True)
class Pick:
    """One step: a version that the user applies, or that one dependency decides."""

    action: Action
    source: str
    version: str
    # Without a dependant, the user applies it.
    dependant: str = ""
    constraints: str = ""


@dataclass(frozen=True, slots=True)
class Stop:
    """Where Crossplane stops for good, and why; everything behind it waits."""

    why: str
    # What its Lock says meanwhile; True does not mean that all is well.
    resolved: bool
    dependant: str = ""
    dependency: LockDependency | None = None


@dataclass(frozen=True, slots=True)
class Unhealthy:
    """A package that stays unhealthy."""

    source: str
    version: str
    why: tuple[str, ...]
    # Whether its revision is in the Lock.
    locked: bool = True


@dataclass(frozen=True, slots=True)
class CrossplaneAnswer:
    """What Crossplane settles on."""

    picks: Sequence[Pick]
    entries: Sequence[LockEntry]
    unhealthy: Sequence[Unhealthy]
    stop: Stop | None = None

    @property
    def resolved(self) -> bool:
        """The condition `Resolved` of its Lock."""
        return self.stop is None or self.stop.resolved

    def version_of(self, source: str) -> str | None:
        """Return the version of a source; None if it is not in the Lock."""
        return next((entry.version for entry in self.entries if entry.source == source), None)


def read_dependencies(package: Package) -> tuple[LockDependency, ...]:
    """Return the dependencies of a package as its entry in the Lock has them."""
    return tuple(
        LockDependency(one.package, one.constraint.text, one.kind or "Provider", one.api_version)
        for one in package.metadata.dependencies
    )
