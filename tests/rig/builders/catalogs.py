"""Packages in memory for the solver, and roots in few words."""

import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from render.crd_dependencies import parse_crd
from render.limits import Limits
from render.packages import FAMILY_LABEL, CrdDependency, Dependency, Kind, Metadata, Package, PackagedObject
from render.references import Digest, Reference, Source, parse_dependency_source, parse_source
from render.registry.oci import NotFound
from render.resolve.model import Candidate, Catalog, Resolution, Wanted
from render.resolve.resolve import resolve
from render.versions.constraints import parse_constraint
from render.versions.requests import Request, Root
from render.versions.version import parse_candidate
from render.xpkg.definitions import DefinedVersion, Definition, Definitions
from render.xpkg.metadata import parse_metadata
from rig.builders.ecosystem import PackageVersion, read_ecosystem

# Written "name tag", with the constraints on what each depends on.
Packages: TypeAlias = Mapping[str, Mapping[str, str | Dependency]]

_ACME = "xpkg.example.org/acme"
_API_VERSIONS = {
    "CustomResourceDefinition": "apiextensions.k8s.io/v1",
    "ManagedResourceDefinition": "apiextensions.crossplane.io/v1alpha1",
    "CompositeResourceDefinition": "apiextensions.crossplane.io/v2",
    "Composition": "apiextensions.crossplane.io/v1",
}


def named(name: str) -> Source:
    """Return the source of a short name, which is one of acme's, or of a full one."""
    return parse_source(name if "/" in name else f"{_ACME}/{name}")


def digest_of(text: str) -> Digest:
    """Return the digest that "name tag" has unless a test says otherwise."""
    return Digest("sha256:" + hashlib.sha256(text.encode()).hexdigest())


def written(package: str, constraint: str = "*", *, kind: str | None = None) -> Dependency:
    """Return a dependency exactly as a package writes it, also one without a registry."""
    return Dependency(parse_dependency_source(package), parse_constraint(constraint), package, kind)


@dataclass
class FakeCatalog:
    """Packages, written "name tag" with what each depends on; it remembers every question."""

    packages: Packages
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    # By name, and for the rest by name or by "name tag".
    families: Mapping[str, str] = field(default_factory=dict)
    crossplane: Mapping[str, str] = field(default_factory=dict)
    objects: Mapping[str, Sequence[str]] = field(default_factory=dict)
    digests: Mapping[str, Digest] = field(default_factory=dict)
    replaces: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # By "name tag" or name: the CRDs that it defines, each "plural.group v1 v1beta1", and the texts of those it needs.
    defines: Mapping[str, Sequence[str]] = field(default_factory=dict)
    crds: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # Called before each answer; it may wait, or raise.
    before: Callable[[str], None] = lambda _: None

    def __post_init__(self) -> None:
        self.listed: list[str] = []
        self.fetched: list[str] = []
        self.opened: list[str] = []
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()
        self._tags: dict[Source, dict[str, str]] = {}
        for key in self.packages:
            name, tag = key.split(" ")
            self._tags.setdefault(named(name), {})[tag] = key
        self._by_digest = {(named(key.split(" ")[0]), self._digest(key)): key for key in self.packages}

    def tags(self, source: Source) -> Sequence[str]:
        """Return all tags of a source."""
        with self._asked(self.listed, short(source)):
            if source not in self._tags:
                raise NotFound(f"{source} does not exist")
            return list(self._tags[source])

    def package(self, reference: Reference) -> Package:
        """Return the package that a reference names."""
        key = self._key(reference)
        with self._asked(self.fetched, key or str(reference)):
            if key is None:
                raise NotFound(f"{reference} does not exist")
            return self._package(reference.source, key)

    def definitions(self, reference: Reference) -> Definitions:
        """Return the definitions of the package that a reference names."""
        key = self._key(reference)
        with self._asked(self.opened, key or str(reference)):
            return Definitions(tuple(_definition(text) for text in self._defined(key or "")))

    def _defined(self, key: str) -> Sequence[str]:
        return self.defines.get(key) or self.defines.get(key.split(" ")[0]) or ()

    def _key(self, reference: Reference) -> str | None:
        if reference.digest is not None:
            return self._by_digest.get((reference.source, reference.digest))
        return self._tags.get(reference.source, {}).get(reference.tag or "")

    @contextmanager
    def _asked(self, record: list[str], what: str) -> Iterator[None]:
        with self._lock:
            record.append(what)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            self.before(what)
            yield
        finally:
            with self._lock:
                self._at_once -= 1

    def _digest(self, key: str) -> Digest:
        return self.digests.get(key) or digest_of(key)

    def _package(self, source: Source, key: str) -> Package:
        name = key.split(" ")[0]
        crossplane = self.crossplane.get(key) or self.crossplane.get(name)
        family = self.families.get(name)
        metadata = Metadata(
            self.kinds.get(name, Kind.CONFIGURATION),
            "meta.pkg.crossplane.io/v1",
            source.name,
            tuple(_dependency(other, wish) for other, wish in self.packages[key].items()),
            tuple(map(_crd, self.crds.get(key) or self.crds.get(name) or ())),
            crossplane=parse_constraint(crossplane) if crossplane else None,
            replaces=tuple(named(other) for other in self.replaces.get(name, ())),
            labels={FAMILY_LABEL: family} if family else {},
        )
        objects = [
            *(self.objects.get(key) or self.objects.get(name) or ()),
            *(f"CustomResourceDefinition {text.partition(' ')[0]}" for text in self._defined(key)),
        ]
        return Package(
            source,
            self._digest(key),
            metadata,
            tuple(map(_object, objects)),
        )


