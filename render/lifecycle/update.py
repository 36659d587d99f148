"""From a folder to its lock: resolve, plan, check, write. The file to read first.

Rendering starts from the lock, and imports nothing of this folder.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from render.commands import LockCall, git, xplock
from render.errors import Differs, InvalidInput
from render.folders.neighbours import NO_NEIGHBOURS, Neighbours
from render.folders.provided import compare_provided
from render.inputs.projects import Inputs
from render.inputs.record import ROOT
from render.lifecycle.carry_over import note_lost_fields
from render.lifecycle.leaving_facts import correct_leaving
from render.lifecycle.other_folders import note_takeovers, refuse_provided
from render.lifecycle.ownership import (
    InstalledObjects,
    count_unclaimed,
    note_unclaimed,
    note_unknown_objects,
)
from render.lifecycle.plan import make_plan
from render.lifecycle.policies import note_policies, record_leaving
from render.lifecycle.preferences import (
    family_followers,
    kept_candidates,
    parse_upgrade,
    pinned_digests,
    promoted_bounds,
    promoted_candidates,
    promoted_digests,
)
from render.lifecycle.resolve_with_moves import resolve_with_moves
from render.lifecycle.rules import check_plan
from render.lifecycle.states import NOTHING_LEFT, Context, Plan
from render.lifecycle.write import make_lock
from render.limits import Limits
from render.live.contradictions import note_others
from render.live.installed import NOTHING_INSTALLED, advise_live, live_bounds, live_candidates
from render.live.lock import LiveLock
from render.lock.candidates import catalog_answers, locked_candidate
from render.lock.freshness import compare_inputs, find_staleness
from render.lock.merge import merge_sides
from render.lock.model import Lock, LockedPackage, State
from render.lock.stale_entries import stale_bounds, warn_of_stale_names
from render.lock.text.file import read_lock_bytes
from render.lock.text.parse import ConflictedLock, DoubledLock, parse_lock
from render.policy.judge import Judge
from render.references import Digest, Reference, Source
from render.resolve.model import Catalog, Wanted
from render.resolve.warnings import notes
from render.system.files import LOCK_FILE
from render.versions.requests import Root


@dataclass(frozen=True, slots=True)
class LockOptions:
    """How a lock may change besides following its inputs."""

    # Sources whose versions may change, each with or without the version that it changes to.
    upgrade: Sequence[str] = ()
    upgrade_everything: bool = False
    allow_lower: bool = False
    # Whether a package may leave although its installed objects cannot be fetched any more.
    accept_unknown_objects: bool = False
    # The command, which advice repeats with other options; without one, `lock` of the folder.
    call: LockCall | None = None
    # The policies that versions have to satisfy.
    judge: Judge = field(default_factory=Judge)
    # The Lock of a cluster that is adopted: its versions are preferred to those of the lock before.
    live: LiveLock | None = None
    # The digests that run there.
    installed: Mapping[Reference, Digest] = field(default_factory=dict)
    # The packages of another folder's lock whose versions and digests are taken over, and no others.
    promoted: Mapping[Source, LockedPackage] = field(default_factory=dict)
    # Where they are from, for errors.
    origin: str = ""

    @property
    def asks_for_more(self) -> bool:
        """Whether even a fresh lock may change."""
        return self.upgrade_everything or bool(self.upgrade) or self.live is not None


@dataclass(frozen=True, slots=True)
class LockUpdate:
    """A new lock, and notes for its reviewers."""

    lock: Lock
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CurrentLock:
    """The lock that a run starts from."""

    lock: Lock
    # Two sides of a merge were joined, so it has to be resolved again.
    merged: bool = False
    notes: tuple[str, ...] = ()


def update_lock(
    inputs: Inputs,
    before: Lock,
    catalog: Catalog,
    limits: Limits,
    options: LockOptions,
    neighbours: Neighbours = NO_NEIGHBOURS,
) -> LockUpdate:
    """Lock every package that a folder needs; versions of the lock before stay while they fit."""
    _refuse_unknown_roots(inputs, before)
    before = correct_leaving(before, catalog, limits)
    context = _make_context(inputs, before, catalog, options, neighbours)
    refuse_provided(inputs.roots, inputs.settings.moves, before, context.neighbours)
    answer = resolve_with_moves(_make_wanted(inputs, context, options), context, catalog, limits)
    plan = check_plan(make_plan(answer, context))
    lock = record_leaving(count_unclaimed(make_lock(plan), plan), context.judge, catalog)
    return LockUpdate(lock, (*_note_edits(before, inputs), *_notes(plan, lock)))


class UnknownRoot(Differs):
    """A lock with a root that none of its own inputs asked for: it was edited, or merged into something else."""


def _refuse_unknown_roots(inputs: Inputs, before: Lock) -> None:
    """Raise for a package that would become an orphan, although it was never asked for: it may be anything."""
    asked = {root.source for root in inputs.roots} | {answer.source for answer in before.crds}
    recorded = {name for name in before.inputs if name.startswith(ROOT)}
    for source, package in before.packages.items():
        if not recorded or package.root is None or package.state is not State.WANTED:
            continue
        if source not in asked and f"{ROOT}{source}" not in recorded:
            raise UnknownRoot(
                f"{inputs.folder / LOCK_FILE} has {source} as asked for, and its own record of inputs does not",
                why="the lock was edited, or merged into something else",
                next=[
                    "restore the lock from Git, and lock again",
                    f"or ask for {source} in a manifest, if the cluster has it",
                ],
            )


def _note_edits(before: Lock, inputs: Inputs) -> Iterator[str]:
    """Yield a note for a lock that is wrong although no input has changed since."""
    wrong = [] if compare_inputs(before, inputs.record) else find_staleness(before, inputs)
    if wrong:
        more = f", and {len(wrong) - 1:,} more" if len(wrong) > 1 else ""
        yield f"no input has changed, and the lock did not answer them; was it edited? {wrong[0]}{more}"


def _make_context(
    inputs: Inputs, before: Lock, catalog: Catalog, options: LockOptions, neighbours: Neighbours
) -> Context:
    own = {*before.packages, *(root.source for root in inputs.roots)}
    return Context(
        before=before,
        settings=inputs.settings,
        record=inputs.record,
        neighbours=neighbours.after_moves(inputs.settings.moves, before).leaving_out(own),
        live=options.live or NOTHING_INSTALLED,
        judge=options.judge,
        objects=InstalledObjects(catalog),
        accept_unknown_objects=options.accept_unknown_objects,
        folder=str(inputs.folder),
        call=options.call or LockCall((str(inputs.folder),), tuple(options.upgrade)),
        crd_roots=inputs.crd_roots,
        new_roots=tuple(root.place for root in inputs.roots if not _is_answered(root, before)),
    )


def _is_answered(root: Root, lock: Lock) -> bool:
    known = lock.packages.get(root.source)
    return known is not None and known.root is not None and locked_candidate(known).answers(root.request)


def _make_wanted(inputs: Inputs, context: Context, options: LockOptions) -> Wanted:
    before, neighbours, settings = context.before, context.neighbours, inputs.settings
    upgrade = parse_upgrade(
        options.upgrade, before, everything=options.upgrade_everything, folder=inputs.folder
    )
    kept, freed = kept_candidates(before, upgrade)
    stale = stale_bounds(before, neighbours.using_packages)
    installed = live_bounds(context.live, inputs.roots, before, settings.crossplane_version)
    return Wanted(
        roots=inputs.roots,
        crd_roots=inputs.crd_roots,
        catalog=settings.catalog,
        catalog_rows=inputs.catalog_rows,
        kept_answers={} if options.upgrade_everything else catalog_answers(before),
        preferred={**kept, **live_candidates(context.live), **promoted_candidates(options.promoted)},
        pinned={**pinned_digests(before, kept), **options.installed, **promoted_digests(options.promoted)},
        upgraded=freed,
        asked={source: request for source, request in upgrade.packages.items() if request},
        followers=family_followers(before, upgrade),
        bounds=(
            *stale,
            *installed,
            *promoted_bounds(options.promoted, options.origin, neighbours.candidates),
        ),
        provided=neighbours.candidates,
        provided_groups=neighbours.groups,
        providers=neighbours.folders,
        crossplane=settings.crossplane_version,
        follow_families=settings.families == "follow",
        complete_partial=settings.partial_dependencies == "complete",
        allow_lower=options.allow_lower,
        served=tuple(Source(prefix.partition("/")[0], "") for prefix, _ in settings.layouts if prefix),
        judge=context.judge,
        call=context.call,
    )


def _notes(plan: Plan, lock: Lock) -> Iterator[str]:
    crossplane, before = plan.context.settings.crossplane_version, plan.before
    yield from notes(plan.answer.resolution)
    yield from note_policies(plan)
    yield from plan.answer.notes
    yield from warn_of_stale_names(before, crossplane)
    yield from note_lost_fields(plan)
    yield from note_unknown_objects(plan)
    yield from note_unclaimed(lock)
    yield from note_takeovers(plan)
    yield from note_others(lock, plan.context.live)
    if plan.context.live is NOTHING_INSTALLED:
        yield from advise_live(before, lock, crossplane, plan.context.folder)
    if before.installed() and not lock.installed():
        yield NOTHING_LEFT


def is_current(lock: Lock, inputs: Inputs, neighbours: Neighbours = NO_NEIGHBOURS) -> bool:
    """Return whether a lock still answers the inputs of a folder, so that there is nothing to resolve."""
    if find_staleness(lock, inputs):
        return False
    return not compare_provided(lock, neighbours.after_moves(inputs.settings.moves, lock))


def read_current(
    folder: Path,
    limits: Limits,
    known: dict[bytes, Lock] | None = None,
    *,
    new: bool,
    in_memory: bool = False,
) -> CurrentLock:
    """Read the lock that a run starts from; two sides of a merge are joined. Reuses and extends `known`."""
    data = None if new else read_lock_bytes(folder, limits)
    if data is None:
        if not new:
            _check_never_locked(folder, limits, in_memory=in_memory)
        return CurrentLock(Lock())
    known = {} if known is None else known
    place = str(folder / LOCK_FILE)
    try:
        if data not in known:
            known[data] = parse_lock(data, limits, place=place)
        return CurrentLock(known[data])
    except (ConflictedLock, DoubledLock):
        merged = merge_sides(data, limits, place=place)
        return CurrentLock(merged.lock, merged=True, notes=merged.notes)


class LostLock(InvalidInput):
    """A folder whose lock is in Git and not on disk."""


def _check_never_locked(folder: Path, limits: Limits, *, in_memory: bool) -> None:
    # Imported late: only a folder without a lock needs GitPython.
    from render.git.failures import GitFailed
    from render.git.revisions import has_at_head

    try:
        lost = has_at_head(folder, LOCK_FILE, limits=limits)
    except GitFailed:
        # A lock that is not written overwrites nothing.
        if not in_memory:
            raise
        lost = False
    if lost:
        raise LostLock(
            f"{folder / LOCK_FILE} is gone, and the last commit has one",
            why="the names of installed objects are kept there; without them a new lock could rename them",
            next=[
                f"bring it back: {git('checkout', 'HEAD', '--', LOCK_FILE, folder=folder)}",
                f"to start over: {xplock('lock', '--new', folder=folder)}",
            ],
        )
