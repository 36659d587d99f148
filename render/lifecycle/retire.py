"""Letting go of packages that are leaving: first of their guard, and after a sync of the packages themselves.

Two rules follow from what a cluster does. What a guarded package needs is guarded, too: a guard goes only with or
after those of all that need the package. And Crossplane installs again whatever an entry of its Lock depends on
(measured: deleted at the same time as a dependant, a package mostly is back within seconds, in its newest version):
a package is dropped only when everything that needs it is gone. Of those that are named together, the dependants
go one sync earlier.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from render.errors import Differs, Unsatisfiable
from render.lean import dataclass, replace
from render.lifecycle.blockers import Holders, LockedFolder, Place, find_holders
from render.lifecycle.ownership import format_counts
from render.lifecycle.retire_checks import Named, check_named, find_named, list_packages, retire_advice
from render.lock.diff import known_as
from render.lock.graph import LockGraph, reach
from render.lock.model import Lock, LockedPackage, State
from render.references import Source


@dataclass(frozen=True, slots=True)
class Retirement:
    """What becomes of one folder."""

    folder: LockedFolder
    # The lock after it.
    lock: Lock
    # Without their guard from now on.
    released: tuple[LockedPackage, ...] = ()
    dropped: tuple[LockedPackage, ...] = ()
    # Others that were named go first; these stay as they are.
    waiting: tuple[LockedPackage, ...] = ()
    # What the others needed and is leaving as well: it can be let go of next.
    free: tuple[LockedPackage, ...] = ()

    @property
    def unproven(self) -> tuple[LockedPackage, ...]:
        """What is dropped and had a guard, which a cluster may still have on."""
        return self.dropped if self.folder.guard else ()


class NotSynced(Differs):
    """Packages whose guard may still be on in a cluster."""


def retire_packages(names: Sequence[str], folders: Sequence[LockedFolder]) -> list[Retirement]:
    """Take every package that is named one step further, in each folder that has it; all of them, or none."""
    named = find_named(names, folders)
    holders = find_holders(folders)
    check_named(named, holders, folders)
    going = _find_going({one.place for one in named if one.drops}, holders)
    made = [_let_go(folder, [one for one in named if one.folder is folder], going) for folder in folders]
    free = _find_free(made, {one.place for one in named}, _needs(holders))
    return [replace(one, free=tuple(free.get(one.folder.name, ()))) for one in made]


def require_synced(retirements: Sequence[Retirement], *, synced: bool) -> None:
    """Refuse to drop what was guarded, unless every cluster is said to have taken the guard off."""
    dropped = [package for one in retirements for package in one.unproven]
    if synced or not dropped:
        return
    named = [package for one in retirements for package in (*one.released, *one.dropped, *one.waiting)]
    raise NotSynced(
        f"{list_packages(dropped)} can be dropped when every cluster has synced the first step",
        why=[
            "the first run took the guard off in the lock; Argo CD and Flux look for it on the live object",
            "what is dropped while its guard is on there stays in the cluster, and nobody looks after it any more",
        ],
        next=[
            "commit the lock as it is, and let every cluster sync",
            *retire_advice("then", named, [one.folder for one in retirements], synced=True),
            "or show the live objects instead, with --live",
        ],
    )


class WouldDelete(Unsatisfiable):
    """Packages that were replaced, with objects that nobody took over."""


def require_agreed(retirements: Sequence[Retirement], *, delete: bool) -> None:
    """Refuse to let go of a replaced package that alone brings some of its objects, unless that was agreed to."""
    going = [package for one in retirements for package in (*one.released, *one.dropped) if package.unclaimed]
    if delete or not going:
        return
    raise WouldDelete(
        f"{list_packages(going)} installed objects that none of its successors brings",
        why=[
            f"with {known_as(package)} go {format_counts(package.unclaimed)}, and every resource of such a kind"
            for package in going
        ],
        next=[
            "ask for a package that brings them too, name it in the move, and lock again",
            "or agree to that: the same command with --delete-objects",
        ],
    )


def _find_going(dropping: Collection[Place], holders: Holders) -> set[Place]:
    """Return what can be dropped at once: whatever would bring a package back has to be gone before it."""
    held = {
        place
        for place in dropping
        for holder in holders.get(place, ())
        # Each folder is synced on its own, in no order.
        if holder.brings_back or holder.place not in dropping or holder.place.folder != place.folder
    }
    behind = reach(held, _needs(holders))
    return set(dropping) - behind


def _let_go(folder: LockedFolder, named: Iterable[Named], going: Collection[Place]) -> Retirement:
    ordered = sorted(named, key=lambda one: one.place)
    released = tuple(one.package for one in ordered if not one.drops)
    dropped = tuple(one.package for one in ordered if one.place in going)
    waiting = tuple(one.package for one in ordered if one.drops and one.place not in going)
    unguarded = _release(folder.lock, {known_as(package) for package in released})
    lock = _drop(unguarded, {known_as(package) for package in dropped})
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
        # What has taken its place goes on to say so: a `moves` entry in the settings would have no meaning otherwise.
        deactivated={s: p for s, p in lock.deactivated.items() if s not in sources},
    )
    successors = {source for package in lock.deactivated.values() for source in package.replaced_by}
    unneeded = LockGraph(lock).needed_from_others - LockGraph(left).needed_from_others - successors
    return replace(left, provided={s: p for s, p in lock.provided.items() if s not in unneeded})


def _without(package: LockedPackage, gone: Collection[str]) -> LockedPackage:
    required_by = tuple(text for text in package.required_by if text not in gone)
    left_alone = package.required_by and not required_by and package.root is None
    return replace(package, required_by=required_by, state=State.ORPHANED if left_alone else package.state)


def _find_free(
    made: Sequence[Retirement], named: Collection[Place], needs: Mapping[Place, Collection[Place]]
) -> dict[str, list[LockedPackage]]:
    """Return what is leaving, was needed by what was named, and can now be let go of, all of it together."""
    reached = reach(named, needs).difference(named)
    leaving = {
        place: package
        for one in made
        for package in one.lock.installed()
        if package.state is not State.WANTED and not package.released
        if (place := Place(one.folder.name, package.cluster_source)) in reached
    }
    after = find_holders([replace(one.folder, lock=one.lock) for one in made])
    held = {
        place
        for place in leaving
        for holder in after.get(place, ())
        if holder.place not in leaving and not holder.package.released
    }
    found: dict[str, list[LockedPackage]] = {}
    for place in sorted(leaving.keys() - reach(held, needs)):
        found.setdefault(place.folder, []).append(leaving[place])
    return found


def _needs(holders: Holders) -> dict[Place, set[Place]]:
    needs: dict[Place, set[Place]] = {}
    for target, found in holders.items():
        for holder in found:
            needs.setdefault(holder.place, set()).add(target)
    return needs
