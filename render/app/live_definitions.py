"""What a running cluster knows about definitions: which versions it stores, and which it does not have at all."""

from collections.abc import Sequence
from typing import IO

from render.definitions.model import LiveDefinition, LiveDefinitions
from render.errors import InvalidInput
from render.limits import Limits
from render.live.model import Cluster
from render.live.read import ClusterReader
from render.xpkg.definitions import CRD, MRD

_INACTIVE = "Inactive"


class NoDefinitions(InvalidInput):
    """Files of a cluster without any definition."""

    def __init__(self) -> None:
        super().__init__(
            "the input holds no definitions of a cluster",
            why="it has to hold all of its CRDs, as kubectl prints them",
            next="write them to a file: kubectl get customresourcedefinitions -o json > crds.json",
        )


def read_live_definitions(files: Sequence[IO[bytes]], limits: Limits) -> LiveDefinitions | None:
    """Read the definitions of a cluster from what kubectl printed; None without files."""
    if not files:
        return None
    reader = ClusterReader(limits)
    for file in files:
        reader.add(file.read)
    cluster = reader.cluster(needs_packages=False)
    if not cluster.definitions:
        raise NoDefinitions
    return live_definitions(cluster)


def live_definitions(cluster: Cluster) -> LiveDefinitions:
    """Return what a cluster knows about its definitions, by their names; an MRD has the name of its CRD."""
    stored = {one.name: one.stored_versions for one in cluster.definitions if one.kind == CRD}
    inactive = {one.name for one in cluster.definitions if one.kind == MRD and one.state == _INACTIVE}
    deleted = {one.name for one in cluster.definitions if one.metadata.is_deleted}
    found = {
        one.name: LiveDefinition(
            stored.get(one.name),
            is_inactive=one.name in inactive and one.name not in stored,
            is_deleted=one.name in deleted,
        )
        for one in cluster.definitions
    }
    return LiveDefinitions(found, frozenset(one.kind for one in cluster.definitions))
