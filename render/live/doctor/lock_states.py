"""States of the Lock itself: a doubled source, stale and broken entries, a tag in a source, a cycle."""

from collections.abc import Iterator, Sequence

from render.live.doctor.case import Case, key_of
from render.live.doctor.commands import detach, kubectl, patch_spec, remove_entries, revision_key, switch_off
from render.live.doctor.messages import CYCLE, GRAPH_BROKEN
from render.live.doctor.model import Finding, State
from render.live.lock import LivePackage
from render.live.model import PackageObject, RevisionState
from render.live.names import parse_live_source
from render.names import object_name
from render.references import split_tag
from render.resolve.mimic.graph import find_cycle
from render.texts import counted, first_names

_LOCK = ("Lock", "lock")
_SHOWN = 5


def find_poisoned(case: Case) -> Iterator[Finding]:
    """Find sources that the Lock holds twice: no graph can be built, and every package stops."""
    for source, entries in _doubled(case):
        packages = _packages_of(case, entries)
        ghosts = [entry for entry in entries if case.revision_of(entry) is None]
        if ghosts and case.cluster.revisions:
            yield _ghost(case, source, entries, ghosts)
        elif len(packages) > 1:
            yield _two_packages(case, source, packages)
        else:
            yield _two_revisions(case, source, entries, packages)


def _doubled(case: Case) -> list[tuple[str, list[LivePackage]]]:
    found: dict[str, list[LivePackage]] = {}
    for entry in case.entries:
        found.setdefault(entry.source, []).append(entry)
    return [(source, entries) for source, entries in sorted(found.items()) if len(entries) > 1]


def _packages_of(case: Case, entries: Sequence[LivePackage]) -> list[PackageObject]:
    found = {}
    for entry in entries:
        revision = case.revision_of(entry)
        package = case.package_of(revision) if revision else None
        if package:
            found[key_of(package)] = package
    return [found[key] for key in sorted(found)]


def _what(source: str) -> str:
    return f"the Lock holds {source} twice; no package can resolve anything"


def _two_packages(case: Case, source: str, packages: Sequence[PackageObject]) -> Finding:
    described = [f"{_title(one)} ({', '.join(_facts(case, source, one))})" for one in packages]
    touched = _copy_to_touch(case, source, packages)
    others = [one for one in packages if one is not touched]
    why = [f"{' and '.join(described)} have this source"]
    care = (
        f"do not delete {_title(others[0])}: it controls what is installed"
        if touched
        else "the one that controls no definitions may be switched off; give the definitions (crds) to tell which"
    )
    return Finding(
        State.POISONED,
        _what(source),
        tuple(why),
        key_of(touched) if touched else None,
        tuple(switch_off(case, touched)) if touched else _show_controllers(case),
        care,
        _after(case, source, touched),
        tuple(key_of(one) for one in packages),
        tuple(case.open(*GRAPH_BROKEN)),
    )


def _after(case: Case, source: str, touched: PackageObject | None) -> str:
    locked = case.locked(source)
    if locked and touched and locked.object_name == touched.name:
        return f"the lock of the folder has the name {touched.name}: lock the other one, or Git brings this one back"
    return "lock it under one name, so that it does not come back"


def _show_controllers(case: Case) -> tuple[str, ...]:
    columns = (
        "custom-columns=NAME:.metadata.name,CONTROLLER:.metadata.ownerReferences[?(@.controller==true)].name"
    )
    return (kubectl(case, "get", "crd", "-o", columns),)


def _copy_to_touch(case: Case, source: str, packages: Sequence[PackageObject]) -> PackageObject | None:
    """Return the copy that controls nothing; None if that cannot be told."""
    empty = [one for one in packages if not _objects(case, one)]
    if empty and len(empty) < len(packages):
        return empty[0]
    controlling = [one for one in packages if _controls(case, one)]
    if len(controlling) == 1:
        return next(one for one in packages if one is not controlling[0])
    if empty:
        # None has installed anything yet, so the choice is free: the lock's own name stays, else the user's.
        locked = case.locked(source)
        kept = [one for one in packages if locked and one.name == locked.object_name]
        kept = kept or [one for one in packages if not _is_made_by_crossplane(source, one)]
        return next((one for one in packages if not kept or one is not kept[0]), None)
    return None


def _objects(case: Case, package: PackageObject) -> int:
    return sum(one.objects for one in case.revisions_of(package))


def _controls(case: Case, package: PackageObject) -> bool:
    names = {one.name for one in case.revisions_of(package)}
    owners = [one.metadata.controller for one in case.cluster.definitions]
    return any(owner is not None and owner.name in names for owner in owners)


def _is_made_by_crossplane(source: str, package: PackageObject) -> bool:
    parsed = parse_live_source(source)
    derived = object_name(parsed) if parsed else ""
    return package.name == derived and not package.metadata.labels and not package.metadata.annotations


def _facts(case: Case, source: str, package: PackageObject) -> Iterator[str]:
    locked = case.locked(source)
    if locked and locked.object_name == package.name:
        yield "in the lock of the folder"
    objects = _objects(case, package)
    yield counted(objects, "object") if objects else "no objects"
    if _controls(case, package):
        yield "controls its definitions"


def _title(package: PackageObject) -> str:
    return f"{package.kind}/{package.name}"


def _ghost(case: Case, source: str, entries: Sequence[LivePackage], ghosts: Sequence[LivePackage]) -> Finding:
    # One entry has to stay.
    left = ghosts[1:] if len(ghosts) == len(entries) else ghosts
    return Finding(
        State.POISONED,
        _what(source),
        tuple(f"the entry {entry.name} has no revision" for entry in left),
        _LOCK,
        (remove_entries(case, left),),
        objects=(_LOCK,),
        troubles=tuple(case.open(*GRAPH_BROKEN)),
    )


