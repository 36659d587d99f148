"""What a cluster has already, beside a lock that would give it other objects for the same sources.

A second object for one source stops every package of a cluster. So a lock keeps the names that its cluster has, or is
refused with the roots that keep them.
"""

from collections.abc import Collection, Iterable, Iterator

from render.errors import Unsatisfiable
from render.live.lock import LiveLock
from render.live.names import Installed, parse_live_source, read_installed, without_tag
from render.lock.model import Lock, LockedPackage
from render.references import PartialSource, Source
from render.texts import counted, first_names

_SHOWN = 5
_SECOND_OBJECT = "a second object for one source stops every package in the cluster"


class UnclearSource(Unsatisfiable):
    """A package that a cluster knows by another text than the lock."""


class InstalledOtherwise(Unsatisfiable):
    """Packages that a cluster has under other names."""


class InstalledAsOtherKind(Unsatisfiable):
    """A package that a cluster has as another kind of object."""


class ObjectInUse(Unsatisfiable):
    """A package object of a cluster that would get another source."""


class MovedBeforeLocked(Unsatisfiable):
    """A move of a package that a cluster has and no lock knows."""


def find_contradictions(
    after: Lock, before: Lock, live: LiveLock, moved: Collection[Source]
) -> Iterator[Unsatisfiable]:
    """Yield the errors of a lock that would not keep what its cluster has."""
    yield from _find_unclear(after, live)
    installed = {one.source: one for one in read_installed(live)}
    yield from _find_moves(installed, before, moved)
    pairs = [(p, installed[p.cluster_source]) for p in after.in_order() if p.cluster_source in installed]
    yield from _find_kinds(pairs)
    yield from _find_names(pairs)
    yield from _find_taken(after, installed.values())


def note_others(after: Lock, live: LiveLock) -> Iterator[str]:
    """Yield a note about packages of the cluster that the lock does not have."""
    known = {package.cluster_source for package in (*after.installed(), *after.provided.values())}
    more = [f"{one.source} {one.entry.version}" for one in read_installed(live) if one.source not in known]
    if more:
        verb = "stays as it is" if len(more) == 1 else "stay as they are"
        yield (
            f"the cluster has {counted(len(more), 'package')} that nothing here asks for, which {verb}: "
            f"{first_names(more, _SHOWN)}"
        )


def _find_unclear(after: Lock, live: LiveLock) -> Iterator[UnclearSource]:
    """Find entries that may be packages of the lock, under a source that Crossplane compares as another one."""
    for entry in live.packages:
        source = parse_live_source(entry.source)
        if isinstance(source, Source):
            continue
        text = without_tag(entry.source)
        for package in after.in_order():
            known = package.cluster_source
            if text == str(known) or (isinstance(source, PartialSource) and text == known.repository):
                yield UnclearSource(
                    f"the cluster knows {known} as {entry.source}",
                    why=[
                        f"that is the source of its revision {entry.name}; Crossplane compares these texts",
                        "it lacks its registry" if source else "its spec.package has a tag and a digest",
                    ],
                    next=[
                        f"set spec.package of that object to {known}:{package.version_tag or 'TAG'}, and wait for it",
                        "then adopt the cluster again",
                    ],
                )


def _find_moves(
    installed: Collection[Source], before: Lock, moved: Collection[Source]
) -> Iterator[MovedBeforeLocked]:
    for source in sorted(moved):
        if source in installed and source not in before.packages and source not in before.deactivated:
            yield MovedBeforeLocked(
                f"the cluster has {source}, and it was never locked",
                why="a move hands over the object of a lock before; without one, both packages would be active",
                next=[
                    f"adopt {source} as the cluster has it, without the move and its successors, and let that sync",
                    "then make the move",
                ],
            )


def _find_kinds(pairs: Iterable[tuple[LockedPackage, Installed]]) -> Iterator[InstalledAsOtherKind]:
    for package, one in pairs:
        if one.entry.kind and one.entry.kind != package.kind:
            yield InstalledAsOtherKind(
                f"{package.source} {package.version} is a {package.kind}, and the cluster has a {one.entry.kind}",
                why=f"its revision there is {one.entry.name}, of version {one.entry.version}",
                next=f"ask for a version that is a {one.entry.kind}, such as {one.entry.version}",
            )


def _find_names(pairs: Iterable[tuple[LockedPackage, Installed]]) -> Iterator[InstalledOtherwise]:
    wrong = [(package, one) for package, one in pairs if not one.may_be(package.object_name)]
    if not wrong:
        return
    yield InstalledOtherwise(
        f"the cluster has {counted(len(wrong), 'package')} under {'another name' if len(wrong) == 1 else 'other names'}",
        why=[_SECOND_OBJECT, *(_describe(package, one) for package, one in wrong)],
        next=[_advise(package, one) for package, one in wrong],
    )


def _describe(package: LockedPackage, one: Installed) -> str:
    there = one.object_name or f"an object with the revision {one.entry.name}"
    return f"{package.cluster_source} is {there} there, and would be {package.object_name} as well"


def _advise(package: LockedPackage, one: Installed) -> str:
    if package.root is None:
        return f"adopt {package.cluster_source}, too: --only {package.cluster_source}"
    if one.object_name:
        return f"name {package.cluster_source} {one.object_name} where you ask for it"
    return f"ask for {package.cluster_source} under the name that its object has"


def _find_taken(after: Lock, installed: Iterable[Installed]) -> Iterator[ObjectInUse]:
    """Find objects of other packages in the cluster that packages of the lock would take over."""
    names = {(str(package.kind), package.object_name): package for package in after.in_order()}
    for one in installed:
        package = names.get((one.entry.kind, one.object_name or ""))
        if package is None or one.source in _own_sources(package):
            continue
        yield ObjectInUse(
            f"the cluster has another package as {package.kind} {package.object_name}",
            why=[
                f"{one.source} {one.entry.version} is there under that name",
                f"the lock would give the object to {package.cluster_source} {package.version}",
            ],
            next=[
                f"give {package.cluster_source} a name of its own in a manifest, or",
                f"adopt {one.source} first, and move it in a later lock",
            ],
        )


def _own_sources(package: LockedPackage) -> set[Source]:
    return {package.source, package.cluster_source, *(one.source for one in package.replaces)}
