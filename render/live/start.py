"""A cluster → the state that a simulation of Crossplane starts from."""

from collections.abc import Mapping, Sequence
from typing import BinaryIO

from render.limits import Limits
from render.live.lock import InvalidLiveLock, LivePackage
from render.live.model import Cluster
from render.live.names import parse_live_source, start_of_revision
from render.live.read import ClusterReader
from render.names import friendly_id, object_name
from render.packages import Kind
from render.references import Source, split_tag
from render.resolve.mimic.model import LockDependency, LockEntry
from render.resolve.mimic.run import Installed, Start


def read_start(stream: BinaryIO, limits: Limits) -> Start:
    """Read the Lock of a cluster, and the package objects beside it if there are any, as kubectl prints them."""
    reader = ClusterReader(limits)
    reader.add(stream.read)
    cluster = reader.cluster()
    if cluster.lock is None:
        raise InvalidLiveLock(["it has packages, and no Lock"])
    return start_of(cluster)


def start_of(cluster: Cluster) -> Start:
    """Return what a simulation starts from."""
    objects = {
        (str(one.kind), one.name): Installed(*split_reference(one.package)) for one in cluster.packages
    }
    names: dict[tuple[str, str], list[str]] = {}
    for (kind, name), installed in objects.items():
        names.setdefault((kind, installed.source), []).append(name)
    entries = cluster.lock.lock.packages if cluster.lock else ()
    return Start(tuple(lock_entry(entry, _object_name(entry, names)) for entry in entries), objects)


def lock_entry(entry: LivePackage, name: str) -> LockEntry:
    """Return an entry of a cluster's Lock for the simulation; a dependency without a kind is a Provider."""
    dependencies = [
        LockDependency(one.package, one.constraints, one.kind or Kind.PROVIDER, one.api_version or None)
        for one in entry.edges
    ]
    return LockEntry(entry.source, entry.version, entry.kind, name, tuple(dependencies))


def split_reference(text: str) -> tuple[str, str]:
    """Split a reference as Crossplane does: beside a digest, the tag stays a part of the source."""
    base, at, digest = text.rpartition("@")
    if at:
        return base, digest
    source, tag = split_tag(text)
    return source, tag or ""


def _object_name(entry: LivePackage, names: Mapping[tuple[str, str], Sequence[str]]) -> str:
    """Return the name of the package object behind an entry; its revision's name has only the start of it."""
    start = (start_of_revision(entry.name) or entry.name).strip("-")
    for name in names.get((entry.kind, entry.source), ()):
        if friendly_id(name, "") == start:
            return name
    source = parse_live_source(entry.source)
    derived = object_name(source) if isinstance(source, Source) else ""
    return derived if derived and friendly_id(derived, "") == start else start
