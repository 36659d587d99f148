"""The stages, joined: from a folder to its lock. The file to read first."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from render.errors import InvalidInput
from render.files import LOCK_FILE
from render.inputs.projects import Inputs
from render.limits import Limits
from render.lock.closure import check_closure
from render.lock.create import create_lock
from render.lock.file import read_lock_bytes
from render.lock.findings import DoubledLock
from render.lock.merge import merge_sides
from render.lock.model import Lock
from render.lock.naming import name_objects
from render.lock.parse import ConflictedLock, parse_lock
from render.lock.staleness import compare_inputs
from render.lock.update import kept_candidates, parse_upgrade, pinned_digests
from render.resolve.model import Catalog, Wanted
from render.resolve.notes import notes
from render.resolve.resolve import resolve


@dataclass(frozen=True, slots=True)
class LockOptions:
    """How a lock may change besides following its inputs."""

    # Sources whose pins may move, each with the version they shall move to or without one.
    upgrade: Sequence[str] = ()
    upgrade_everything: bool = False
    allow_lower: bool = False

    @property
    def upgrades(self) -> bool:
        """Whether any pin may move although it still fits."""
        return self.upgrade_everything or bool(self.upgrade)


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
    inputs: Inputs, current: Lock, catalog: Catalog, limits: Limits, options: LockOptions
) -> LockUpdate:
    """Pin everything the project needs, keeping current pins that still fit."""
    upgrade = parse_upgrade(options.upgrade, current, everything=options.upgrade_everything)
    kept, released = kept_candidates(current, upgrade)
    wanted = Wanted(
        roots=inputs.roots,
        preferred=kept,
        pinned=pinned_digests(current, kept),
        released=released,
        asked={source: request for source, request in upgrade.packages.items() if request},
        crossplane=inputs.settings.crossplane_version,
        follow_families=inputs.settings.families == "follow",
        complete_partial=inputs.settings.partial_dependencies == "complete",
        allow_lower=options.allow_lower,
    )
    resolution = resolve(wanted, catalog, limits)
    names = name_objects(
        resolution, {source: package.object_name for source, package in current.packages.items()}
    )
    return LockUpdate(create_lock(resolution, names, inputs.record), notes(resolution))


def is_current(lock: Lock, inputs: Inputs) -> bool:
    """Tell whether a lock still answers what a folder asks for; then there is nothing to resolve."""
    return not compare_inputs(lock, inputs.record) and not check_closure(lock)


def read_current(folder: Path, limits: Limits, *, new: bool) -> CurrentLock:
    """Read the lock that a run starts from; two sides of a merge become one to start from."""
    data = None if new else read_lock_bytes(folder, limits)
    if data is None:
        if not new:
            _check_never_locked(folder, limits)
        return CurrentLock(Lock())
    place = str(folder / LOCK_FILE)
    try:
        return CurrentLock(parse_lock(data, limits, place=place))
    except (ConflictedLock, DoubledLock):
        merged = merge_sides(data, limits, place=place)
        return CurrentLock(merged.lock, merged=True, notes=merged.notes)


class LostLock(InvalidInput):
    """A folder whose lock is in Git and not on disk."""


def _check_never_locked(folder: Path, limits: Limits) -> None:
    # GitPython is for those who need it.
    from render.git import has_at_head

    if has_at_head(folder, LOCK_FILE, limits=limits):
        raise LostLock(
            f"{folder / LOCK_FILE} is gone, and the last commit has one",
            why="the names of installed objects are kept there; without them a new lock could rename them",
            next=f"bring it back: git checkout HEAD -- {folder / LOCK_FILE}; to start over: xplock lock --new",
        )