def _two_revisions(
    case: Case, source: str, entries: Sequence[LivePackage], packages: Sequence[PackageObject]
) -> Finding:
    """Return the finding for an upgrade in which the old revision has not left the Lock yet."""
    revisions = [one for entry in entries if (one := case.revision_of(entry))]
    old = sorted(revisions, key=lambda one: (one.number, one.name))[:-1]
    stays = [one for one in old if one.state is not RevisionState.INACTIVE]
    entries_left = [entry for entry in entries if any(entry.name == one.name for one in old)]
    run = [patch_spec(case, revision_key(one), desiredState="Inactive") for one in stays]
    return Finding(
        State.POISONED,
        _what(source),
        (f"two revisions of one package are in it: {first_names([one.name for one in entries], _SHOWN)}",),
        revision_key(old[0]) if old else _LOCK,
        tuple(run or [remove_entries(case, entries_left)]),
        "wait a minute first: during an upgrade this lasts a moment",
        "",
        tuple(key_of(one) for one in packages) or (_LOCK,),
        tuple(case.open(*GRAPH_BROKEN)),
    )


def find_stale(case: Case) -> Iterator[Finding]:
    """Find entries that no revision keeps: packages that need them count on something that is not there."""
    doubled = {source for source, _ in _doubled(case)}
    for entry in case.entries:
        reason = _staleness(case, entry)
        if not reason or entry.source in doubled:
            continue
        missing = case.reached(entry) - case.by_source.keys()
        dependants = case.dependants(entry.source)
        is_gone = case.revision_of(entry) is None
        effects = [
            *(
                [f"it names {first_names(sorted(missing), _SHOWN)}, which Crossplane creates again and again"]
                if missing
                else []
            ),
            *(
                [
                    f"needed by {first_names([one.source for one in dependants], _SHOWN)}, as if it were installed"
                ]
                if dependants and is_gone
                else []
            ),
        ]
        yield Finding(
            State.STALE,
            f"the Lock has an entry of {entry.source} {entry.version} that nothing keeps",
            (f"{entry.name}: {reason}", *effects),
            _LOCK,
            (remove_entries(case, [entry]),),
            then="Crossplane creates what is needed and missing",
            objects=(_LOCK,),
            is_stuck=bool(effects),
        )


def _staleness(case: Case, entry: LivePackage) -> str:
    if not case.cluster.revisions:
        return ""
    revision = case.revision_of(entry)
    if revision is None:
        return "there is no revision of this name"
    if revision.state is RevisionState.INACTIVE:
        return "its revision is inactive"
    return "its revision skips dependency resolution" if revision.skips_dependencies else ""


def find_broken(case: Case) -> Iterator[Finding]:
    """Find entries with a dependency that has no source."""
    broken = [one for one in case.entries if any(not edge.package for edge in one.edges)]
    for entry in broken:
        revision = case.revision_of(entry)
        packages = _packages_of(case, [entry])
        yield Finding(
            State.BROKEN,
            f"the Lock's entry of {entry.source} has a dependency without a source",
            (f"{entry.name}: one of its dependencies has an empty package",),
            revision_key(revision) if revision else _LOCK,
            (remove_entries(case, [entry]),),
            "upgrade Crossplane first: releases after v1.20.0 write no such entry",
            "its revision puts itself back, with its dependencies as the package has them",
            (_LOCK, *(key_of(one) for one in packages)),
            (
                *(trouble for one in packages for trouble in case.open_of(one)),
                *case.open("dependency package is not valid", "could not parse reference"),
            ),
        )


def find_tagged(case: Case) -> Iterator[Finding]:
    """Find sources with a tag inside: nothing that depends on the package can see it."""
    for entry in case.entries:
        source, tag = split_tag(entry.source)
        if tag is None:
            continue
        revision = case.revision_of(entry)
        package = case.package_of(revision) if revision else None
        key = key_of(package) if package else None
        yield Finding(
            State.TAGGED,
            f"the Lock knows {source} as {entry.source}; packages that need it miss it",
            (f"spec.package has both a tag and a digest: {package.package if package else entry.source}",),
            key,
            (patch_spec(case, key, package=f"{source}:{tag}"),) if key else (),
            "the digest is no longer pinned; an ImageConfig pins it without this effect (xplock renders one)",
            f"packages that need {source} find it",
            (key,) if key else (_LOCK,),
            tuple(case.waiting_for(source)),
        )


def find_cycles(case: Case) -> Iterator[Finding]:
    """Find packages that depend on each other: while there is one such cycle, nothing is installed."""
    cycle = find_cycle(case.simulated)
    if not cycle:
        return
    entries = [case.by_source[source] for source in dict.fromkeys(cycle)]
    packages = [one for entry in entries for one in case.packages_with(entry.source)]
    # Everything new waits, whatever it is.
    waiting = [*case.open("dependencies"), *case.open(CYCLE)]
    yield Finding(
        State.CYCLE,
        "packages depend on each other; nothing is installed any more",
        (" -> ".join(cycle),),
        key_of(packages[-1]) if packages else None,
        tuple(detach(case, entries[-1:])),
        "Crossplane does not check the dependencies of these packages any more",
        "the others are installed; a version without the cycle is the way to the end of it",
        tuple(key_of(one) for one in packages),
        tuple(dict.fromkeys(waiting)),
    )
