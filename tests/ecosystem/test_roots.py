"""Every root of the ecosystem, in its newest version, is locked, or fails for a reason that the data tells."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from rig.builders.catalogs import EcosystemCatalog
from rig.builders.ecosystem import read_ecosystem, serving_source
from rig.commands.suggestions import offered_moves

from render.errors import RenderError
from render.inputs.projects import Inputs, read_inputs
from render.inputs.record import make_record
from render.lifecycle.names import NameTaken
from render.lifecycle.update import LockOptions, update_lock
from render.limits import Limits
from render.lock.freshness import check_closure
from render.lock.model import Lock, LockedPackage
from render.lock.text.format import format_lock
from render.lock.text.parse import parse_lock
from render.moves import Move
from render.references import Source, parse_source
from render.resolve.conflict import MissingPackage, NoSolution
from render.settings import Settings
from render.versions.requests import Request, Root
from render.versions.semantic import order_candidates
from render.versions.version import parse_candidate

LIMITS = Limits()

_HOPS = "ghcr.io/hops-ops"
_THINGS = "ghcr.io/stuttgart-things/crossplane-configurations"
_UPBOUND = "xpkg.upbound.io/upbound"

# Why a root cannot be locked: the dependency, and the constraint on it that nothing known satisfies.
NO_KNOWN_VERSION = {
    f"{_HOPS}/aws-lbc-stack": (f"{_HOPS}/aws-pod-identity", ">=v0.13.0"),
    f"{_HOPS}/aws-secret-stack": (f"{_HOPS}/aws-pod-identity", ">=v0.13.0"),
    f"{_THINGS}/packer-release": (f"{_UPBOUND}/provider-opentofu", ">=v1.0.3,<v2.0.0"),
    f"{_UPBOUND}/configuration-aws-database-ai": (f"{_UPBOUND}/function-rds-metrics", "v0.0.7"),
    f"{_UPBOUND}/configuration-aws-icp": (f"{_UPBOUND}/configuration-eks", ">=v0.0.3"),
    f"{_UPBOUND}/configuration-azure-ctp": (f"{_UPBOUND}/configuration-azure-aks", "v2.0.3"),
}
# A dependency that nobody publishes.
MISSING = {f"{_THINGS}/vm-batch": "ghcr.io/stuttgart-things/provider-vspherevm-xpkg"}
# A dependency without a registry, of a root of which nobody knows the registry either.
UNKNOWN_REGISTRY = {
    "unknown/awslabs/crossplane-aws-blueprints": "unknown.invalid/crossplane/provider-aws",
}
# Functions from two places, the older one first, and one object name for both.
COLLISION = {
    "xpkg.upbound.io/devops-toolkit/dot-github": {
        f"xpkg.upbound.io/crossplane-contrib/{name}": f"xpkg.crossplane.io/crossplane-contrib/{name}"
        for name in ("function-auto-ready", "function-kcl")
    }
}
FAILING = {*NO_KNOWN_VERSION, *MISSING, *UNKNOWN_REGISTRY, *COLLISION}
LOCKABLE = [root for root in read_ecosystem().roots if root not in FAILING]

# Roots that go together in one folder, in whatever versions suit them all.
TOGETHER = (
    "registry.upbound.io/upbound/platform-ref-multi-k8s",
    f"{_UPBOUND}/configuration-aws-assume-gcp",
    f"{_UPBOUND}/configuration-aws-eks-velero",
    f"{_UPBOUND}/configuration-caas-ml",
    f"{_UPBOUND}/configuration-dbaas",
    f"{_UPBOUND}/configuration-gcp-workload-identity",
    f"{_UPBOUND}/platform-ref-azure-ha-webapp",
    f"{_UPBOUND}/platform-ref-lambda",
)


@cache
def newest(root: str) -> Root:
    tags = [version.tag for version in read_ecosystem().by_source()[root]]
    highest = order_candidates(tags)[-1]
    return Root(serving_source(root), Request(tag=highest.text), f"{root.rpartition('/')[2]}.yaml")


def inputs_of(root: str, moves: Sequence[Move] = ()) -> Inputs:
    roots, settings = (newest(root),), Settings(moves=tuple(moves))
    return Inputs(Path(), roots, settings, (), (), make_record(roots, (), settings))


def lock_root(
    root: str, current: Lock | None = None, *, moves: Sequence[Move] = (), reverse: bool = False
) -> Lock:
    catalog = EcosystemCatalog(reverse=reverse)
    return update_lock(inputs_of(root, moves), current or Lock(), catalog, LIMITS, LockOptions()).lock


def test_every_reason_is_in_the_data() -> None:
    ecosystem = read_ecosystem()

    assert (len(ecosystem.roots), len(LOCKABLE), len(FAILING)) == (46, 37, 9)
    assert set(NO_KNOWN_VERSION.values()) <= ecosystem.no_known_version
    assert set(MISSING.values()) <= ecosystem.missing
    assert not {*UNKNOWN_REGISTRY.values()} & ecosystem.by_source().keys()
    for pairs in COLLISION.values():
        assert {*pairs.keys(), *pairs.values()} <= ecosystem.by_source().keys()


@pytest.mark.parametrize("root", LOCKABLE)
def test_a_root_is_locked_and_a_second_run_changes_nothing(root: str) -> None:
    lock = lock_root(root)

    again = lock_root(root, parse_lock(format_lock(lock).encode(), LIMITS, place="lock"))

    assert not check_closure(lock)
    assert lock.packages[newest(root).source].version == newest(root).request.tag
    assert format_lock(again) == format_lock(lock)


@pytest.mark.parametrize("root", LOCKABLE)
def test_families_follow_their_members(root: str) -> None:
    packages = lock_root(root).packages

    for family, head in packages.items():
        members = [package for package in packages.values() if _is_member(package, family)]
        if members:
            assert _major(head.version) == max(_major(member.version) for member in members)


def _is_member(package: LockedPackage, family: Source) -> bool:
    return package.source != family and package.family == family.name


def _major(tag: str) -> int:
    version = parse_candidate(tag)
    assert version
    return version.major


@pytest.mark.parametrize("root", NO_KNOWN_VERSION)
def test_a_constraint_that_no_known_version_satisfies_is_named(root: str) -> None:
    source, constraint = NO_KNOWN_VERSION[root]

    with pytest.raises(NoSolution) as caught:
        lock_root(root)

    assert caught.value.what == f"no version of {source} suits its dependant"
    assert any(line.endswith(f" accepts {source} {constraint}") for line in caught.value.why)


@pytest.mark.parametrize("root", [*MISSING, *UNKNOWN_REGISTRY])
def test_a_dependency_that_nobody_publishes_is_named(root: str) -> None:
    source = {**MISSING, **UNKNOWN_REGISTRY}[root]

    with pytest.raises(MissingPackage) as caught:
        lock_root(root)

    assert caught.value.what == f"{source} is required, but cannot be fetched"
    assert f"{source} does not exist" in caught.value.why


@pytest.mark.parametrize("root", COLLISION)
def test_all_moves_that_two_sources_of_one_object_need_are_offered_at_once(root: str) -> None:
    with pytest.raises(NameTaken) as caught:
        lock_root(root)

    moves = offered_moves(caught.value.next)
    lock = lock_root(root, moves=[Move(old, new) for old, new in moves.items()])

    assert {str(old): str(new) for old, (new,) in moves.items()} == COLLISION[root]
    for old, new in COLLISION[root].items():
        assert old in str(caught.value.why)
        assert parse_source(new) in lock.packages
        assert parse_source(old) not in lock.packages


def outcomes(*, reverse: bool) -> dict[str, str]:
    """Return the file, or the error, of every root."""
    found = {}
    for root in read_ecosystem().roots:
        try:
            found[root] = format_lock(lock_root(root, reverse=reverse))
        except RenderError as error:
            found[root] = str(error)
    return found


def test_neither_the_order_of_tags_nor_of_hashes_changes_a_byte() -> None:
    here = outcomes(reverse=False)
    tests = Path(__file__).parents[1]
    script = "import json, sys, ecosystem.test_roots as t; json.dump(t.outcomes(reverse=True), sys.stdout)"

    for seed in ("1", "2"):
        child = subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONPATH": os.pathsep.join([str(tests), str(tests.parent)]), "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        )

        assert json.loads(child.stdout) == here


def write_project(folder: Path, roots: Sequence[str]) -> Path:
    """Write one manifest for each root, in files that are read in this order."""
    folder.mkdir()
    for i, root in enumerate(roots):
        manifest = {
            "apiVersion": "pkg.crossplane.io/v1",
            "kind": "Configuration",
            "metadata": {
                "name": root.rpartition("/")[2],
                "annotations": {"xplock.dev/version": "*"},
            },
            "spec": {"package": root},
        }
        (folder / f"{i}.yaml").write_text(json.dumps(manifest))
    return folder


def test_the_order_of_files_does_not_change_a_byte(tmp_path: Path) -> None:
    texts = set()
    for run in range(3):
        roots = random.Random(run).sample(TOGETHER, len(TOGETHER))
        folder = write_project(tmp_path / str(run), roots)
        inputs = read_inputs(folder, LIMITS, {})
        update = update_lock(inputs, Lock(), EcosystemCatalog(), LIMITS, LockOptions())

        again = update_lock(inputs, update.lock, EcosystemCatalog(reverse=True), LIMITS, LockOptions())

        assert not check_closure(update.lock)
        texts |= {format_lock(update.lock), format_lock(again.lock)}
    assert len(texts) == 1
