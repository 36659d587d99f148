"""Which packages a call of `retire` means, who still needs one of them, and what to do about it."""

import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from render.errors import InvalidInput, Unsatisfiable
from render.lifecycle.blockers import Hold, Holder, Holders, LockedFolder, Place
from render.lifecycle.preferences import NO_SUCH_NAME, UnknownPackage, find_known
from render.lock.diff import known_as
from render.lock.model import Lock, LockedPackage, State
from render.references import Source
from render.texts import first_lines

_SHOWN = 50
_SHOWN_NAMES = 3
# What is shown of a line in an error has its limit; half a command is none.
_LONGEST_LINE = 400
_SHOWN_DIGEST = len("sha256:") + 12
_ADVICE = "write the source in full; `xplock tree` shows what is locked"
_DROP_FIRST = (
    "remove it, or what needs it, from what you ask for; run `xplock lock`, and retire what is leaving then"
)
_WAY_BACK = (
    "if it was dropped before every cluster had synced the first step, it still is in some: revert the commit that "
    "dropped it, sync, and retire it once more"
)


@dataclass(frozen=True, slots=True)
class Named:
    """A package that is to be let go of."""

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
class _Reason:
    """Why a package cannot be let go of; without a way out, it can together with what needs it."""

    package: LockedPackage
    why: str
    way_out: str = ""


class NotInLock(InvalidInput):
    """A name that no package of a lock has, or several."""


class StillNeeded(Unsatisfiable):
    """Packages that cannot be let go of yet."""


def find_named(names: Sequence[str], folders: Sequence[LockedFolder]) -> list[Named]:
    """Return the packages that are named, in every folder that has them."""
    known = [(folder, _by_ending(folder.lock)) for folder in folders]
    found: dict[Place, Named] = {}
    for name in names:
        having = [Named(folder, _choose(name, ends[name])) for folder, ends in known if name in ends]
        if not having:
            raise _not_in_lock(name, folders)
        found |= {one.place: one for one in having}
    return list(found.values())


def check_named(named: Sequence[Named], holders: Holders, folders: Sequence[LockedFolder]) -> None:
    """Refuse to let go of what anything needs that does not go along."""
    places = {one.place for one in named}
    reasons = [reason for one in named for reason in _reasons(one, places, holders)]
    if not reasons:
        return
    why, ways = sorted({one.why for one in reasons}), sorted({one.way_out for one in reasons} - {""})
    if any(not reason.way_out for reason in reasons):
        ways += retire_advice("let go of all of them", _together(named, holders), folders)
    raise StillNeeded(
        f"{list_packages(reason.package for reason in reasons)} cannot be let go of yet",
        why=first_lines(why, _SHOWN),
        next=ways,
    )


def describe(package: LockedPackage) -> str:
    """Return a package in two words: its source and its version."""
    version = f"{package.digest[:_SHOWN_DIGEST]}…" if package.by_digest else package.version
    return f"{known_as(package)} {version}"


def list_packages(packages: Iterable[LockedPackage]) -> str:
    """Return packages as a list in a sentence, or their number."""
    names = sorted({describe(package) for package in packages})
    return " and ".join(names) if len(names) <= _SHOWN_NAMES else f"{len(names):,} packages"


def retire_command(
    packages: Iterable[LockedPackage], folders: Iterable[LockedFolder], *, synced: bool = False
) -> str:
    """Return the command that takes packages one step further."""
    return " ".join(_words(packages, folders, synced=synced))


def retire_advice(
    text: str, packages: Iterable[LockedPackage], folders: Iterable[LockedFolder], *, synced: bool = False
) -> list[str]:
    """Return the same command as advice to people; a long one on lines of its own, as a shell takes it."""
    words = _words(packages, folders, synced=synced)
    line = f"{text}: {' '.join(words)}"
    if len(line) <= _LONGEST_LINE:
        return [line]
    return [f"{text}:", *[f"  {word} \\" for word in words[:-1]], f"  {words[-1]}"]


def _words(packages: Iterable[LockedPackage], folders: Iterable[LockedFolder], *, synced: bool) -> list[str]:
    sources = sorted({str(known_as(package)) for package in packages})
    names = [folder.name for folder in folders]
    where = [f"-C {shlex.quote(name)}" for name in names] if names != ["."] else []
    return ["xplock retire", *sources, *where, *(["--synced"] if synced else [])]


