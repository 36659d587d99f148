"""Conflicts in the rendered set: no object at all, one source installed twice, two objects with one identity."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath

from render.commands import xplock
from render.errors import InvalidInput, RenderError
from render.lean import Any
from render.lock.model import LockedPackage
from render.manifests.identity import Identity, identify

# The two origins of rendered objects.
FOLDER = "in the folder"
LOCK = "made from the lock"


class EmptyLock(RenderError):
    """A lock without packages, where some are asked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            "there is no package to render",
            why=f"{folder} asks for packages, and its lock has none",
            next=f"run: {xplock('lock', folder=folder)}",
        )


class NothingToRender(InvalidInput):
    """A folder without any object; applied with pruning, an empty set would delete everything."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder} has nothing to render",
            why=[
                "its lock has no packages, and the folder has no other objects",
                "an empty set is never rendered: with it, Argo CD could delete everything that it manages here",
            ],
            next=[
                "delete its Application, which deletes what the cluster still has of it, and remove the folder",
                f"or ask for a package, and run: {xplock('lock', folder=folder)}",
            ],
        )


class SameSource(RenderError):
    """Two package objects that install one source."""

    def __init__(self, source: str, first: str, second: str, folder: str | PurePath) -> None:
        super().__init__(
            f"{source} would be installed twice",
            why=f"as {first} and as {second}; two package objects for one source block every package in the cluster",
            next=f"run: {xplock('lock', folder=folder)}",
        )


class SameObject(InvalidInput):
    """Two objects with the same identity."""

    def __init__(self, identity: Identity, first: str, second: str, folder: str | PurePath) -> None:
        group, kind, namespace, name = identity
        super().__init__(
            f"there are two objects {kind} {f'{namespace}/' if namespace else ''}{name}"
            f"{f' of {group}' if group else ''}",
            why=[
                f"one is {first}",
                f"the other is {second}",
                "the one that is applied last would overwrite the other",
            ],
            next=_next_step(first, second, folder),
        )


def check_packages(packages: Sequence[LockedPackage], folder: str | PurePath = ".") -> None:
    """Raise if a source is installed twice. The folder is for advice, here and below."""
    seen: dict[str, LockedPackage] = {}
    for package in packages:
        known = seen.setdefault(str(package.cluster_source), package)
        if known is not package:
            raise SameSource(str(package.cluster_source), known.object_name, package.object_name, folder)


def check_identities(
    sections: Iterable[tuple[str, Sequence[Mapping[str, Any]]]], folder: str | PurePath = "."
) -> None:
    """Raise if two objects have the same identity; a section is an origin and its objects."""
    seen: dict[Identity, tuple[str, Mapping[str, Any]]] = {}
    for origin, values in sections:
        for value in values:
            identity = identify(value)
            # An object without a name gets one from the API server, so it equals no other.
            known = seen.setdefault(identity, (origin, value)) if identity[3] else (origin, value)
            if known[1] is not value:
                raise SameObject(identity, _describe(*known), _describe(origin, value), folder)


def _describe(origin: str, value: Mapping[str, Any]) -> str:
    return (
        f"{origin}, for {value['spec']['package']}"
        if origin == LOCK and "package" in value["spec"]
        else origin
    )


def _next_step(first: str, second: str, folder: str | PurePath) -> str:
    if FOLDER not in (first, second):
        return f"run: {xplock('lock', folder=folder)}"
    return "keep one of them" if first == second else "remove or rename the one in the folder"
