"""A large closure of real packages, as often as it is wanted: each copy has sources, objects and kinds of its own."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from render.limits import Limits
from render.packages import Kind
from render.versions.constraints import parse_constraint
from render.versions.version import parse_candidate
from render.xpkg.building.build import build_package
from render.xpkg.building.packing import PackedImage
from rig.builders.ecosystem import PackageVersion, read_ecosystem
from rig.builders.packages import write_files
from rig.live.manifests import package_manifest
from rig.live.package_registry import PackageRegistry, format_crd, format_xrd

_ROOT, _VERSION = "configuration-caas", "v0.3.0"
_FORMATS = {Kind.PROVIDER: format_crd, Kind.CONFIGURATION: format_xrd}
_NAMES = ("package", "provider", "configuration", "function")


@dataclass(frozen=True, slots=True)
class Closure:
    """A copy of the closure: its root, the sources of all that it needs, and the registry that has them."""

    name: str
    root: PackageVersion
    sources: frozenset[str]
    registry: PackageRegistry

    @property
    def manifest(self) -> str:
        """What asks for the root."""
        return package_manifest("Configuration", f"caas-{self.name}", str(self.root.reference))

    @property
    def image_config(self) -> str:
        """What leads to the registry; all that the root needs is on one host."""
        return self.registry.image_config(self.root.reference.source.registry, team=self.name)


def publish_closure(registry: PackageRegistry, name: str) -> Closure:
    """Publish a copy of the closure, which has 27 packages: every version that could be taken for what its root needs."""
    root = closure_root()
    scratch = registry.folder / f"closure-{name}"
    copies = [_copy(version, name) for version in all_needed(root)]
    registry.push({copy.reference: _build(copy, name, scratch) for copy in copies})
    sources = frozenset(str(copy.reference.source) for copy in copies)
    return Closure(name, _copy(root, name), sources, registry)


def closure_root(tag: str = _VERSION) -> PackageVersion:
    """Return a version of the package that needs 26 others."""
    [root] = [
        version
        for version in read_ecosystem().versions
        if version.written_source.endswith(f"/{_ROOT}") and version.tag == tag
    ]
    return root


def all_needed(root: PackageVersion) -> list[PackageVersion]:
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


def _copy(version: PackageVersion, name: str) -> PackageVersion:
    wishes = [
        {key: _move(value, name) if key in _NAMES else value for key, value in wish.items()}
        for wish in version.depends_on
    ]
    return replace(version, written_source=_move(version.written_source, name), depends_on=wishes)


def _move(source: str, name: str) -> str:
    """Return a source in another organisation, after which Crossplane names the objects of dependencies."""
    organisation, _, repository = source.rpartition("/")
    return f"{organisation}-{name}/{repository}"


def _build(version: PackageVersion, name: str, scratch: Path) -> PackedImage:
    """Build a version with definitions that a real cluster takes."""
    folder = scratch / f"{version.reference.source.name}-{version.tag}"
    meta = json.loads(version.files["crossplane.yaml"])
    # Two versions that say the same have other bytes all the same, and so have two copies.
    meta["metadata"]["annotations"] = {"version": version.tag, "copy": name}
    files = {"crossplane.yaml": json.dumps(meta)}
    if version.kind in _FORMATS:
        plural, _, group = version.object_name.partition(".")
        files["objects.yaml"] = _FORMATS[version.kind](f"{plural}.{name}.{group}")
    return build_package(write_files(folder, files), Limits()).image