def _by_ending(lock: Lock) -> dict[str, list[LockedPackage]]:
    """Return which packages a text can mean: the last components of a source, or all of them."""
    found: dict[str, list[LockedPackage]] = {}
    for package in lock.installed():
        parts = [str(source).split("/") for source in _names(package)]
        for text in {"/".join(part[i:]) for part in parts for i in range(len(part))}:
            found.setdefault(text, []).append(package)
    return found


def _choose(name: str, packages: Sequence[LockedPackage]) -> LockedPackage:
    """Return the package that a text means: that of a full name, or else one that is leaving."""
    full = [package for package in packages if name in map(str, _names(package))]
    leaving = [package for package in packages if package.state is not State.WANTED]
    found = full or leaving or packages
    if len(found) > 1:
        raise NotInLock(
            f"{name} names {len(found)} packages of the lock",
            why=[describe(package) for package in found[:_SHOWN]],
            next="write the source in full",
        )
    return found[0]


def _names(package: LockedPackage) -> set[Source]:
    """Return the sources that mean a package: an alias has two."""
    return {known_as(package), package.cluster_source}


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
    return NotInLock(f"{name} is not in the lock", why=why, next=[_ADVICE, _WAY_BACK])


def _guesses(name: str, folders: Sequence[LockedFolder]) -> list[str]:
    found: dict[str, None] = {}
    for folder in folders:
        try:
            find_known(name, folder.lock)
        except UnknownPackage as error:
            found |= dict.fromkeys(line for line in error.why if line != NO_SUCH_NAME)
    return list(found)


def _reasons(one: Named, places: Collection[Place], holders: Holders) -> Iterator[_Reason]:
    package, found = one.package, holders.get(one.place, ())
    if package.state is State.WANTED:
        if package.root is not None:
            yield _Reason(package, f"{describe(package)} is asked for{_where(one.folder.name)}", _DROP_FIRST)
        for dependant in package.required_by:
            yield _Reason(package, f"{describe(package)} is required by {dependant}", _DROP_FIRST)
        return
    for holder in found:
        # What has no guard itself needs none on what it needs, as long as that is rendered.
        enough = holder.package.released and not one.drops
        if holder.place not in places and not enough:
            yield _reason(one, holder)


def _reason(one: Named, holder: Holder) -> _Reason:
    package, other = describe(one.package), describe(holder.package)
    elsewhere = _where(holder.place.folder) if holder.place.folder != one.folder.name else ""
    match holder.hold:
        case Hold.REPLACED:
            why = f"{other}{elsewhere} is switched off, and {package} has what it installed"
        case Hold.STALE:
            why = (
                f"the cluster's Lock still names {package} for {other}{elsewhere}, "
                "and Crossplane would install it again"
            )
        case Hold.IN_PLACE:
            why = (
                f"the cluster's Lock still has an entry of {other}{elsewhere}, "
                f"and Crossplane would install what that names in the place of {package}"
            )
        case Hold.DEPENDS:
            why = f"{other}{elsewhere} needs {package}"
    return _Reason(one.package, why, _way_out(holder))


def _way_out(holder: Holder) -> str:
    package = holder.package
    if package.state is not State.WANTED:
        return ""
    if holder.is_stale:
        return (
            f"another version of {package.source} clears its stale entry: xplock lock -P {package.source}; "
            "retire after every cluster has synced that"
        )
    return (
        f"remove {package.source} from what you ask for{_where(holder.place.folder)}; lock that, let it sync, "
        "and retire what is leaving then"
    )


def _together(named: Sequence[Named], holders: Holders) -> list[LockedPackage]:
    """Return what is named and everything leaving that needs it, directly or not."""
    found = {one.place: one.package for one in named}
    waiting = list(found)
    while waiting:
        for holder in holders.get(waiting.pop(), ()):
            if holder.place not in found and holder.package.state is not State.WANTED:
                found[holder.place] = holder.package
                waiting.append(holder.place)
    return list(found.values())


def _where(folder: str) -> str:
    return "" if folder == "." else f" in {folder}"
