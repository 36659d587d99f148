"""The Lock of a running cluster, as `kubectl get lock lock -o yaml` or `-o json` prints it."""

from dataclasses import dataclass, field
from typing import Any

from render.errors import InvalidInput
from render.limits import Limits
from render.live.objects import InvalidLiveObjects, parse_live_objects
from render.yaml.fields import Fields, Problems


class InvalidLiveLock(InvalidInput):
    """Something else than the Lock of a cluster."""

    def __init__(self, why: list[str]) -> None:
        super().__init__(
            "this is not the Lock of a cluster",
            why=why,
            next="give the output of: kubectl get lock lock -o yaml",
        )


@dataclass(frozen=True, slots=True)
class LiveDependency:
    """A dependency as an entry of a cluster's Lock names it."""

    package: str
    constraints: str
    kind: str = ""
    api_version: str = ""


@dataclass(frozen=True, slots=True)
class LivePackage:
    """An entry of a cluster's Lock, with the texts that Crossplane compares."""

    name: str
    source: str
    version: str
    # Package and constraints of each, sorted.
    dependencies: tuple[str, ...] = ()
    # Provider, Configuration or Function.
    kind: str = ""
    # The same dependencies as the Lock has them, in its order.
    edges: tuple[LiveDependency, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class LiveLock:
    """The Lock that Crossplane keeps."""

    packages: tuple[LivePackage, ...] = ()


def parse_live_lock(data: bytes, limits: Limits) -> LiveLock:
    """Parse the Lock of a cluster; only its packages are read."""
    try:
        objects = parse_live_objects(data, limits)
    except InvalidLiveObjects as error:
        raise InvalidLiveLock(list(error.why)) from None
    problems = Problems()
    lock = Fields(_find_lock(objects), problems)
    packages = tuple(read_entry(entry) for entry in lock.mappings("packages"))
    if problems:
        raise InvalidLiveLock(problems.texts())
    return LiveLock(packages)


def _find_lock(objects: list[Any]) -> Any:
    locks = [item for item in objects if isinstance(item, dict) and item.get("kind") == "Lock"]
    if len(locks) != 1 or not str(locks[0].get("apiVersion")).startswith("pkg.crossplane.io/"):
        kinds = sorted({str(item.get("kind")) for item in objects if isinstance(item, dict)})
        raise InvalidLiveLock(
            [f"expected one Lock of pkg.crossplane.io, found {', '.join(kinds) or 'nothing'}"]
        )
    return locks[0]


def read_entry(entry: Fields) -> LivePackage:
    """Return an entry of a Lock."""
    edges = tuple(_read_dependency(item) for item in entry.mappings("dependencies"))
    for key in ("name", "source", "version"):
        if not entry.text(key):
            entry.complain("it is missing", key)
    return LivePackage(
        entry.text("name"),
        entry.text("source"),
        entry.text("version"),
        tuple(sorted(f"{edge.package} {edge.constraints}" for edge in edges)),
        _read_kind(entry),
        edges,
    )


def _read_dependency(item: Fields) -> LiveDependency:
    return LiveDependency(
        item.text("package"), item.text("constraints"), _read_kind(item), item.text("apiVersion")
    )


def _read_kind(fields: Fields) -> str:
    # Older releases have the kind as type.
    return fields.text("kind") or fields.text("type")
