"""Stale entries of the cluster's Lock: how long they stay, the packages they name, the versions they bind."""

from collections.abc import Iterable, Iterator, Sequence

from render.crossplane import keeps_stale_entries
from render.lock.candidates import locked_candidate
from render.lock.derived.detaching import stays_attached
from render.lock.model import Lock, LockedPackage, State, named_source
from render.names import object_name
from render.references import Source, parse_dependency_source
from render.resolve.model import Bound, Edge
from render.versions.requests import Request
from render.versions.version import Version


def stale_bounds(before: Lock, elsewhere: Iterable[LockedPackage] = ()) -> Iterator[Bound]:
    """Yield a bound for each package that must keep its version while stale entries name it.

    Only a package with a name given by the user is held: while its revision changes, Crossplane's resolver would
    create an object with the derived name as well.
    """
    for package, holders in held_packages(before, elsewhere):
        source = package.source
        edge = Edge(source, Request(tag=package.version_tag), holders[0].source, "a stale entry")
        advice = _advise(package, holders)
        yield Bound(edge, locked_candidate(holders[0]), (advice,))


def _advise(package: LockedPackage, holders: Sequence[LockedPackage]) -> str:
    attached = [holder for holder in holders if stays_attached(holder)]
    first = (
        "remove skipDependencyResolution: false from the manifest of"
        if attached
        else "lock another version of"
    )
    return f"{first} {_join_sources(attached or holders)}, {'lock, ' if attached else ''}let the cluster sync, and change {package.source} after that"


def held_packages(
    before: Lock, elsewhere: Iterable[LockedPackage]
) -> Iterator[tuple[LockedPackage, list[LockedPackage]]]:
    """Yield the packages named by the user that such entries name, with the packages whose entries those are."""
    for source, holders in sorted(entry_names([*before.packages.values(), *elsewhere]).items()):
        package = before.packages.get(source)
        if package and package.version_tag and package.object_name != object_name(package.cluster_source):
            yield package, holders


def _join_sources(packages: Iterable[LockedPackage]) -> str:
    return " and ".join(str(package.source) for package in packages)


def entry_names(packages: Iterable[LockedPackage]) -> dict[Source, list[LockedPackage]]:
    """Return the sources that stale entries name, and those of packages that stay attached, with these packages."""
    known = list(packages)
    found = stale_names(known)
    for holder in filter(stays_attached, known):
        for dependency in holder.dependencies:
            found.setdefault(named_source(dependency, holder.source), []).append(holder)
    return found


def stale_names(packages: Iterable[LockedPackage]) -> dict[Source, list[LockedPackage]]:
    """Return the sources that stale entries name, with the packages whose entries those are."""
    found: dict[Source, list[LockedPackage]] = {}
    for package in sorted(packages, key=lambda package: package.source):
        for text in package.stale_entry:
            source = parse_dependency_source(text)
            if isinstance(source, Source):
                found.setdefault(source, []).append(package)
    return found


def warn_of_stale_names(before: Lock, crossplane: Version | None) -> list[str]:
    """Return a note for each package that an upgrade of Crossplane to this version could install twice."""
    if keeps_stale_entries(crossplane):
        return []
    return [
        f"{package.source} is installed as {package.object_name}, and the cluster's Lock still names it for {_join_sources(holders)}; "
        f"before Crossplane there becomes {crossplane}, lock another version of that and let the cluster sync"
        for package, holders in held_packages(before, ())
    ]


def stale_entry(
    package: LockedPackage, before: LockedPackage | None, crossplane: Version | None
) -> tuple[str, ...]:
    """Return the sources that the stale entry of a package names; only a detached package has one."""
    if not keeps_stale_entries(crossplane) or not package.detached:
        return ()
    if before is None or before.state is State.DEACTIVATED:
        return ()
    if before.digest != package.digest:
        # Back at a recent version: a cluster that never saw the one in between still has its entry.
        returned = any(pin.digest == package.digest for pin in before.kept_pins)
        return _named_by(package) if returned else ()
    if before.detached:
        return before.stale_entry
    return _named_by(before)


def _named_by(package: LockedPackage) -> tuple[str, ...]:
    return tuple(sorted({dependency.package for dependency in package.dependencies}))
