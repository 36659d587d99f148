"""The stages, joined: from a folder to its lock. The file to read first.

From the lock to manifests it goes on in rendering.py: whoever renders needs nothing of what is imported here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from render.errors import InvalidInput
from render.folders.neighbours import NOBODY, Neighbours
from render.folders.provided import (
    compare_provided,
    refuse_drops,
    refuse_provided,
    require_provided,
    tell_takeovers,
)
from render.inputs.projects import Inputs
from render.lifecycle.dependent_folders import other_packages
from render.lifecycle.ownership import check_handovers, check_rivals, count_unclaimed
from render.lifecycle.preferences import (
    NOTHING_INSTALLED,
    advise_live,
    kept_candidates,
    live_bounds,
    parse_upgrade,
    pinned_digests,
)
from render.lifecycle.settle import settle
from render.lifecycle.states import warn_of_stale_names, was_guarded
from render.lifecycle.strategies import require_crossplane_version
from render.lifecycle.write import Surroundings, create_lock
from render.limits import Limits
from render.live.lock import LiveLock
from render.lock.consistency import check_closure
from render.lock.file import read_lock_bytes
from render.lock.freshness import compare_inputs
from render.lock.merge import merge_sides
from render.lock.model import Lock
from render.lock.parse import ConflictedLock, DoubledLock, parse_lock
from render.lock.stale_entries import stale_bounds
from render.references import Source
from render.resolve.model import Catalog, Wanted
from render.resolve.warnings import notes
from render.settings import Settings
from render.system.files import LOCK_FILE


@dataclass(frozen=True, slots=True)
class LockOptions:
    """How a lock may change besides following its inputs."""

    # Sources whose pins may move, each with the version they shall move to or without one.
    upgrade: Sequence[str] = ()
    upgrade_everything: bool = False
    allow_lower: bool = False
    # Whether a package may leave of which nobody can tell any more what it installed.
    accept_unknown_objects: bool = False
    # What a cluster has that was installed before it was locked.
    live: LiveLock | None = None

    @property
    def asks_for_more(self) -> bool:
        """Whether a lock that answers its inputs may change all the same."""
        return self.upgrade_everything or bool(self.upgrade) or self.live is not None


@dataclass(frozen=True, slots=True)
class LockUpdate:
    """A new lock, and what is worth knowing about it."""

    lock: Lock
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CurrentLock:
    """The lock that a run starts from."""

    lock: Lock
    # Two sides of a merge were put together; that is no answer yet.
    merged: bool = False
    notes: tuple[str, ...] = ()


def update_lock(
    inputs: Inputs,
    current: Lock,
    catalog: Catalog,
    limits: Limits,
    options: LockOptions,
    around: Neighbours = NOBODY,
) -> LockUpdate:
    """Pin everything the project needs, keeping current pins that still fit."""
    settings = inputs.settings
    around = around.after_moves(settings.moves, current).leaving_out(_own_sources(inputs, current))
    refuse_provided(inputs.roots, settings.moves, current, around)
    wanted = _wanted(inputs, current, options, around)
    # A guard that is switched off is still on in the cluster: what leaves with this lock would be left behind there.
    guard = settings.guard or was_guarded(current)
    settled = settle(wanted, current, settings.moves, catalog, limits, guard=guard, around=around)
    told = [*notes(settled.resolution), *settled.notes]
    told += warn_of_stale_names(current, settings.crossplane_version)
    told += check_handovers(
        settled, current, catalog, around.provided, accept_unknown=options.accept_unknown_objects
    )
    told += check_rivals(settled, (*around.used, *around.users), catalog)
    made = create_lock(settled, inputs.record, _surroundings(current, settings, around, options.live))
    lock, unclaimed = count_unclaimed(made, settled.resolution, catalog)
    require_crossplane_version(lock, settings)
    require_provided(lock, around)
    refuse_drops(current, lock, around)
    told += [*unclaimed, *tell_takeovers(current, lock, around)]
    told += advise_live(current, lock, settings.crossplane_version) if options.live is None else []
    return LockUpdate(lock, tuple(told))


def _own_sources(inputs: Inputs, current: Lock) -> set[Source]:
    return {*current.packages, *(root.source for root in inputs.roots)}


def _wanted(inputs: Inputs, current: Lock, options: LockOptions, around: Neighbours) -> Wanted:
    upgrade = parse_upgrade(options.upgrade, current, everything=options.upgrade_everything)
    kept, released = kept_candidates(current, upgrade)
    crossplane = inputs.settings.crossplane_version
    stale = stale_bounds(current, other_packages(around.users))
    installed = live_bounds(options.live or NOTHING_INSTALLED, inputs.roots, current, crossplane)
    return Wanted(
        roots=inputs.roots,
        preferred=kept,
        pinned=pinned_digests(current, kept),
        upgraded=released,
        asked={source: request for source, request in upgrade.packages.items() if request},
        bounds=(*stale, *installed),
        provided=around.candidates,
        providers=around.folders,
        crossplane=crossplane,
        follow_families=inputs.settings.families == "follow",
        complete_partial=inputs.settings.partial_dependencies == "complete",
        allow_lower=options.allow_lower,
    )


def _surroundings(
    current: Lock, settings: Settings, around: Neighbours, live: LiveLock | None
) -> Surroundings:
    return Surroundings(
        before=current,
        settings=settings,
        provided=around.provided,
        switched_off=around.deactivated,
        users=[lock for _, lock in around.users],
        live=live or NOTHING_INSTALLED,
    )


def is_current(lock: Lock, inputs: Inputs, around: Neighbours = NOBODY) -> bool:
    """Tell whether a lock still answers what a folder asks for; then there is nothing to resolve."""
    if compare_inputs(lock, inputs.record) or check_closure(lock):
        return False
    return not compare_provided(lock, around.after_moves(inputs.settings.moves, lock))


def read_current(folder: Path, limits: Limits, *, new: bool, in_memory: bool = False) -> CurrentLock:
    """Read the lock that a run starts from; two sides of a merge become one to start from."""
    data = None if new else read_lock_bytes(folder, limits)
    if data is None:
        if not new:
            _check_never_locked(folder, limits, in_memory=in_memory)
        return CurrentLock(Lock())
    place = str(folder / LOCK_FILE)
    try:
        return CurrentLock(parse_lock(data, limits, place=place))
    except (ConflictedLock, DoubledLock):
        merged = merge_sides(data, limits, place=place)
        return CurrentLock(merged.lock, merged=True, notes=merged.notes)


class LostLock(InvalidInput):
    """A folder whose lock is in Git and not on disk."""


def _check_never_locked(folder: Path, limits: Limits, *, in_memory: bool) -> None:
    # GitPython is for those who need it.
    from render.git.failures import GitFailed
    from render.git.revisions import has_at_head

    try:
        lost = has_at_head(folder, LOCK_FILE, limits=limits)
    except GitFailed:
        # What is not written overwrites nothing.
        if not in_memory:
            raise
        lost = False
    if lost:
        raise LostLock(
            f"{folder / LOCK_FILE} is gone, and the last commit has one",
            why="the names of installed objects are kept there; without them a new lock could rename them",
            next=f"bring it back: git checkout HEAD -- {folder / LOCK_FILE}; to start over: xplock lock --new",
        )
