"""Waiting for Crossplane: its Lock, the programs and what is handed over follow a sync a moment later."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from render.limits import Limits
from render.lock.model import Lock, LockedPackage
from render.lock.text.file import read_lock
from render.packages import Kind
from rig.live.application import WELL, conditions_of, describe_packages
from rig.live.lock_files import attached_entries, stale_sources
from rig.live.platform import LiveCluster
from rig.live.revisions import name_of_revision
from rig.live.snapshots import controlling_revision
from rig.servers.client import Object
from rig.servers.kinds import CRDS, DEPLOYMENTS, IMAGE_CONFIGS
from rig.servers.waiting import wait_for


@dataclass(frozen=True, slots=True)
class Expected:
    """What the locks of all folders of a cluster say."""

    # What the Lock of the cluster has to hold, and the detached packages whose entries stay there from before.
    attached: list[Object]
    stale: set[str]
    # The locked digests of active packages, of those that run a program, and the names of deactivated packages.
    active: dict[str, str]
    programs: dict[str, str]
    off: set[str]


def read_expected(folders: Sequence[Path]) -> Expected:
    """Read what a cluster has to come to that has these folders."""
    locks = [read_lock(folder, Limits()) or Lock() for folder in folders]
    active = [package for lock in locks for package in lock.packages.values()]
    return Expected(
        attached=attached_entries(*folders),
        stale=stale_sources(*folders),
        active=_digests(active),
        programs=_digests(package for package in active if package.kind is not Kind.CONFIGURATION),
        off={package.object_name for lock in locks for package in lock.deactivated.values()},
    )


def wait_settled(cluster: LiveCluster, expected: Expected, crds: Sequence[str]) -> None:
    """Wait until the cluster is there, and nothing is being deleted any more."""

    def problems() -> Iterator[str]:
        yield from _wrong_entries(cluster, expected)
        yield from _wrong_programs(cluster, expected)
        yield from _wrong_health(cluster, expected)
        yield from _wrong_controllers(cluster, expected, crds)
        yield from _being_deleted(cluster)

    wait_for(
        lambda: next(problems(), None) is None,
        lambda: "\n".join(["all is settled", *problems(), describe_packages(cluster.client)]),
    )


def _digests(packages: Iterable[LockedPackage]) -> dict[str, str]:
    return {package.object_name: package.digest for package in packages}


def _revisions(cluster: LiveCluster, digests: Mapping[str, str]) -> set[str]:
    """Return the names of the revisions that packages have with these bytes."""
    packages = cluster.packages()
    return {name_of_revision(packages[name], digest) for name, digest in digests.items() if name in packages}


def _wrong_entries(cluster: LiveCluster, expected: Expected) -> Iterator[str]:
    found = cluster.locked()
    attached = [entry for entry in found if entry["source"] not in expected.stale]
    yield from (f"the Lock has {entry}" for entry in attached if entry not in expected.attached)
    yield from (f"the Lock does not have {entry}" for entry in expected.attached if entry not in attached)
    missing = expected.stale - {entry["source"] for entry in found}
    yield from (f"the Lock has no stale entry of {source}" for source in sorted(missing))


def _wrong_programs(cluster: LiveCluster, expected: Expected) -> Iterator[str]:
    found = {value["metadata"]["name"] for value in cluster.client.objects(DEPLOYMENTS)}
    wanted = _revisions(cluster, expected.programs)
    yield from (f"{name} still runs" for name in sorted(found - wanted))
    yield from (f"{name} does not run" for name in sorted(wanted - found))


def _wrong_health(cluster: LiveCluster, expected: Expected) -> Iterator[str]:
    # Argo CD ignores the health of deactivated packages.
    for name, value in cluster.packages().items():
        if (conditions_of(value) == WELL) is (name in expected.off):
            yield f"{name} is {'still well' if name in expected.off else 'not well'}"


def _wrong_controllers(cluster: LiveCluster, expected: Expected, crds: Sequence[str]) -> Iterator[str]:
    # A package that is switched on again looks well before it has taken over.
    active = _revisions(cluster, expected.active)
    for crd in crds:
        controller = controlling_revision(cluster.client, crd)
        if controller not in active:
            yield f"{crd} is controlled by no active revision: {controller}"


def _being_deleted(cluster: LiveCluster) -> Iterator[str]:
    others = [value for kind in (DEPLOYMENTS, IMAGE_CONFIGS, CRDS) for value in cluster.client.objects(kind)]
    for value in (*cluster.packages().values(), *cluster.revisions().values(), *others):
        if "deletionTimestamp" in value["metadata"]:
            yield f"{value['metadata']['name']} is being deleted"
