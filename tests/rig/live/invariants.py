"""What has to hold of a cluster after every sync of a folder: nothing is lost, doubled, or other than what is locked."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from render.lock.model import Lock
from render.references import parse_reference
from rig.live.application import describe_packages, package_of
from rig.live.history import find_doubles, watch_sources
from rig.live.lock_files import attached_entries
from rig.live.platform import LiveCluster
from rig.live.snapshots import resource_of
from rig.live.team import Team
from rig.servers.client import Object, Refused
from rig.servers.kinds import CRDS
from rig.servers.waiting import wait_for

_OBJECT = "precious"
_NOT_FOUND = 404


class Sound:
    """Looks at a cluster that one folder is applied to, and remembers what it has seen."""

    def __init__(self, cluster: LiveCluster, team: Team, defined_by: Callable[[str], list[str]]) -> None:
        self._cluster, self._team, self._defined_by = cluster, team, defined_by
        # By the name of a definition: who it is, and who the one object is that was made of it, if one was.
        self._seen: dict[str, tuple[str, str]] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """See that no source has two objects, or two entries in the Lock, at any moment."""
        with watch_sources(self._cluster.client) as history:
            yield
        assert find_doubles(history.moments()) == set()

    def check(self, lock: Lock) -> None:
        """Wait until the cluster is what a lock says, and see that nothing was lost on the way."""
        wanted = {name for package in lock.installed() for name in self._defined_by(str(package.source))}
        self._forget_deleted(wanted)
        wait_for(
            lambda: next(self._problems(lock, wanted), None) is None,
            lambda: self._tell(self._problems(lock, wanted)),
        )
        for name in sorted(wanted):
            self._see(name)

    def _forget_deleted(self, wanted: set[str]) -> None:
        """Wait until what only retired packages brought is gone: later it would take the next one's with it."""
        let_go = self._seen.keys() - wanted
        find = self._cluster.client.find
        wait_for(
            lambda: all(find(CRDS, name) is None for name in let_go),
            lambda: self._tell([f"{sorted(let_go)} should be gone"]),
        )
        self._seen = {name: ids for name, ids in self._seen.items() if name in wanted}

    def _see(self, name: str) -> None:
        """Remember a definition and an object of it; a known one has to be the same as ever."""
        definition = self._cluster.client.get(CRDS, name)
        ids = (_id_of(definition), "" if _is_composite(definition) else self._object(definition))
        assert self._seen.setdefault(name, ids) == ids, self._tell([f"{name} was lost"])

    def _object(self, definition: Object) -> str:
        """Return the UID of the object of a definition; create one for a definition that is new."""
        name = definition["metadata"]["name"]
        if name not in self._seen:
            value = _custom_object(definition)
            wait_for(lambda: self._create(name, value), lambda: self._tell([f"{name} is not served"]))
        return _id_of(self._cluster.client.get(resource_of(name), _OBJECT))

    def _create(self, name: str, value: Object) -> Object | None:
        try:
            return self._cluster.client.create(resource_of(name), value)
        except Refused as error:
            # The API server takes a moment to serve what is defined.
            if error.status != _NOT_FOUND:
                raise
            return None

    def _problems(self, lock: Lock, wanted: set[str]) -> Iterator[str]:
        yield from _different_packages(lock, self._cluster.packages())
        yield from _wrong_revisions(lock, self._cluster.revisions())
        yield from self._different_entries(lock)
        find = self._cluster.client.find
        yield from (f"{name} is not there" for name in sorted(wanted) if find(CRDS, name) is None)

    def _different_entries(self, lock: Lock) -> Iterator[str]:
        # What was attached once and no longer is keeps its entry for a while.
        stale = {str(package.cluster_source) for package in lock.packages.values() if package.stale_entry}
        entries = [entry for entry in self._cluster.locked() if entry["source"] not in stale]
        found = {entry["source"]: entry for entry in entries}
        if len(found) != len(entries):
            yield f"the Lock has a source twice: {[entry['source'] for entry in entries]}"
        ours = {entry["source"]: entry for entry in attached_entries(self._team.folder)}
        for source in sorted(found.keys() | ours.keys()):
            if found.get(source) != ours.get(source):
                yield f"the Lock has {found.get(source)}, ours has {ours.get(source)}"

    def _tell(self, problems: Iterable[str]) -> str:
        return "\n".join([*problems, describe_packages(self._cluster.client)])


def _different_packages(lock: Lock, packages: Mapping[str, Object]) -> Iterator[str]:
    """Yield packages that are there and not locked, or the other way round, and sources with two of them."""
    for name in sorted(packages.keys() ^ {package.object_name for package in lock.installed()}):
        yield f"{name} is {'not locked' if name in packages else 'not there'}"
    sources = Counter(str(parse_reference(value["spec"]["package"]).source) for value in packages.values())
    yield from (f"{source} is there {count} times" for source, count in sources.items() if count > 1)


def _wrong_revisions(lock: Lock, revisions: Mapping[str, Object]) -> Iterator[str]:
    """Yield packages whose active revision is not the locked one, and deactivated ones with an active revision."""
    for package in lock.installed():
        active = [
            value.get("status", {}).get("resolvedImage", "").rpartition("@")[2]
            for value in revisions.values()
            if package_of(value) == package.object_name
            and value["kind"] == f"{package.kind}Revision"
            and value["spec"]["desiredState"] == "Active"
        ]
        expected = [] if package.cluster_source in lock.deactivated else [package.digest]
        if active != expected:
            yield f"{package.object_name} has {active} active, not {expected}"


def _custom_object(definition: Object) -> Object:
    group, kind = definition["spec"]["group"], definition["spec"]["names"]["kind"]
    return {
        "apiVersion": f"{group}/v1",
        "kind": kind,
        "metadata": {"name": _OBJECT},
        "spec": {"keep": "this"},
    }


def _is_composite(definition: Object) -> bool:
    # With an object of such a kind, Crossplane takes two minutes to delete the definition (measured).
    return any(
        one["kind"] == "CompositeResourceDefinition" for one in definition["metadata"]["ownerReferences"]
    )


def _id_of(value: Object) -> str:
    return str(value["metadata"]["uid"])
