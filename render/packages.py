"""Packages: their kinds, metadata, dependencies and objects."""

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum

from render.crd_dependencies import CrdRequest, asked_crd
from render.digests import sha256_hex
from render.lean import dataclass, field
from render.references import Digest, PartialSource, Source
from render.versions.constraints import ANY, Constraint

PACKAGE_GROUP = "pkg.crossplane.io"
_DEFINITIONS = frozenset(
    {"CustomResourceDefinition", "CompositeResourceDefinition", "ManagedResourceDefinition"}
)
FAMILY_LABEL = "pkg.crossplane.io/provider-family"
# The second group is the one of the first format document; packages of that time still carry it.
META_GROUPS = frozenset({"meta.pkg.crossplane.io", "meta.pkg.ibm.crossplane.io"})
_PROJECT_GROUPS = frozenset({"dev.crossplane.io", "meta.dev.upbound.io"})


class Kind(StrEnum):
    """The three kinds of package."""

    PROVIDER = "Provider"
    CONFIGURATION = "Configuration"
    FUNCTION = "Function"


@dataclass(frozen=True, slots=True)
class Dependency:
    """A package that another one requires, and the versions it accepts."""

    source: Source | PartialSource
    constraint: Constraint
    # As the metadata spells them: Crossplane compares the text, and its Lock keeps both.
    package: str
    kind: str | None = None
    api_version: str | None = None


@dataclass(frozen=True, slots=True)
class CrdDependency:
    """CRDs that a package requires, whichever package defines them."""

    crd: CrdRequest
    # The accepted versions of the package that defines them.
    constraint: Constraint = ANY
    # The field of the metadata.
    place: str = ""

    def __str__(self) -> str:
        return asked_crd(self.crd, "" if self.constraint == ANY else self.constraint.text)


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """Access to the cluster that an old provider asked for; Crossplane no longer grants any."""

    api_groups: tuple[str, ...]
    resources: tuple[str, ...]
    verbs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Metadata:
    """The meta document of a package."""

    kind: Kind
    api_version: str
    name: str
    dependencies: tuple[Dependency, ...] = ()
    crds: tuple[CrdDependency, ...] = ()
    crossplane: Constraint | None = None
    replaces: tuple[Source | PartialSource, ...] = ()
    capabilities: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    controller_image: str | None = None
    permission_requests: tuple[PermissionRequest, ...] = ()

    @property
    def family(self) -> str | None:
        """The provider family this package is a member of."""
        return self.labels.get(FAMILY_LABEL)


@dataclass(frozen=True, slots=True, order=True)
class PackagedObject:
    """An object that a package installs."""

    api_version: str
    kind: str
    name: str

    @property
    def group(self) -> str:
        """The API group; empty for the core group."""
        return self.api_version.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class Package:
    """A package in a registry: its digest, its metadata, and the objects it installs."""

    source: Source
    digest: Digest
    metadata: Metadata
    objects: tuple[PackagedObject, ...]
    # The digest of its definitions: of their names, and of their text from `spec:` on.
    definitions_digest: str = ""


def is_meta(api_version: str) -> bool:
    """Return whether an object with this apiVersion is the metadata of a package."""
    return api_version.partition("/")[0] in META_GROUPS


def is_project(api_version: str) -> bool:
    """Return whether an object with this apiVersion is a project file."""
    return api_version.partition("/")[0] in _PROJECT_GROUPS


def count_kinds(objects: Iterable[PackagedObject]) -> dict[str, int]:
    """Return how many objects there are of each kind, sorted by kind."""
    return dict(sorted(Counter(item.kind for item in objects).items()))


def defined_groups(kind: Kind, objects: Iterable[PackagedObject]) -> tuple[str, ...]:
    """Return the API groups in which a package of this kind defines kinds; a Function installs nothing."""
    if kind is Kind.FUNCTION:
        return ()
    # A definition is named <plural>.<group>.
    return tuple(sorted({item.name.partition(".")[2] for item in objects if item.kind in _DEFINITIONS}))


def digest_objects(objects: Iterable[PackagedObject]) -> str:
    """Return the digest of the sorted list of objects, which a lock holds in its place."""
    lines = sorted(f"{item.api_version} {item.kind} {item.name}\n" for item in objects)
    return "sha256:" + sha256_hex("".join(lines))
