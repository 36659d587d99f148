"""A large closure of real packages, and how long a cluster takes until all of it runs: as locked, or by Crossplane alone."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from render.constraints import parse_constraint
from render.limits import Limits
from render.packages import Kind
from render.versions import parse_candidate
from render.xpkg.build import build_package
from render.xpkg.packing import PackedImage
from rig.builders.ecosystem import PackageVersion, read_ecosystem
from rig.builders.packages import write_files
from rig.live.application import conditions_of
from rig.live.kinds import CONFIGURATIONS, IMAGE_CONFIGS
from rig.live.lock_files import read_documents
from rig.live.manifests import package_manifest
from rig.live.package_registry import PackageRegistry, format_crd, format_xrd
from rig.live.platform import LiveCluster
from rig.live.snapshots import WELL
from rig.live.team import Team
from rig.registry.docker import docker_registry

_ROOT, _VERSION = "configuration-caas", "v0.3.0"
_FORMATS = {Kind.PROVIDER: format_crd, Kind.CONFIGURATION: format_xrd}
_NAMES = ("package", "provider", "configuration", "function")


@dataclass(frozen=True, slots=True)
class Closure:
    """A root, and a registry with every version that could be taken for what it needs."""

    root: PackageVersion
    registry: PackageRegistry

    @property
    def manifest(self) -> str:
        """What asks for the root."""
        return package_manifest("Configuration", "caas", str(self.root.reference))

    @property
    def image_config(self) -> str:
        """What leads to the registry; all that the root needs is on one host."""
        return self.registry.image_config(self.root.reference.source.registry)


@contextmanager
def real_closure(folder: Path) -> Iterator[Closure]:
    """Serve the closure, which has 27 packages, from a registry of its own, so that several clusters can have it."""
    [root] = [
        version
        for version in read_ecosystem().versions
        if version.written_source.endswith(f"/{_ROOT}") and version.tag == _VERSION
    ]
    with docker_registry(folder, "open") as running:
        registry = PackageRegistry(running.host, folder)
        versions = _all_needed(root)
        registry.push({version.reference: _build(version, folder / "build") for version in versions})
        yield Closure(root, registry)


def lock_closure(cluster: LiveCluster, closure: Closure) -> Team:
    """Return a team that has locked the root, and not pushed it yet."""
    team = replace(cluster, registry=closure.registry).team()
    team.write("registry.yaml", closure.image_config)
    team.write("caas.yaml", closure.manifest)
    team.lock()
    return team


def settle_locked(cluster: LiveCluster, team: Team) -> float:
    """Push what is locked; return after how many seconds all of it runs."""
    sources = locked_sources(team.folder)
    started = time.monotonic()
    team.commit_and_push()
    return _wait_until_running(cluster, sources) - started


def settle_alone(cluster: LiveCluster, closure: Closure, sources: set[str]) -> float:
    """Create the root and leave the rest to Crossplane; return after how many seconds all of it runs."""
    cluster.client.create(IMAGE_CONFIGS, yaml.safe_load(closure.image_config))
    started = time.monotonic()
    cluster.client.create(CONFIGURATIONS, yaml.safe_load(closure.manifest))
    return _wait_until_running(cluster, sources) - started


def locked_sources(folder: Path) -> set[str]:
    """Return the sources that a folder has locked."""
    lock, _ = read_documents(folder)
    return {entry["source"] for entry in lock["packages"]}


def format_comparison(packages: int, locked: float, alone: float) -> str:
    """Write how long both took, and what that makes."""
    return (
        f"{packages} packages run {locked:.1f} s after the push, {alone:.1f} s after Crossplane alone has their root: "
        f"{locked / alone:.2f} x"
    )


def _wait_until_running(cluster: LiveCluster, sources: set[str]) -> float:
    def all_run() -> bool:
        running = [value for value in cluster.packages().values() if conditions_of(value) == WELL]
        return sources == {value["spec"]["package"].rpartition(":")[0] for value in running}

    cluster.wait_until(all_run, f"all {len(sources)} packages run")
    return time.monotonic()


def _all_needed(root: PackageVersion) -> list[PackageVersion]:
    """Return every version that a package of the closure may accept, and of the root's source the root alone."""
    by_source = read_ecosystem().by_source()
    found, waiting = {root.reference: root}, [root]
    while waiting:
        for dependency in waiting.pop().depends_on:
            versions = by_source[next(dependency[name] for name in _NAMES if name in dependency)]
            for version in versions:
                if version.reference not in found and _accepts(dependency, version):
                    found[version.reference] = version
                    waiting.append(version)
    return list(found.values())


def _accepts(dependency: Mapping[str, str], version: PackageVersion) -> bool:
    candidate = parse_candidate(version.tag)
    return candidate is not None and parse_constraint(dependency["version"]).accepts(candidate)


def _build(version: PackageVersion, scratch: Path) -> PackedImage:
    """Build a version with definitions that a real cluster takes."""
    folder = scratch / f"{version.reference.source.name}-{version.tag}"
    meta = json.loads(version.files["crossplane.yaml"])
    # Two versions that say the same have other bytes all the same.
    meta["metadata"]["annotations"] = {"version": version.tag}
    files = {"crossplane.yaml": json.dumps(meta)}
    if version.kind in _FORMATS:
        files["objects.yaml"] = _FORMATS[version.kind](version.object_name)
    return build_package(write_files(folder, files), Limits()).image
