"""Clusters as real Crossplane left them are adopted as they are: what is rendered equals what runs, or adopting is refused.

The objects are made from the Locks of `data/crossplane-locks.json`.
"""

import os
import random
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rig.builders.catalogs import EcosystemCatalog
from rig.builders.crossplane_locks import CrossplaneLock, read_locks, uncut
from rig.builders.live_objects import Object, Running, format_objects, live_objects

from render.app.adopting.adopt import adopt
from render.app.adopting.choices import AdoptChoices
from render.app.operator_settings import OperatorSettings
from render.app.reporter import SilentReporter
from render.app.resolving.resolver import Resolver
from render.errors import RenderError
from render.inputs.projects import Edits, Inputs, read_inputs
from render.limits import Limits
from render.live.adopting.model import Adoption
from render.live.model import Cluster
from render.live.read import ClusterReader
from render.lock.model import LockedPackage
from render.manifests.objects import render_lock
from render.names import object_name
from render.references import Reference

LOCKS = read_locks()
CLEAN = [lock for lock in LOCKS if lock.clean]
UNCLEAN = [lock for lock in LOCKS if not lock.clean]
OPERATOR = OperatorSettings(dict(os.environ), Limits())


class EcosystemResolver(Resolver):
    """A resolver whose registry is the catalog of real packages."""

    def catalog(self, inputs: Inputs, *, offline: bool = False) -> Any:  # noqa: ARG002 - it has everything
        """Return the catalog."""
        return EcosystemCatalog()


def objects_of(lock: CrossplaneLock) -> list[Object]:
    """Return the objects of the cluster whose Lock this is."""
    return live_objects([_run(package) for package in lock.packages.values()])


def _run(package: LockedPackage) -> Running:
    found = EcosystemCatalog().package(Reference(package.source, package.version))
    return Running(
        f"{package.source} {package.version}",
        # The name in the data is cut where that of its revision is.
        object_name(package.source),
        kind=str(package.kind),
        needs={one.package: one.constraints for one in package.dependencies},
        digest=found.digest.removeprefix("sha256:"),
    )


def read(objects: list[Object]) -> Cluster:
    reader = ClusterReader(Limits())
    reader.add(BytesIO(format_objects(objects, "json").encode()).read)
    return reader.cluster()


def adopted(objects: list[Object], folder: Path) -> Adoption:
    return adopt(read(objects), AdoptChoices(folder), EcosystemResolver(OPERATOR, SilentReporter()), OPERATOR)


def rendered(made: Adoption) -> dict[tuple[str, str], Any]:
    inputs = read_inputs(made.folder, Limits(), {}, edits=Edits(files=made.files))
    objects = render_lock(made.lock, inputs, Limits(), {})
    return {(one["kind"], one["metadata"]["name"]): one["spec"] for one in objects}


@pytest.mark.parametrize("lock", CLEAN, ids=lambda lock: lock.root)
def test_a_healthy_cluster_is_adopted_as_it_is(lock: CrossplaneLock, tmp_path: Path) -> None:
    made = adopted(objects_of(lock), tmp_path / "platform")

    assert [str(root.package.reference) for root in made.roots] == [lock.root]
    assert rendered(made) == {
        (str(package.kind), package.object_name): {"package": f"{package.source}:{package.version}"}
        for package in map(uncut, lock.packages.values())
    }
    assert not made.unproven


@pytest.mark.parametrize("lock", UNCLEAN, ids=lambda lock: lock.root)
def test_a_cluster_whose_versions_do_not_suit_each_other_is_refused(
    lock: CrossplaneLock, tmp_path: Path
) -> None:
    with pytest.raises(RenderError) as caught:
        adopted(objects_of(lock), tmp_path / "platform")

    assert caught.value.exit_code in (1, 4)
    assert caught.value.next


@given(st.randoms(use_true_random=False))
@settings(max_examples=10)
def test_the_order_of_the_objects_changes_nothing(chance: random.Random) -> None:
    objects = objects_of(max(CLEAN, key=lambda lock: len(lock.packages)))
    folder = Path("/nowhere/platform")
    before = adopted(objects, folder)

    shuffled = list(objects)
    chance.shuffle(shuffled)

    assert adopted(shuffled, folder) == before
