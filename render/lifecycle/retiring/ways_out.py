"""How packages leave that stand in the way of a lock: edits and commands, in their order."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

from render.folders.members import plain_path
from render.lifecycle.retiring.commands import list_packages, retire_command
from render.lifecycle.states import Context, was_guarded
from render.lock.model import LockedPackage, Provided, State, named_source
from render.references import Source
from render.resolve.model import Bound, Resolution
from render.texts import first_names

_SHOWN_NAMES = 3
_SYNCED = "  # when every cluster has synced the commit of that; then what it prints"


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
