"""The packages that a call of `retire` names, the blockers of each, and the way out."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from render.commands import as_path, shell, xplock
from render.errors import InvalidInput, Unsatisfiable
from render.folders.members import plain_path
from render.lifecycle.blockers import Blocker, Blockers, LockedFolder, Place, Reason
from render.lifecycle.states import Context, was_guarded
from render.lock.lookup import (
    NO_SUCH_NAME,
    NameIndex,
    UnknownPackage,
    find_known,
    index_installed,
    write_in_full,
)
from render.lock.model import LockedPackage, Provided, State, named_source
from render.references import Source
from render.resolve.model import Bound, Resolution
from render.texts import first_lines, first_names

_SHOWN = 50
_SHOWN_NAMES = 3
_SYNCED = "  # when every cluster has synced the commit of that; then what it prints"
# Errors cut long lines, and half a command cannot be pasted.
_LONGEST_LINE = 400
_SHOWN_DIGEST = len("sha256:") + 12
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


def describe(package: LockedPackage) -> str:
    """Return a package in two words: its source and its version."""
    version = f"{package.digest[:_SHOWN_DIGEST]}…" if package.by_digest else package.version
    return f"{package.display_source} {version}"


def list_packages(packages: Iterable[LockedPackage]) -> str:
    """Return packages as a list in a sentence, or their number."""
    names = sorted({describe(package) for package in packages})
    return " and ".join(names) if len(names) <= _SHOWN_NAMES else f"{len(names):,} packages"


def retire_command(packages: Iterable[LockedPackage], folders: Iterable[str], *, synced: bool = False) -> str:
    """Return the command that takes packages of some folders one step further."""
    return " ".join(_words(packages, folders, synced=synced))


def retire_advice(
    text: str, packages: Iterable[LockedPackage], folders: Iterable[str], *, synced: bool = False
) -> list[str]:
    """Return the same command as advice; a long one on several lines, as a shell accepts it."""
    words = _words(packages, folders, synced=synced)
    line = f"{text}: {' '.join(words)}"
    if len(line) <= _LONGEST_LINE:
        return [line]
    return [f"{text}:", *[f"  {word} \\" for word in words[:-1]], f"  {words[-1]}"]


def _words(packages: Iterable[LockedPackage], folders: Iterable[str], *, synced: bool) -> list[str]:
    named, names = list(packages), list(folders)
    sources = sorted({str(package.display_source) for package in named})
    where = [shell("-C", as_path(name)) for name in names] if names != ["."] else []
    # The first step was refused without this flag, so the user has agreed; the second step is refused without it, too.
    agreed = any(package.unclaimed and (synced or package.released) for package in named)
    flags = {"--synced": synced, "--delete-objects": agreed}
    return ["xplock retire", *sources, *where, *(flag for flag, given in flags.items() if given)]


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


def retire_first(
    sources: Collection[Source], orphans: Mapping[Source, LockedPackage], context: Context
) -> list[str]:
    """Return how to retire orphans, with those that depend on them, and to lock after that.

    `retire` reads the lock, where a package is leaving only after a lock without what stands against it.
    """
    packages = _known_before(sources, orphans, context)
    if not packages:
        return []
    return retire_losing(sources, orphans, context) or _leave_by_lock(packages, context)


def retire_losing(
    sources: Collection[Source], orphans: Mapping[Source, LockedPackage], context: Context
) -> list[str]:
    """Return the same where a lock without what is new is no way: used folders have already changed."""
    packages = _known_before(sources, orphans, context)
    steps = _two_steps(packages, context.folder)
    if packages and all(package.state is not State.WANTED for package in packages):
        return ["retire it, and lock again:", *steps, f"  {context.call.again()}"]
    changed = _changed_below(packages, context)
    return _with_used_folders(changed, steps, context) if changed else []


def _known_before(
    sources: Collection[Source], orphans: Mapping[Source, LockedPackage], context: Context
) -> list[LockedPackage]:
    before = {**context.before.deactivated, **context.before.packages}
    return [before.get(one.source, one) for one in _with_dependants(sources, orphans)]


def _leave_by_lock(packages: Sequence[LockedPackage], context: Context) -> list[str]:
    first, then = f"  {context.call.plain()}", f"  {context.call.again()}"
    steps = _two_steps(packages, context.folder)
    if not context.new_roots:
        return ["let it leave before the upgrade:", first, *steps, then]
    return [
        f"let it leave first: {_without_new(context)}, and run:",
        first,
        *steps,
        "then ask for what is new again, and run:",
        then,
    ]


def leave_users_first(sources: Collection[Source], context: Context) -> list[str]:
    """Return how packages of using folders leave before a version that they do not accept comes."""
    lines: list[str] = []
    call = context.call
    for folder, lock in context.neighbours.using:
        packages = _with_dependants(sources & lock.packages.keys(), lock.packages)
        if not packages:
            continue
        lines += [
            f"let {list_packages(packages)} leave {folder} first: ask there for nothing that needs it and for nothing "
            "that is new, and run:",
            f"  {call.of(folder).plain()}",
            *(_two_steps(packages, folder) if was_guarded(lock) else ()),
        ]
    if not lines:
        return []
    again = call.of(context.folder, *(name for name in call.folders if name != context.folder)).again()
    users = [folder for folder, _ in context.neighbours.using]
    return [
        *lines,
        "then ask for what is new again, and run:",
        f"  {again}",
        "or, where other versions of these packages that accept it are asked for already:",
        *(f"  {call.of(folder).again()}" for folder in (context.folder, *users)),
    ]


def find_blocking(resolution: Resolution, context: Context) -> Callable[[Sequence[Bound]], frozenset[Source]]:
    """Return a function for the dependants of bounds that do not accept the versions of a resolution."""
    chosen = {source: one.candidate for source, one in resolution.packages.items()}
    versions = {**context.neighbours.candidates, **chosen}
    return lambda bounds: frozenset(
        bound.edge.dependant
        for bound in bounds
        if bound.edge.dependant
        and bound.edge.source in versions
        and not versions[bound.edge.source].answers(bound.edge.request)
    )


def _two_steps(packages: Iterable[LockedPackage], folder: str) -> list[str]:
    """Return the commands that retire packages which have their guard."""
    named = list(packages)
    return [
        f"  {retire_command(named, [folder])}",
        f"  {retire_command(named, [folder], synced=True)}{_SYNCED}",
    ]


def _without_new(context: Context) -> str:
    return f"remove what is new ({first_names(context.new_roots, _SHOWN_NAMES)})"


def _changed_below(packages: Iterable[LockedPackage], context: Context) -> list[tuple[Provided, Provided]]:
    """Return what used folders provide to packages in another version than these were locked with, before and now."""
    needed = {named_source(need, one.source) for one in packages for need in one.dependencies}
    both = [(context.before.provided.get(s), context.neighbours.provided.get(s)) for s in sorted(needed)]
    return [(one, now) for one, now in both if one and now and one.version != now.version]


def _with_used_folders(
    changed: Sequence[tuple[Provided, Provided]], steps: Iterable[str], context: Context
) -> list[str]:
    """Return how packages leave that accept only what used folders provided before: that has to come back for it."""
    places = [str(plain_path(Path(context.folder) / now.folder)) for _, now in changed]
    before, after = (
        " and ".join(
            f"{one.source} {one.version} in {place}" for one, place in zip(ones, places, strict=True)
        )
        for ones in zip(*changed, strict=True)
    )
    call = context.call.of(*places, *context.call.folders)
    aside = f", {_without_new(context)}" if context.new_roots else ""
    back = " and for what is new again" if context.new_roots else ""
    return [
        f"let it leave first: ask for {before} again{aside}, and run:",
        f"  {call.plain()}",
        *steps,
        f"then ask for {after} again{back}, and run:",
        f"  {call.again()}",
    ]


def _with_dependants(
    sources: Collection[Source], packages: Mapping[Source, LockedPackage]
) -> list[LockedPackage]:
    """Return packages and all others that depend on them, directly or not."""
    found = {source: packages[source] for source in sources if source in packages}
    waiting = list(found)
    while waiting:
        needed = waiting.pop()
        for source, package in packages.items():
            needs = {named_source(dependency, source) for dependency in package.dependencies}
            if source not in found and needed in needs:
                found[source] = package
                waiting.append(source)
    return [found[source] for source in sorted(found)]


def _where(folder: str) -> str:
    return "" if folder == "." else f" in {folder}"
