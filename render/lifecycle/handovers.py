"""One installed package making room for others: what is known about it, and what was decided."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from render.lock.model import Lock, LockedPackage, Provided, named_source
from render.moves import Move, Strategy
from render.names import object_name
from render.references import Source
from render.requests import Root
from render.settings import Settings


@dataclass(frozen=True, slots=True)
class Handover:
    """One installed package that makes room."""

    old: LockedPackage
    move: Move
    strategy: Strategy

    @property
    def target(self) -> Source:
        """The package that takes over the object, where only one can."""
        return self.move.targets[0]

    @property
    def keeps_object(self) -> bool:
        """Whether the old object goes on, with other content."""
        return self.strategy in (Strategy.ALIAS, Strategy.REPOINT)


@dataclass(frozen=True, slots=True)
class Situation:
    """What a choice of strategies is made from."""

    before: Lock
    # The new packages, orphans included, with the names they would have without any move.
    draft: Lock
    moves: Mapping[Source, Move]
    roots: Mapping[Source, Root]
    settings: Settings
    # Reasons to detach that a lock does not show by itself.
    known: Mapping[Source, Sequence[str]]
    # Locks of folders that use this one; their packages are dependants too.
    users: Sequence[Lock] = ()
    # What folders that this one uses have.
    provided: Mapping[Source, Provided] = field(default_factory=dict)

    def find(self, target: Source) -> LockedPackage | Provided | None:
        """Return the package that takes over, wherever it is."""
        return self.draft.packages.get(target) or self.provided.get(target)


def share_name(old: LockedPackage, new: Source) -> bool:
    """Tell whether Crossplane would give an object of either source the same name."""
    return object_name(old.cluster_source) == object_name(new)


def depends_on(package: LockedPackage, source: Source) -> bool:
    """Tell whether a package names a source among its dependencies."""
    return any(named_source(dependency, package.source) == source for dependency in package.dependencies)
