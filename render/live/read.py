"""Objects that kubectl printed → a Cluster; each object is read as soon as it is parsed, and kept without its schemas."""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

from render.errors import InvalidInput
from render.limits import Limits
from render.live.kinds import PROVIDER_CONFIGS, LiveObject, find_reader, read_conditions, read_metadata
from render.live.model import (
    Cluster,
    ConfigObject,
    Definition,
    Deployment,
    Event,
    LockObject,
    PackageObject,
    Pod,
    Revision,
)
from render.live.stream import InvalidLiveObjects, iterate_objects
from render.texts import first_lines, visible
from render.yaml.fields import Fields, Problems

T = TypeVar("T")
# Kind, namespace and name; of a ProviderConfig the kind has its group, since every provider has that kind.
_Key: TypeAlias = tuple[str, str, str]

# How many problems an error lists.
_SHOWN = 20


class TwoClusters(InvalidInput):
    """Objects that cannot all be of one cluster."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(
            "the input holds objects of two clusters",
            why=[f"{name} is there twice, as two different objects" for name in first_lines(names, _SHOWN)],
            next="give the objects of one cluster, all read at one time",
        )


class NoCrossplane(InvalidInput):
    """Objects without any of Crossplane's package manager."""

    def __init__(self) -> None:
        super().__init__(
            "the input holds no packages, and no Lock of Crossplane",
            why="every cluster with Crossplane's package manager has a Lock",
            next="see whether the cluster has one: kubectl get locks.pkg.crossplane.io",
        )


class ClusterReader:
    """Collects the objects of one cluster out of several texts; other kinds of objects are passed over."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._found: dict[_Key, tuple[int, LiveObject]] = {}
        self._problems: list[str] = []
        self._notes: list[str] = []
        self._doubled: set[str] = set()

    def add(self, read: Callable[[int], bytes]) -> None:
        """Read one text to its end."""
        for value in iterate_objects(read, self._limits):
            self._add(value)

    def note(self, line: str) -> None:
        """Record what could not be read."""
        self._notes.append(line)

    def definitions(self) -> list[str]:
        """Return the names of the definitions that were read."""
        return sorted({made.name for _, made in self._found.values() if isinstance(made, Definition)})

    def cluster(self, *, needs_packages: bool = True) -> Cluster:
        """Return what was read; raise for all problems at once."""
        if self._problems:
            raise InvalidLiveObjects(first_lines(sorted(self._problems), _SHOWN))
        if self._doubled:
            raise TwoClusters(sorted(self._doubled))
        values = [value for _, (_, value) in sorted(self._found.items(), key=lambda item: item[0])]
        configs = _those(values, ConfigObject)
        cluster = Cluster(
            packages=_those(values, PackageObject),
            revisions=_those(values, Revision),
            lock=next(iter(_those(values, LockObject)), None),
            image_configs=tuple(one for one in configs if one.kind == "ImageConfig"),
            runtime_configs=tuple(one for one in configs if one.kind == "DeploymentRuntimeConfig"),
            provider_configs=tuple(one for one in configs if one.kind in PROVIDER_CONFIGS),
            definitions=_those(values, Definition),
            deployments=_those(values, Deployment),
            pods=_those(values, Pod),
            events=_those(values, Event),
            notes=tuple(self._notes),
        )
        if needs_packages and not cluster.packages and cluster.lock is None:
            raise NoCrossplane
        return cluster

    def _add(self, value: Any) -> None:
        if not isinstance(value, dict):
            self._problems.append("expected objects, found something else")
            return
        kind = str(value.get("kind"))
        read = find_reader(str(value.get("apiVersion")), kind)
        if read is None:
            return
        problems = Problems()
        fields = Fields(value, problems)
        metadata = read_metadata(fields)
        # Crossplane uses one Lock only.
        if kind == "Lock" and metadata.name != "lock":
            return
        made = read(metadata, read_conditions(fields), fields)
        name = f"{kind} {visible(metadata.name)}"
        self._problems += [f"{name}: {text}" for text in problems.texts()]
        group = str(value["apiVersion"]).rpartition("/")[0] if kind in PROVIDER_CONFIGS else ""
        self._put((f"{kind}{group}", metadata.namespace, metadata.name), _version_of(value), made, name)

    def _put(self, key: _Key, version: int, made: LiveObject, name: str) -> None:
        known_version, known = self._found.get(key, (version, made))
        if known.metadata.uid != made.metadata.uid or (version == known_version and known != made):
            self._doubled.add(name)
        if version >= known_version:
            self._found[key] = (version, made)


def _version_of(value: Any) -> int:
    """Return the version of an object: of two texts read one after the other, the later one counts."""
    metadata = value.get("metadata")
    text = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
    return int(text) if isinstance(text, str) and text.isdecimal() and len(text) < 30 else 0


def _those(values: Iterable[LiveObject], kind: type[T]) -> tuple[T, ...]:
    return tuple(value for value in values if isinstance(value, kind))
