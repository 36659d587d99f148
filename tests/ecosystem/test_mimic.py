"""What Crossplane would pick, compared with the Locks that a real one built; see the `about` of the data."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from rig.builders.catalogs import EcosystemCatalog
from rig.builders.ecosystem_locks import lock_root

from render.commands import LockCall
from render.errors import RenderError
from render.limits import Limits
from render.lock.model import Lock
from render.references import parse_reference
from render.resolve.mimic.model import AppliedRoot, CrossplaneAnswer, Flag, LockDependency, LockEntry
from render.resolve.mimic.run import EMPTY_CLUSTER, Start, mimic
from render.views.mimic.differences import find_differences

DATA = Path(__file__).parents[1] / "data/crossplane-locks.json"
CATALOG = EcosystemCatalog()

_UPBOUND = "xpkg.upbound.io/upbound"
# These did not start from an empty cluster: entries of an earlier root stand before their own.
STARTED_WITH_ENTRIES = {
    "ghcr.io/hops-ops/configuration-network:v0.1.0",
    "ghcr.io/hops-ops/stack-aws-observe:v0.2.0",
    "ghcr.io/hops-ops/aws-secret-stack:v0.11.4",
    "ghcr.io/stuttgart-things/crossplane-configurations/packer-release:v0.2.4",
    f"{_UPBOUND}/configuration-aws-eks-velero:v0.1.0",
    f"{_UPBOUND}/configuration-backstage:v0.3.0",
}
# What an earlier root left behind, where that changed the answer, and what an empty cluster gets instead.
LEFTOVERS = {
    f"{_UPBOUND}/configuration-backstage:v0.3.0": (
        {
            f"{_UPBOUND}/configuration-aws-network v0.14.0",
            f"{_UPBOUND}/provider-aws-ec2 v1.4.0",
            "xpkg.upbound.io/crossplane-contrib/function-patch-and-transform v0.5.0",
        },
        {f"{_UPBOUND}/configuration-aws-network v0.24.0", f"{_UPBOUND}/provider-aws-ec2 v1.23.0"},
    )
}


class Measured:
    """A Lock that a real Crossplane built."""

    def __init__(self, data: Any, lock: Any) -> None:
        self.root: str = data["packages"][lock["root"]][0]
        self.resolved: bool = lock["resolved"]
        self.entries = [_entry(data["packages"][i]) for i in lock["packages"]]
        self.unhealthy = {data["packages"][i][0] for i in lock["unhealthy"]}
        self.before = self.entries[: lock["packages"].index(lock["root"])]

    def __repr__(self) -> str:
        return self.root


def _entry(package: Any) -> LockEntry:
    text, kind, name, dependencies = package
    reference = parse_reference(text)
    return LockEntry(
        str(reference.source),
        reference.tag or "",
        kind,
        name,
        tuple(LockDependency(*dependency) for dependency in dependencies),
    )


@cache
def read_measured() -> list[Measured]:
    data = json.loads(DATA.read_text())
    return [Measured(data, lock) for lock in data["locks"]]


def run(root: str, start: Start = EMPTY_CLUSTER) -> CrossplaneAnswer:
    reference = parse_reference(root)
    return mimic([AppliedRoot(reference.source, reference.tag or "")], CATALOG, Limits(), start=start)


def facts(entries: list[LockEntry] | tuple[LockEntry, ...]) -> list[tuple[object, ...]]:
    # Names were read from revisions, which keep 50 characters of them.
    return [(one.source, one.version, one.kind, one.object_name[:50], one.dependencies) for one in entries]


def unhealthy(answer: CrossplaneAnswer) -> set[str]:
    return {f"{one.source}:{one.version}" for one in answer.unhealthy}


@pytest.mark.parametrize("measured", read_measured(), ids=repr)
def test_it_settles_where_a_real_crossplane_settled(measured: Measured) -> None:
    answer = run(measured.root, Start(measured.before))

    assert facts([*answer.entries]) == facts(measured.entries)
    assert answer.resolved == measured.resolved
    assert unhealthy(answer) == measured.unhealthy


def test_six_of_the_data_did_not_start_empty() -> None:
    assert {one.root for one in read_measured() if one.before} == STARTED_WITH_ENTRIES


@pytest.mark.parametrize("measured", [one for one in read_measured() if one.before], ids=repr)
def test_from_an_empty_cluster_these_settle_without_what_an_earlier_root_left(measured: Measured) -> None:
    answer = run(measured.root)

    gone, come = LEFTOVERS.get(measured.root, (set(), set()))
    found = {str(entry) for entry in answer.entries}
    assert found == {str(entry) for entry in measured.entries} - gone | come
    assert str(answer.entries[0]) == measured.root.replace(":", " ")
    assert unhealthy(answer) == (set() if gone else measured.unhealthy)
    assert answer.resolved == measured.resolved


def test_the_flags_change_nothing_of_these_answers() -> None:
    for measured in read_measured():
        reference = parse_reference(measured.root)
        root = AppliedRoot(reference.source, reference.tag or "")
        plain = run(measured.root)

        for flag in Flag:
            flagged = mimic([root], CATALOG, Limits(), flag=flag)

            assert facts([*flagged.entries]) == facts([*plain.entries])


@pytest.mark.parametrize("measured", read_measured(), ids=repr)
def test_ours_differs_only_where_crossplane_leaves_something_broken_and_each_difference_has_its_reason(
    measured: Measured,
) -> None:
    answer = run(measured.root)
    try:
        ours = lock_root(measured.root)
    except RenderError:
        assert answer.unhealthy
        return

    differences = find_differences(answer, Lock(), ours, LockCall())

    assert bool(differences) is bool(answer.unhealthy)
    assert all(one.why for one in differences)
