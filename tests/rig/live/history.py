"""What was in a cluster at every moment of a while, over several kinds of objects."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from render.references import parse_reference
from rig.servers.client import Client, Object, Watch, Watches
from rig.servers.kinds import LOCKS, PACKAGES, Resource

# All objects at one moment, by kind and name.
Moment: TypeAlias = Mapping[tuple[str, str], Object]

_PACKAGE_KINDS = ("Provider", "Configuration", "Function")


class History(Watches):
    """Writes down all that happens to some kinds while the context lasts."""

    def __init__(self, client: Client, *kinds: Resource) -> None:
        super().__init__(*(Watch(client, kind) for kind in kinds))

    @property
    def events(self) -> list[tuple[str, Object]]:
        """What happened, ADDED, MODIFIED or DELETED, in the order of the API server."""
        events = [event for watch in self._watches for event in watch.events]
        return sorted(events, key=lambda event: int(event[1]["metadata"]["resourceVersion"]))

    def moments(self) -> Iterator[Moment]:
        """Yield what was there at the start, and after each event."""
        now = {_key(value): value for watch in self._watches for value in watch.before}
        yield now
        for event, value in self.events:
            now = {key: other for key, other in now.items() if key != _key(value)}
            if event != "DELETED":
                now[_key(value)] = value
            yield now


def watch_sources(client: Client) -> History:
    """Return a context in which all that decides who has which source is written down."""
    return History(client, *PACKAGES, LOCKS)


def find_doubles(moments: Iterable[Moment]) -> set[str]:
    """Return the sources that two packages had at any moment, as objects or in the Lock."""
    return {
        source for moment in moments for source in (*_twice(_installed(moment)), *_twice(_locked(moment)))
    }


def _installed(moment: Moment) -> set[tuple[str, str]]:
    return {
        (name, str(parse_reference(value["spec"]["package"]).source))
        for (kind, name), value in moment.items()
        if kind in _PACKAGE_KINDS
    }


def _locked(moment: Moment) -> set[tuple[str, str]]:
    """Return the objects and sources of entries, without their revisions."""
    # In an upgrade the old revision takes its entry away while the new one is pulled, and Crossplane waits for neither: one
    # of 140 writes of the Lock was seen to hold both. If both stay, that is found where whole Locks are compared.
    entries = moment.get(("Lock", "lock"), {}).get("packages") or []
    return {(entry["name"].rpartition("-")[0], entry["source"]) for entry in entries}


def _twice(named: Iterable[tuple[str, str]]) -> list[str]:
    return [source for source, count in Counter(source for _, source in named).items() if count > 1]


def _key(value: Object) -> tuple[str, str]:
    return value["kind"], value["metadata"]["name"]
