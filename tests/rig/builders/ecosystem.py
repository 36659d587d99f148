"""Real packages of the Crossplane ecosystem: what they say is true, what they hold is made up.

Some sources in the data name no registry. They are served from one all the same:
- `crossplane/...` from index.docker.io, which was Crossplane's default registry when these were published;
- `unknown/...`, where nothing says where a package is published, from unknown.invalid.

A provider holds one CRD named after the last part of its source, so that two sources of one provider install the
same object, as they do in reality. A configuration holds a composite resource definition of the same kind of name.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias

from render.limits import Limits
from render.packages import Kind
from render.references import PartialSource, Reference, Source, parse_dependency_source
from render.registry.oci import OCI_MANIFEST, Content, Descriptor, Index, digest_of, format_index
from render.xpkg.building.build import build_package
from render.xpkg.building.packing import PackedImage
from render.xpkg.building.publish import Target
from rig.builders.packages import an_object, write_files

Built: TypeAlias = Mapping[Reference, PackedImage]

DATA = Path(__file__).parents[2] / "data/ecosystem.json"

_UNKNOWN = "unknown/"
_META = "meta.pkg.crossplane.io/v1"
_OBJECTS = {
    Kind.PROVIDER: ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    Kind.CONFIGURATION: ("apiextensions.crossplane.io/v1", "CompositeResourceDefinition"),
}
_PUSHERS = 4


@dataclass(frozen=True, slots=True)
class PackageVersion:
    """One released version and what its metadata says."""

    written_source: str
    kind: Kind
    tag: str
    name: str
    api_version: str = _META
    project: str | None = None
    crossplane: str | None = None
    depends_on: Sequence[Mapping[str, str]] = ()
    family: str | None = None
    capabilities: Sequence[str] = ()

    @property
    def reference(self) -> Reference:
        """Where it is served."""
        return Reference(serving_source(self.written_source), self.tag)

    @property
    def files(self) -> dict[str, str]:
        """The folder it is built from; JSON is YAML too."""
        labels = {"pkg.crossplane.io/provider-family": self.family} if self.family else {}
        meta = {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "metadata": {"name": self.name, "labels": labels},
            "spec": _without_nothing(
                crossplane=self.crossplane and {"version": self.crossplane},
                dependsOn=list(self.depends_on),
                capabilities=list(self.capabilities),
            ),
        }
        objects = (
            {"objects.yaml": an_object(*_OBJECTS[self.kind], self.object_name)} if self.object_name else {}
        )
        return {"crossplane.yaml": json.dumps(meta, indent=2) + "\n", **objects}

    @property
    def project_file(self) -> str:
        """The project file that it is built from, if it is."""
        spec = _without_nothing(
            crossplane=self.crossplane and {"version": self.crossplane}, dependsOn=list(self.depends_on)
        )
        return json.dumps(
            {"apiVersion": self.project, "kind": "Project", "metadata": {"name": self.name}, "spec": spec}
        )

    @property
    def object_name(self) -> str:
        """The name of the object it holds, shared by all sources of one package; empty for a function."""
        last = self.written_source.rpartition("/")[2]
        return f"things.{last}.example.org" if self.kind in _OBJECTS else ""

    def build(self, folder: Path) -> PackedImage:
        """Build it in a folder, which may hold another version's files."""
        (folder / "objects.yaml").unlink(missing_ok=True)
        return build_package(write_files(folder, self.files), Limits()).image


@dataclass(frozen=True, slots=True)
class Ecosystem:
    """All packages, and which of their dependencies are missing."""

    versions: tuple[PackageVersion, ...]
    roots: tuple[str, ...]
    # Sources that are not published, and constraints that no known version satisfies.
    missing: frozenset[str] = field(default_factory=frozenset)
    no_known_version: frozenset[tuple[str, str]] = field(default_factory=frozenset)

    def by_source(self) -> dict[str, list[PackageVersion]]:
        """Return the versions of each source, as written, in the order of the data."""
        sources: dict[str, list[PackageVersion]] = {}
        for version in self.versions:
            sources.setdefault(version.written_source, []).append(version)
        return sources


@cache
def read_ecosystem() -> Ecosystem:
    """Read the data."""
    data = json.loads(DATA.read_text())
    return Ecosystem(
        tuple(
            _parse_version(package, entry) for package in data["packages"] for entry in package["versions"]
        ),
        tuple(data["roots"]),
        frozenset(entry["source"] for entry in data["missing"]),
        frozenset((entry["source"], entry["version"]) for entry in data["no_known_version"]),
    )


def serving_source(written: str) -> Source:
    """Return where a source is served, by the rule at the top of this file."""
    if written.startswith(_UNKNOWN):
        return Source("unknown.invalid", written.removeprefix(_UNKNOWN))
    source = parse_dependency_source(written)
    return Source("index.docker.io", source.repository) if isinstance(source, PartialSource) else source


def on_one_registry(host: str, source: Source) -> Source:
    """Return where a source is on a registry that holds those of all others."""
    return Source(host, f"{source.registry}/{source.repository}")


def build_all(versions: Iterable[PackageVersion], scratch: Path) -> Built:
    """Build versions, one after the other, in a folder of their own."""
    return {version.reference: version.build(scratch) for version in versions}


def fill_layout(folder: Path, built: Built) -> None:
    """Write an OCI layout of packages in one go; adding one by one would write its index as often."""
    blobs = folder / "blobs/sha256"
    blobs.mkdir(parents=True)
    entries = []
    for reference, image in built.items():
        for data in (image.data, image.config, *image.layers):
            (blobs / digest_of(data).removeprefix("sha256:")).write_bytes(data)
        annotations = {"org.opencontainers.image.ref.name": str(reference)}
        entries.append(Descriptor(OCI_MANIFEST, image.digest, len(image.data), annotations))
    (folder / "index.json").write_bytes(format_index(Index(tuple(entries))))
    (folder / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')


def fill_registry(host: str, pusher: Callable[[Source], Target], built: Built) -> None:
    """Push packages to one registry, several repositories at a time."""
    repositories: dict[Source, dict[str, PackedImage]] = {}
    for reference, image in built.items():
        source = on_one_registry(host, reference.source)
        repositories.setdefault(source, {})[reference.tag or ""] = image

    def push_repository(source: Source) -> None:
        target = pusher(source)
        for tag, image in repositories[source].items():
            _push(target, tag, image)

    with ThreadPoolExecutor(_PUSHERS) as pool:
        for _ in pool.map(push_repository, repositories):
            pass


def _push(target: Target, tag: str, image: PackedImage) -> None:
    described = (image.manifest.config, *image.manifest.layers)
    for descriptor, data in zip(described, (image.config, *image.layers), strict=True):
        target.push_blob(descriptor, BytesIO(data))
    target.push_content(Content(image.data, OCI_MANIFEST, image.digest), tag)


def _parse_version(package: Mapping[str, Any], entry: Mapping[str, Any]) -> PackageVersion:
    return PackageVersion(
        written_source=package["source"],
        kind=Kind(package["kind"]),
        tag=entry["tag"],
        name=entry.get("name", package["source"].rpartition("/")[2]),
        api_version=entry.get("apiVersion", _META),
        project=entry.get("project"),
        crossplane=entry.get("crossplane"),
        depends_on=entry.get("dependsOn", ()),
        family=entry.get("family"),
        capabilities=entry.get("capabilities", ()),
    )


def _without_nothing(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value}
