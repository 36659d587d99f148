"""Rules about several folders of one cluster: what they provide to each other, and what they must not share."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from render.checks.clusters import number_clusters
from render.checks.model import Checked, CheckedFolder, Finding
from render.checks.positions import read_lock_place, read_settings_place
from render.commands import xplock
from render.errors import Differs, RenderError, Unsatisfiable
from render.folders.neighbours import Neighbours
from render.folders.provided import compare_provided, find_unsuited
from render.folders.sharing import advise_sharing, find_shared, package_names, shown_names
from render.inputs.projects import Inputs
from render.lean import replace
from render.lock.graph import LockGraph
from render.lock.model import Lock, LockedPackage, Provided
from render.manifests.identity import identify
from render.texts import first_lines

_SHOWN = 20


def used_unusable(checked: Checked) -> Iterator[Finding]:
    """A used folder is missing or unreadable, has no lock, is part of a cycle, or shares a package."""
    for one in checked.folders:
        if isinstance(one.around, RenderError):
            yield Finding.of("used-unusable", one, one.around, read_settings_place(one, "uses"))


def provided_changed(checked: Checked) -> Iterator[Finding]:
    """A used folder has locked something else than the lock of its using folder records."""
    for one, lock, around in _with_neighbours(checked):
        changes = compare_provided(lock, around)
        if changes and not [*find_unsuited(lock, around), *_needed(lock, around)]:
            yield Finding(
                "provided-changed",
                one.name,
                "its lock records an earlier state of the folders that it uses",
                tuple(first_lines(changes, _SHOWN)),
                (f"run: {xplock('lock', folder=one.name)}",),
                Differs.exit_code,
                read_settings_place(one, "uses"),
            )


def provided_unsuited(checked: Checked) -> Iterator[Finding]:
    """A used folder has locked a version that a package of its using folder does not accept."""
    for one, lock, around in _with_neighbours(checked):
        problems = find_unsuited(lock, around)
        if problems:
            yield Finding(
                "provided-unsuited",
                one.name,
                "the folders that it uses provide versions that its packages do not accept",
                tuple(first_lines(problems, _SHOWN)),
                (f"run: {xplock('lock', folder=one.name)}", "or go back to a version that they accept"),
                Unsatisfiable.exit_code,
                read_settings_place(one, "uses"),
            )


def needed_elsewhere(checked: Checked) -> Iterator[Finding]:
    """A used folder has moved, retired or dropped a package that a using folder depends on."""
    for one, lock, around in _with_neighbours(checked):
        problems = list(_needed(lock, around))
        if problems:
            yield Finding(
                "needed-elsewhere",
                one.name,
                "the folders that it uses no longer provide what its packages need",
                tuple(first_lines(problems, _SHOWN)),
                (f"undo that change, or first remove the dependants in {one.name} and lock both folders",),
                Unsatisfiable.exit_code,
                read_settings_place(one, "uses"),
            )


def rendered_twice(checked: Checked) -> Iterator[Finding]:
    """Two folders of one cluster have locked the same package, or render the same object."""
    clusters = number_clusters(checked)
    known = {one.path: one for one in checked.folders}
    names = {path: sorted(_names(one)) for path, one in known.items()}
    for paths, shared in find_shared(names, clusters).items():
        folders = [known[path] for path in paths]
        yield Finding(
            "rendered-twice",
            folders[0].name,
            f"{' and '.join(one.name for one in folders)} render the same objects",
            tuple(shown_names(shared)),
            _advice(paths, shared, checked),
            Unsatisfiable.exit_code,
            read_lock_place(folders[0], f"source: {shared[0]}\n"),
        )


def _advice(paths: Sequence[Path], shared: Sequence[str], checked: Checked) -> tuple[str, ...]:
    packages = [package_names(one.lock) for one in checked.folders if isinstance(one.lock, Lock)]
    if set().union(*packages).isdisjoint(shared):
        return ("keep it in one of them",)
    return tuple(advise_sharing(paths, checked.members))


def _with_neighbours(checked: Checked) -> Iterator[tuple[CheckedFolder, Lock, Neighbours]]:
    for one in checked.folders:
        known = isinstance(one.inputs, Inputs)
        if known and isinstance(one.lock, Lock) and isinstance(one.around, Neighbours):
            yield one, one.lock, one.around


def _needed(lock: Lock, around: Neighbours) -> Iterator[str]:
    then, now = LockGraph(lock), LockGraph(replace(lock, provided=around.provided))
    for source, needs in then.needs.items():
        package = lock.packages[source]
        for need in needs:
            for target in need.targets:
                if isinstance(target, Provided):
                    there = now.need(source, need.dependency).is_served
                    problem = _loss(package, target, around, answered=there)
                    if problem:
                        yield f"{package.source} {package.version} needs {target.cluster_source}, which {problem}"


def _loss(package: LockedPackage, target: Provided, around: Neighbours, *, answered: bool) -> str:
    """Return what happened to a provided package, if its dependant can no longer use it."""
    if target.source in around.released:
        return f"{target.folder} is about to drop"
    # Crossplane does not look up the dependencies of a detached package, so any name will do.
    unaffected = answered and package.detached
    if not unaffected and any(off.cluster_source == target.cluster_source for off in around.deactivated):
        return f"{target.folder} has deactivated"
    if not answered:
        return f"{target.folder} has dropped"
    names = {other.cluster_source for other in around.provided.values()}
    # Crossplane looks up the dependency by that name.
    if target.cluster_source not in names and not package.detached:
        return f"{target.folder} provides under another name"
    return ""


def _names(one: CheckedFolder) -> set[str]:
    packages = package_names(one.lock) if isinstance(one.lock, Lock) else set()
    objects = () if isinstance(one.objects, RenderError) else one.objects
    return packages | {name for value in objects if (name := _object_name(value))}


def _object_name(value: Mapping[str, Any]) -> str:
    group, kind, namespace, name = identify(value)
    # The API server generates the name of an object without one.
    return (
        f"{kind} {f'{namespace}/' if namespace else ''}{name}{f' of {group}' if group else ''}"
        if name
        else ""
    )