def root(name: str, constraint: str = "", *, tag: str = "", digest: str = "", place: str = "") -> Root:
    """Return a root: a range, a tag, a digest, both, or any version."""
    request = Request(
        parse_constraint(constraint) if constraint else None, tag or None, Digest(digest) if digest else None
    )
    return Root(named(name), request, place or f"{name.rpartition('/')[2]}.yaml")


def candidate(tag: str, digest: str = "") -> Candidate:
    """Return a version as the last lock holds it."""
    return Candidate(tag, parse_candidate(tag), Digest(digest) if digest else None)


def locked(**tags: str) -> dict[Source, Candidate]:
    """Return the choices of a last lock, by short names."""
    return {named(name): candidate(tag) for name, tag in tags.items()}


def solve(catalog: Catalog, /, *roots: Root, limits: Limits | None = None, **more: object) -> Resolution:
    """Resolve some roots; keyword arguments set other fields of Wanted."""
    wanted = Wanted(tuple(roots), **more)  # type: ignore[arg-type]  # tests name fields of Wanted
    return resolve(wanted, catalog, limits or Limits())


def versions(resolution: Resolution) -> dict[str, str]:
    """Return what was chosen, by short names."""
    return {short(source): str(chosen.candidate) for source, chosen in resolution.packages.items()}


def short(source: Source) -> str:
    """Return the name that a test uses for a source."""
    return str(source).removeprefix(f"{_ACME}/")


def _dependency(name: str, wish: str | Dependency) -> Dependency:
    return wish if isinstance(wish, Dependency) else written(str(named(name)), wish)


def _crd(text: str) -> CrdDependency:
    crd, _, constraint = text.partition(" ")
    return CrdDependency(parse_crd(crd), parse_constraint(constraint or "*"), "spec.dependsOn[0].crd")


def _definition(text: str) -> Definition:
    name, *versions = text.split(" ")
    plural, _, group = name.partition(".")
    served = tuple(DefinedVersion(version, served=True, storage=True) for version in versions)
    kind = plural.removesuffix("s").capitalize()
    return Definition(
        _object(f"CustomResourceDefinition {name}"), group, kind, plural, kind.lower(), versions=served
    )


def _object(text: str) -> PackagedObject:
    kind, name = text.split(" ")
    return PackagedObject(_API_VERSIONS.get(kind, "v1"), kind, name)


class EcosystemCatalog:
    """The packages of the ecosystem, without building any of them."""

    def __init__(self, *, reverse: bool = False) -> None:
        step = -1 if reverse else 1
        self._versions: dict[Source, dict[str, PackageVersion]] = {}
        for version in read_ecosystem().versions[::step]:
            self._versions.setdefault(version.reference.source, {})[version.tag] = version

    def tags(self, source: Source) -> Sequence[str]:
        """Return all tags of a source."""
        if source not in self._versions:
            raise NotFound(f"{source} does not exist")
        return list(self._versions[source])

    def package(self, reference: Reference) -> Package:
        """Return the package that a reference names."""
        found = self._versions.get(reference.source, {})
        for tag in [reference.tag] if reference.tag else found:
            version = found.get(tag)
            if version and reference.digest in (None, digest_of(str(version.reference))):
                return _ecosystem_package(version)
        raise NotFound(f"{reference} does not exist")

    def definitions(self, reference: Reference) -> Definitions:  # noqa: ARG002 - none of them differs
        """Return nothing: none of these packages depends on a CRD."""
        return Definitions()


def _ecosystem_package(version: PackageVersion) -> Package:
    metadata = parse_metadata(version.files["crossplane.yaml"].encode(), Limits())
    kind = {Kind.PROVIDER: "CustomResourceDefinition", Kind.CONFIGURATION: "CompositeResourceDefinition"}
    objects = [f"{kind[version.kind]} {version.object_name}"] if version.object_name else []
    return Package(
        version.reference.source,
        digest_of(str(version.reference)),
        metadata,
        tuple(map(_object, objects)),
    )
