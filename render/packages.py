"""What a package says about itself: the facts that every later stage works with."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from render.constraints import Constraint
from render.references import Digest, PartialSource, Source

FAMILY_LABEL = "pkg.crossplane.io/provider-family"


class Kind(StrEnum):
    """The three kinds of package."""

    PROVIDER = "Provider"
    CONFIGURATION = "Configuration"
    FUNCTION = "Function"


@dataclass(frozen=True, slots=True)
class Dependency:
    """Another package that one needs, and the versions of it that it accepts."""

    source: Source | PartialSource
    constraint: Constraint
    # As the metadata writes them: Crossplane compares the text, and its Lock keeps both.
    package: str
    kind: str | None = None
    api_version: str | None = None


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
    """An object that a package brings along."""

    api_version: str
    kind: str
    name: str

    @property
    def group(self) -> str:
        """The API group; empty for the core group."""
        return self.api_version.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class Package:
    """A package as it is in a registry: its digest, what it says of itself, what it brings along."""

    source: Source
    digest: Digest
    metadata: Metadata
    objects: tuple[PackagedObject, ...]
    # Documents that no reader understands; Crossplane will not install such a package.
    unreadable: tuple[str, ...] = ()


def count_kinds(objects: Iterable[PackagedObject]) -> dict[str, int]:
    """Return how many objects there are of each kind, sorted by kind."""
    return dict(sorted(Counter(item.kind for item in objects).items()))


def digest_objects(objects: Iterable[PackagedObject]) -> str:
    """Return the digest of the sorted list of objects, which stands for it in a lock."""
    lines = sorted(f"{item.api_version} {item.kind} {item.name}\n" for item in objects)
    return "sha256:" + hashlib.sha256("".join(lines).encode()).hexdigest()
