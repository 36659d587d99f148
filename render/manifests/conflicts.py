"""What the rendered set must not be: empty, or with two objects in one place."""

from collections.abc import Iterable, Mapping, Sequence

from render.errors import InvalidInput, RenderError
from render.lean import Any
from render.lock.model import LockedPackage
from render.manifests.identity import Identity, identify

# Where objects come from.
FOLDER = "in the folder"
LOCK = "made from the lock"


class NothingToRender(RenderError):
    """A set without any package; applied with pruning, it would delete all that is installed."""

    def __init__(self) -> None:
        super().__init__(
            "there is no package to render",
            why="the lock holds none, and to apply nothing could delete everything",
            next="run `xplock lock`",
        )


class SameSource(RenderError):
    """Two objects that install one source."""

    def __init__(self, source: str, first: str, second: str) -> None:
        super().__init__(
            f"{source} would be installed twice",
            why=f"as {first} and as {second}; two objects for one source stop every package in the cluster",
            next="run `xplock lock`",
        )


class SameObject(InvalidInput):
    """Two objects that would be one in a cluster."""

    def __init__(self, identity: Identity, first: str, second: str) -> None:
        group, kind, namespace, name = identity
        super().__init__(
            f"two objects are {kind} {f'{namespace}/' if namespace else ''}{name}{f' of {group}' if group else ''}",
            why=[
                f"one is {first}",
                f"the other is {second}",
                "a cluster gets one of them, whichever comes last",
            ],
            next=_next_step(first, second),
        )


def check_packages(packages: Sequence[LockedPackage]) -> None:
    """Refuse a set without packages, and a source that is installed twice."""
    if not packages:
        raise NothingToRender
    seen: dict[str, LockedPackage] = {}
    for package in packages:
        known = seen.setdefault(str(package.cluster_source), package)
        if known is not package:
            raise SameSource(str(package.cluster_source), known.object_name, package.object_name)


def check_identities(sections: Iterable[tuple[str, Sequence[Mapping[str, Any]]]]) -> None:
    """Refuse two objects of one identity; every section has an origin and objects."""
    seen: dict[Identity, tuple[str, Mapping[str, Any]]] = {}
    for origin, values in sections:
        for value in values:
            identity = identify(value)
            # Without a name it is what the API server makes of it.
            known = seen.setdefault(identity, (origin, value)) if identity[3] else (origin, value)
            if known[1] is not value:
                raise SameObject(identity, _describe(*known), _describe(origin, value))


def _describe(origin: str, value: Mapping[str, Any]) -> str:
    return (
        f"{origin}, for {value['spec']['package']}"
        if origin == LOCK and "package" in value["spec"]
        else origin
    )


def _next_step(first: str, second: str) -> str:
    if FOLDER not in (first, second):
        return "run `xplock lock`"
    return "keep one of them" if first == second else "remove or rename the one in the folder"
