"""The states of a package object, the events that change them, and the values that a plan is made of."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from render.commands import LockCall
from render.folders.neighbours import NO_NEIGHBOURS, Neighbours
from render.lean import replace
from render.live.installed import NOTHING_INSTALLED
from render.live.lock import LiveLock
from render.lock.model import Lock, LockedPackage, Provided, State
from render.moves import Move, Strategy
from render.policy.judge import Judge
from render.references import Source
from render.resolve.model import Resolution
from render.settings import Settings
from render.versions.requests import CrdRoot, Root

if TYPE_CHECKING:
    from render.lifecycle.ownership import InstalledObjects


# What to do about a folder whose last package is gone.
NOTHING_LEFT = (
    "no package is left; a folder without other objects is not rendered any more, since an empty set never is: delete "
    "its Application, which deletes what the cluster still has of it, and remove the folder"
)


class Event(StrEnum):
    """What happens to an object between two locks."""

    INSTALL = "install"
    KEEP = "keep"
    UPGRADE = "upgrade"
    ALIAS = "alias"
    REPOINT = "repoint"
    DEACTIVATE = "deactivate"
    # No package and no root requires it any more.
    ORPHAN = "orphan"
    # Leaving before, and asked for again.
    RETURN = "return"
    # Out of the lock without `retire`: it has no guard, or another folder provides it from now on.
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class Transition:
    """One object of the cluster, in the lock before and in the lock after."""

    before: LockedPackage | None
    event: Event
    after: LockedPackage | None
    move: Move | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """Everything besides the answer that a lock depends on."""

    before: Lock = field(default_factory=Lock)
    settings: Settings = field(default_factory=Settings)
    # One entry for each input, with its digest.
    record: Mapping[str, str] = field(default_factory=dict)
    neighbours: Neighbours = NO_NEIGHBOURS
    # The cluster's Lock, given by the user where packages were installed before they were locked.
    live: LiveLock = NOTHING_INSTALLED
    # The policies that versions had to satisfy.
    judge: Judge = field(default_factory=Judge)
    # Fetches the objects of installed packages; without it they are not compared.
    objects: "InstalledObjects | None" = None
    # Whether a package may leave although its installed objects cannot be fetched any more.
    accept_unknown_objects: bool = False
    # The folder, as the user writes it, and the command; advice repeats both.
    folder: str = "."
    call: LockCall = field(default_factory=LockCall)
    # The places of the roots that the lock before does not answer.
    new_roots: tuple[str, ...] = ()
    # The CRDs that the user asks for.
    crd_roots: tuple[CrdRoot, ...] = ()

    @property
    def guard(self) -> bool:
        """Whether packages that leave are kept as orphans.

        A guard that is off in the settings is still on in the cluster, so Argo CD would leave behind every package
        that this lock drops.
        """
        return self.settings.guard or was_guarded(self.before)


@dataclass(frozen=True, slots=True)
class StableResolution:
    """An answer, with the moves and orphans that it was made with and that follow from it."""

    resolution: Resolution
    # By the source that was replaced.
    moves: Mapping[Source, Move] = field(default_factory=dict)
    # Installed packages that are not required any more; without a guard there are none.
    orphans: Mapping[Source, LockedPackage] = field(default_factory=dict)
    # The `moves` entries of the settings, as they are written there.
    entries: tuple[Move, ...] = ()
    # Moves of Functions that keep an object each, so that nothing is replaced.
    separate: Mapping[Source, Move] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer as a lock in which no object has changed hands yet; strategies are chosen by it."""

    answer: StableResolution
    context: Context
    # The new packages, orphans included, with the names that they would have without any move.
    lock: Lock
    roots: Mapping[Source, Root]
    # Reasons to detach that a lock does not show by itself.
    known_reasons: Mapping[Source, Sequence[str]]

    @property
    def before(self) -> Lock:
        """The lock before."""
        return self.context.before

    @property
    def moves(self) -> Mapping[Source, Move]:
        """All moves, by the source that was replaced."""
        return self.answer.moves

    @property
    def provided(self) -> Mapping[Source, Provided]:
        """The packages of used folders."""
        return self.context.neighbours.provided

    def find(self, source: Source) -> LockedPackage | Provided | None:
        """Return the package of a source, here or in a used folder."""
        return self.lock.packages.get(source) or self.provided.get(source)


@dataclass(frozen=True, slots=True)
class MovedPackage:
    """An installed package whose source is replaced, and the strategy of that."""

    old: LockedPackage
    move: Move
    strategy: Strategy

    @property
    def target(self) -> Source:
        """The source that gets the object, where the strategy keeps it."""
        return self.move.targets[0]

    @property
    def keeps_object(self) -> bool:
        """Whether the object stays active, with another source or other bytes."""
        return self.strategy in (Strategy.ALIAS, Strategy.REPOINT)


@dataclass(frozen=True, slots=True)
class Plan:
    """What happens to every object, decided and not yet checked."""

    draft: Draft
    moved: Sequence[MovedPackage]
    # The active packages sorted by source, then the deactivated and the dropped ones.
    transitions: Sequence[Transition]
    # The lock that the transitions make, without what is carried over from the lock before.
    after: Lock

    @property
    def context(self) -> Context:
        """Everything besides the answer that the plan depends on."""
        return self.draft.context

    @property
    def answer(self) -> StableResolution:
        """The versions, moves and orphans."""
        return self.draft.answer

    @property
    def before(self) -> Lock:
        """The lock before."""
        return self.draft.context.before

    def active(self) -> Iterator[tuple[LockedPackage | None, LockedPackage]]:
        """Yield every package that is active after, with the package that its object was before."""
        for one in self.transitions:
            if one.after is not None and one.after.state is not State.DEACTIVATED:
                yield one.before, one.after


def find_orphans(
    before: Lock, needed: Collection[Source], moves: Mapping[Source, Move]
) -> dict[Source, LockedPackage]:
    """Return the installed packages that are neither needed nor replaced, as orphans."""
    return {
        # A package that was wanted in between has its guard back.
        source: replace(
            package,
            state=State.ORPHANED,
            root=None,
            released=package.released and package.state is State.ORPHANED,
            # A source that has moved on to another package since is no longer replaced by this one.
            replaces=tuple(one for one in package.replaces if source in _targets(one.source, moves)),
        )
        for source, package in before.packages.items()
        if source not in needed and source not in moves and not _is_taken_over(package, moves)
    }


def was_guarded(lock: Lock) -> bool:
    """Return whether the packages of a lock are rendered with their guards.

    The record holds only settings that differ from their defaults.
    """
    return bool(lock.packages) and "setting guard" not in lock.inputs


def _targets(source: Source, moves: Mapping[Source, Move]) -> tuple[Source, ...]:
    return moves[source].targets if source in moves else ()


def _is_taken_over(package: LockedPackage, moves: Mapping[Source, Move]) -> bool:
    """Return whether the source that an alias's object names moves to another package, and the object with it."""
    move = moves.get(package.installed_as) if package.installed_as else None
    return move is not None and package.source not in move.targets
