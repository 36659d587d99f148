"""Versions of one package in several folders: which lock is behind another one, and in what."""

from collections.abc import Collection
from enum import StrEnum

from render.lock.graph import LockGraph, reach
from render.lock.merge import rank
from render.lock.model import Lock, LockedPackage, State
from render.references import Source


class Standing(StrEnum):
    """How a package stands beside the same one of another folder."""

    EQUAL = "equal"
    BEHIND = "behind"
    AHEAD = "ahead"
    # Other bytes under the same version, or versions that cannot be compared.
    OTHER = "other"

    @property
    def lacks_something(self) -> bool:
        """Whether the other folder has something that this one does not."""
        return self in (Standing.BEHIND, Standing.OTHER)


def standing_of(package: LockedPackage, other: LockedPackage) -> Standing:
    """Return how a package stands beside the same one of another folder."""
    if package.digest == other.digest:
        return Standing.EQUAL
    (is_version, own, _), (other_is_version, theirs, _) = rank(package), rank(other)
    if not (is_version and other_is_version) or own == theirs:
        return Standing.OTHER
    return Standing.BEHIND if own < theirs else Standing.AHEAD


def wanted_of(lock: Lock) -> dict[Source, LockedPackage]:
    """Return the packages of a lock that are not leaving: what its folder has decided on."""
    return {source: one for source, one in lock.packages.items() if one.state is State.WANTED}


def with_needed(lock: Lock, sources: Collection[Source]) -> dict[Source, LockedPackage]:
    """Return packages of a lock with all that they need."""
    needed = reach(sources, LockGraph(lock).dependencies)
    return {source: one for source, one in wanted_of(lock).items() if source in needed}


def same_versions(before: Lock, after: Lock) -> bool:
    """Return whether two locks want the same bytes by the same versions."""
    return _versions(before) == _versions(after)


def _versions(lock: Lock) -> dict[Source, tuple[str, str]]:
    return {source: (one.version, one.digest) for source, one in wanted_of(lock).items()}
