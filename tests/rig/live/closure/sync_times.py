"""The moments between a push and packages that run, by the arrival of what a watch says of them."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from render.references import parse_reference
from rig.live.application import WELL, conditions_of
from rig.servers.client import Client, Object, Watch, Watches
from rig.servers.kinds import APPLICATIONS, IMAGE_CONFIGS, PACKAGES

# When it arrived, what happened, and the object after it.
_Arrival: TypeAlias = tuple[float, str, Object]


@dataclass(frozen=True, slots=True)
class SyncTimes:
    """When each step of a sync was done, in seconds after the push."""

    operation: float
    pins: float
    first_package: float
    last_package: float
    healthy: float


class SyncWatch(Watches):
    """Watches one sync while the context lasts: its Application, all ImageConfigs, and the packages of some sources."""

    def __init__(self, client: Client, application: str, sources: Collection[str]) -> None:
        self._application, self._sources = application, frozenset(sources)
        self._applications, self._pins = Watch(client, APPLICATIONS), Watch(client, IMAGE_CONFIGS)
        self._packages = [Watch(client, kind) for kind in PACKAGES]
        super().__init__(self._applications, self._pins, *self._packages)

    def times(self, pushed: float) -> SyncTimes | None:
        """Return how long each step took since the push; None until all packages run."""
        healthy = self._first_all_run()
        if healthy is None:
            return None
        operation = next(at for at, _, value in _arrivals(self._applications) if self._is_started(value))
        pins = max(at for at, event, _ in _arrivals(self._pins) if event == "ADDED")
        added = [at for at, event, _ in self._package_arrivals() if event == "ADDED"]
        return SyncTimes(*(at - pushed for at in (operation, pins, min(added), max(added), healthy)))

    def _is_started(self, value: Object) -> bool:
        # Argo CD has compared, and does what it found.
        return value["metadata"]["name"] == self._application and "operationState" in value.get("status", {})

    def _first_all_run(self) -> float | None:
        running: set[str] = set()
        for at, event, value in self._package_arrivals():
            if event != "DELETED" and conditions_of(value) == WELL:
                running.add(_source_of(value))
            else:
                running.discard(_source_of(value))
            if running == self._sources:
                return at
        return None

    def _package_arrivals(self) -> list[_Arrival]:
        arrivals = [arrival for watch in self._packages for arrival in _arrivals(watch)]
        ours = [arrival for arrival in arrivals if _source_of(arrival[2]) in self._sources]
        return sorted(ours, key=lambda arrival: arrival[0])


def _arrivals(watch: Watch) -> Iterator[_Arrival]:
    # A watch goes on meanwhile, and notes the time first.
    for at, (event, value) in zip(watch.arrivals, watch.events, strict=False):
        yield at, event, value


def _source_of(package: Object) -> str:
    return str(parse_reference(package["spec"]["package"]).source)
