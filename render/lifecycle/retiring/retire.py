"""Retiring packages that are leaving: first their guard goes, and after a sync the packages themselves.

Two rules follow from what a cluster does. Everything that a guarded package needs is guarded, too: a guard goes only with
or after the guards of all packages that need this one. And Crossplane installs again what an entry of its Lock depends on
(measured: a package that is deleted together with a dependant mostly returns within seconds, in its newest version): a
package is dropped only when every package that needs it is gone. Of packages that are named together, dependants
go one sync earlier.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from render.crd_dependencies import requirer_of
from render.errors import Differs, Unsatisfiable
from render.lean import dataclass, replace
from render.lifecycle.ownership import format_counts
from render.lifecycle.retiring.blockers import Blocker, Blockers, LockedFolder, Place, find_blockers
from render.lifecycle.retiring.checks import Named, check_named, find_named
from render.lifecycle.retiring.commands import list_packages, retire_advice
from render.lock.graph import LockGraph, reach
from render.lock.model import Lock, LockedPackage, State
from render.references import Source


@dataclass(frozen=True, slots=True)
class Retirement:
    """What `retire` does in one folder."""

    folder: LockedFolder
    # The lock after.
    lock: Lock
    # Without their guard from now on.
    released: tuple[LockedPackage, ...] = ()
    dropped: tuple[LockedPackage, ...] = ()
    # Named, and unchanged until other named packages are gone.
    waiting: tuple[LockedPackage, ...] = ()
    # Leaving, needed only by the packages above: they can be retired next.
    free: tuple[LockedPackage, ...] = ()

    @property
    def unproven(self) -> tuple[LockedPackage, ...]:
        """The dropped packages that a cluster may still have a guard on."""
        return self.dropped if self.folder.guard else ()


class NotSynced(Differs):
    """Packages whose guard may still be on in a cluster."""


def retire_packages(
    names: Sequence[str], folders: Sequence[LockedFolder], users: Sequence[LockedFolder] = ()
) -> list[Retirement]:
    """Take every package that is named one step further, in each folder that has it; all of them, or none.

    Nothing is retired in `users`, folders that use these; their packages count.
    """
    named = find_named(names, folders)
    blockers = find_blockers([*folders, *users])
    check_named(named, blockers, folders)
    ready = _find_ready({one.place for one in named if one.drops}, blockers)
    made = [_retire(folder, [one for one in named if one.folder is folder], ready) for folder in folders]
    free = _find_free(made, {one.place for one in named}, _needs(blockers), users)
    return [replace(one, free=tuple(free.get(one.folder.name, ()))) for one in made]


def require_synced(retirements: Sequence[Retirement], *, synced: bool) -> None:
    """Raise for a guarded package that would be dropped, unless every cluster has synced without the guard."""
    dropped = [package for one in retirements for package in one.unproven]
    if synced or not dropped:
        return
    named = [package for one in retirements for package in (*one.released, *one.dropped, *one.waiting)]
    raise NotSynced(
        f"{list_packages(dropped)} can be dropped when every cluster has synced the first step",
        why=[
            "the first run took the guard off in the lock; Argo CD and Flux look for it on the live object",
            "a package that is dropped while its guard is on there stays in the cluster, and nothing manages it any more",
        ],
        next=[
            "commit the lock as it is, and let every cluster sync",
            *retire_advice("then", named, [one.folder.name for one in retirements], synced=True),
            "or show the live objects instead, with --live",
        ],
    )


class WouldDelete(Unsatisfiable):
    """Replaced packages with objects that none of their successors installs."""


def require_agreed(retirements: Sequence[Retirement], *, delete: bool) -> None:
    """Raise for a replaced package that alone installs some of its objects, unless the user agrees to lose them."""
    going = [package for one in retirements for package in (*one.released, *one.dropped) if package.unclaimed]
    if delete or not going:
        return
    raise WouldDelete(
        f"{list_packages(going)} installed objects that none of its successors installs",
        why=[
            f"with {package.display_source} go {format_counts(package.unclaimed)}, and every resource of such a kind"
            for package in going
        ],
        next=[
            "ask for a package that installs them too, name it in the move, and lock again",
            "or agree to that: the same command with --delete-objects",
        ],
    )


def is_reinstalled(_: Place, blocker: Blocker, __: Collection[Place]) -> bool:
    """A package waits while Crossplane would install it again for its dependant."""
    return blocker.would_reinstall


def stays(_: Place, blocker: Blocker, dropping: Collection[Place]) -> bool:
    """A package waits for a dependant that stays."""
    return blocker.place not in dropping


def is_elsewhere(place: Place, blocker: Blocker, _: Collection[Place]) -> bool:
    """A package waits for a dependant in another folder: folders are synced in no order."""
    return blocker.place.folder != place.folder


# Why a package that can be dropped waits for the next call, together with everything that it needs.
WAITING_RULES: tuple[Callable[[Place, Blocker, Collection[Place]], bool], ...] = (
    is_reinstalled,
    stays,
    is_elsewhere,
)


def _find_ready(dropping: Collection[Place], blockers: Blockers) -> set[Place]:
    """Return the packages that can be dropped in this step."""
    waiting = {
        place
        for place in dropping
        for blocker in blockers.get(place, ())
        if any(waits(place, blocker, dropping) for waits in WAITING_RULES)
    }
    behind = reach(waiting, _needs(blockers))
    return set(dropping) - behind


def _retire(folder: LockedFolder, named: Iterable[Named], ready: Collection[Place]) -> Retirement:
    ordered = sorted(named, key=lambda one: one.place)
    released = tuple(one.package for one in ordered if not one.drops)
    dropped = tuple(one.package for one in ordered if one.place in ready)
    waiting = tuple(one.package for one in ordered if one.drops and one.place not in ready)
    unguarded = _release(folder.lock, {package.display_source for package in released})
    lock = _drop(unguarded, {package.display_source for package in dropped})
    return Retirement(folder, lock, released, dropped, waiting)


def _release(lock: Lock, sources: Collection[Source]) -> Lock:
    def without_guard(packages: Mapping[Source, LockedPackage]) -> dict[Source, LockedPackage]:
        return {s: replace(p, released=True) if s in sources else p for s, p in packages.items()}

    return replace(lock, packages=without_guard(lock.packages), deactivated=without_guard(lock.deactivated))


def _drop(lock: Lock, sources: Collection[Source]) -> Lock:
    gone = {str(source) for source in sources if source in lock.packages}
    left = replace(
        lock,
        packages={s: _without(p, gone) for s, p in lock.packages.items() if s not in sources},
        # Its successors keep their record: without it a `moves` entry in the settings would be refused as unneeded.
        deactivated={s: p for s, p in lock.deactivated.items() if s not in sources},
    )
    successors = {source for package in lock.deactivated.values() for source in package.replaced_by}
    unneeded = LockGraph(lock).needed_from_others - LockGraph(left).needed_from_others - successors
    return replace(left, provided={s: p for s, p in lock.provided.items() if s not in unneeded})


def _without(package: LockedPackage, gone: Collection[str]) -> LockedPackage:
    required_by = tuple(text for text in package.required_by if requirer_of(text) not in gone)
    left_alone = package.required_by and not required_by and package.root is None
    return replace(package, required_by=required_by, state=State.ORPHANED if left_alone else package.state)


def _find_free(
    made: Sequence[Retirement],
    named: Collection[Place],
    needs: Mapping[Place, Collection[Place]],
    users: Sequence[LockedFolder],
) -> dict[str, list[LockedPackage]]:
    """Return the leaving packages that only the named ones needed: all of them can be retired together."""
    reached = reach(named, needs).difference(named)
    leaving = {
        place: package
        for one in made
        for package in one.lock.installed()
        if package.state is not State.WANTED and not package.released
        if (place := Place(one.folder.name, package.cluster_source)) in reached
    }
    after = find_blockers([*(replace(one.folder, lock=one.lock) for one in made), *users])
    held = {
        place
        for place in leaving
        for blocker in after.get(place, ())
        if blocker.place not in leaving and not blocker.package.released
    }
    found: dict[str, list[LockedPackage]] = {}
    for place in sorted(leaving.keys() - reach(held, needs)):
        found.setdefault(place.folder, []).append(leaving[place])
    return found


def _needs(blockers: Blockers) -> dict[Place, set[Place]]:
    needs: dict[Place, set[Place]] = {}
    for target, found in blockers.items():
        for blocker in found:
            needs.setdefault(blocker.place, set()).add(target)
    return needs
