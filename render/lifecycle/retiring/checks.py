"""The packages that a call of `retire` names, and the blockers of each."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from render.commands import xplock
from render.errors import InvalidInput, Unsatisfiable
from render.lifecycle.retiring.blockers import Blocker, Blockers, LockedFolder, Place, Reason
from render.lifecycle.retiring.commands import describe, list_packages, retire_advice
from render.lock.lookup import (
    NO_SUCH_NAME,
    NameIndex,
    UnknownPackage,
    find_known,
    index_installed,
    write_in_full,
)
from render.lock.model import LockedPackage, State
from render.texts import first_lines

_SHOWN = 50
_WAY_BACK = (
    "if it was dropped before every cluster had synced the first step, it still is in some: revert the commit that "
    "dropped it, sync, and retire it once more"
)


@dataclass(frozen=True, slots=True)
class Named:
    """A package that is to be retired."""

    folder: LockedFolder
    package: LockedPackage

    @property
    def place(self) -> Place:
        """Where it is."""
        return Place(self.folder.name, self.package.cluster_source)

    @property
    def drops(self) -> bool:
        """Whether its next step takes it out of the lock."""
        return self.package.released or not self.folder.guard


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why a package cannot be retired; without a way out, it can be retired together with its blocker."""

    package: LockedPackage
    why: str
    way_out: str = ""


class NotInLock(InvalidInput):
    """A name that no package of a lock has, or several."""


class StillNeeded(Unsatisfiable):
    """Packages that cannot be retired yet."""


def find_named(names: Sequence[str], folders: Sequence[LockedFolder]) -> list[Named]:
    """Return the packages that are named, in every folder that has them."""
    known = [(folder, index_installed(folder.lock)) for folder in folders]
    found: dict[Place, Named] = {}
    for name in names:
        having = [Named(folder, _choose(name, index)) for folder, index in known if index.short(name)]
        if not having:
            raise _not_in_lock(name, folders)
        found |= {one.place: one for one in having}
    return list(found.values())


def check_named(named: Sequence[Named], blockers: Blockers, folders: Sequence[LockedFolder]) -> None:
    """Raise for named packages with blockers that are not named as well."""
    places = {one.place for one in named}
    refusals = [refusal for one in named for refusal in _refusals(one, places, blockers)]
    if not refusals:
        return
    why, ways = sorted({one.why for one in refusals}), sorted({one.way_out for one in refusals} - {""})
    if any(not refusal.way_out for refusal in refusals):
        together = _together(named, blockers)
        # A package that has to go along may be in a folder that uses these, and was not given.
        more = {place.folder for place in together} - {folder.name for folder in folders}
        names = [*(folder.name for folder in folders), *sorted(more)]
        ways += retire_advice("retire all of them", together.values(), names)
    raise StillNeeded(
        f"{list_packages(refusal.package for refusal in refusals)} cannot be retired yet",
        why=first_lines(why, _SHOWN),
        next=ways,
    )


def _choose(name: str, index: NameIndex[LockedPackage]) -> LockedPackage:
    """Return the package that a name means: the one with this full source, or else one that is leaving."""
    packages = index.short(name)
    leaving = [package for package in packages if package.state is not State.WANTED]
    found = index.full(name) or leaving or packages
    if len(found) > 1:
        raise NotInLock(
            f"{name} names {len(found)} packages of the lock",
            why=[describe(package) for package in found[:_SHOWN]],
            next="write the source in full",
        )
    return found[0]


def _not_in_lock(name: str, folders: Sequence[LockedFolder]) -> NotInLock:
    for folder in folders:
        provided = [one for one in folder.lock.provided.values() if f"/{one.source}".endswith(f"/{name}")]
        if provided:
            return NotInLock(
                f"{provided[0].source} is not locked here",
                why=f"{provided[0].folder} provides it",
                next="retire it there, when nothing here needs it any more",
            )
    why = _guesses(name, folders) or NO_SUCH_NAME
    return NotInLock(
        f"{name} is not in the lock",
        why=why,
        next=[write_in_full(*(folder.name for folder in folders)), _WAY_BACK],
    )


def _guesses(name: str, folders: Sequence[LockedFolder]) -> list[str]:
    found: dict[str, None] = {}
    for folder in folders:
        try:
            find_known(name, folder.lock)
        except UnknownPackage as error:
            found |= dict.fromkeys(line for line in error.why if line != NO_SUCH_NAME)
    return list(found)


def _refusals(one: Named, places: Collection[Place], blockers: Blockers) -> Iterator[_Refusal]:
    package, found = one.package, blockers.get(one.place, ())
    if package.state is State.WANTED:
        if package.root is not None:
            why = f"{describe(package)} is asked for{_where(one.folder.name)}"
            yield _Refusal(package, why, _drop_first(one.folder.name))
        for dependant in package.required_by:
            why = f"{describe(package)} is required by {dependant}"
            yield _Refusal(package, why, _drop_first(one.folder.name))
        return
    for blocker in found:
        # A package without a guard needs no guard on its dependencies, as long as they are rendered.
        enough = blocker.package.released and not one.drops
        if blocker.place not in places and not enough:
            yield _refusal(one, blocker)


def _refusal(one: Named, blocker: Blocker) -> _Refusal:
    package, other = describe(one.package), describe(blocker.package)
    elsewhere = _where(blocker.place.folder) if blocker.place.folder != one.folder.name else ""
    match blocker.reason:
        case Reason.REPLACED:
            why = f"{other}{elsewhere} is deactivated, and {package} has the objects that it installed"
        case Reason.STALE:
            why = (
                f"the cluster's Lock still names {package} for {other}{elsewhere}, "
                "and Crossplane would install it again"
            )
        case Reason.NAME:
            why = (
                f"the cluster's Lock still has an entry of {other}{elsewhere}, "
                f"and Crossplane would install the package that it names in place of {package}"
            )
        case Reason.DEPENDS:
            why = f"{other}{elsewhere} needs {package}"
    return _Refusal(one.package, why, _way_out(blocker))


def _drop_first(folder: str) -> str:
    return (
        "remove it, or what needs it, from what you ask for; then retire what is leaving after: "
        f"{xplock('lock', folder=folder)}"
    )


def _way_out(blocker: Blocker) -> str:
    package = blocker.package
    if package.state is not State.WANTED:
        return ""
    if blocker.is_stale:
        return (
            "retire after every cluster has synced another version of "
            f"{package.source}, which clears its stale entry: "
            f"{xplock('lock', '-P', str(package.source), folder=blocker.place.folder)}"
        )
    return (
        f"remove {package.source} from what you ask for{_where(blocker.place.folder)}; lock that, let it sync, "
        "and retire what is leaving then"
    )


def _together(named: Sequence[Named], blockers: Blockers) -> dict[Place, LockedPackage]:
    """Return the named packages and all leaving ones that need them, directly or not."""
    found = {one.place: one.package for one in named}
    waiting = list(found)
    while waiting:
        for blocker in blockers.get(waiting.pop(), ()):
            if blocker.place not in found and blocker.package.state is not State.WANTED:
                found[blocker.place] = blocker.package
                waiting.append(blocker.place)
    return found


def _where(folder: str) -> str:
    return "" if folder == "." else f" in {folder}"
