"""Objects of a running cluster, as values: packages, their revisions, and what these depend on in the cluster."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from render.live.lock import LiveLock
from render.packages import Kind

PAUSED = "crossplane.io/paused"


@dataclass(frozen=True, slots=True)
class Owner:
    """An owner reference."""

    kind: str
    name: str
    uid: str = ""
    controller: bool = False


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of an object's status."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    observed_generation: int | None = None


@dataclass(frozen=True, slots=True)
class Metadata:
    """The metadata of an object; a note of kubectl's own among the annotations is left out."""

    name: str
    namespace: str = ""
    uid: str = ""
    generation: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    finalizers: tuple[str, ...] = ()
    owners: tuple[Owner, ...] = ()
    is_deleted: bool = False

    @property
    def controller(self) -> Owner | None:
        """The owner that controls it."""
        return next((owner for owner in self.owners if owner.controller), None)

    @property
    def is_paused(self) -> bool:
        """Whether Crossplane leaves it alone."""
        return self.annotations.get(PAUSED) == "true"


@dataclass(frozen=True, slots=True)
class AppliedConfig:
    """An ImageConfig that Crossplane used for a package, and what for, such as RewriteImage."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class PackageObject:
    """A Provider, Configuration or Function of the cluster."""

    kind: Kind
    metadata: Metadata
    spec: Mapping[str, Any] = field(default_factory=dict)
    current_revision: str = ""
    # The text of spec.package that the current revision was made from.
    current_identifier: str = ""
    # The reference that is pulled, after rewriting.
    resolved_package: str = ""
    applied: tuple[AppliedConfig, ...] = ()
    conditions: Mapping[str, Condition] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the object."""
        return self.metadata.name

    @property
    def package(self) -> str:
        """The text of spec.package."""
        return str(self.spec.get("package", ""))


class RevisionState(StrEnum):
    """Whether a revision controls what it installs."""

    ACTIVE = "Active"
    INACTIVE = "Inactive"


@dataclass(frozen=True, slots=True)
class Revision:
    """A revision of a package."""

    # The kind of its package.
    kind: Kind
    metadata: Metadata
    # The name of its package, by its label.
    package: str
    image: str = ""
    number: int = 0
    # The desired state; None if it was never set.
    state: RevisionState | None = None
    spec: Mapping[str, Any] = field(default_factory=dict)
    resolved_image: str = ""
    found_dependencies: int = 0
    installed_dependencies: int = 0
    invalid_dependencies: int = 0
    # How many objects it has established.
    objects: int = 0
    applied: tuple[AppliedConfig, ...] = ()
    conditions: Mapping[str, Condition] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the revision."""
        return self.metadata.name

    @property
    def skips_dependencies(self) -> bool:
        """Whether it stays out of Crossplane's own resolution."""
        return self.spec.get("skipDependencyResolution") is True


@dataclass(frozen=True, slots=True)
class LockObject:
    """The Lock that Crossplane keeps."""

    metadata: Metadata
    lock: LiveLock
    conditions: Mapping[str, Condition] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ConfigObject:
    """An ImageConfig, a DeploymentRuntimeConfig, or the ProviderConfig of a provider without its spec."""

    kind: str
    api_version: str
    metadata: Metadata
    spec: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the object."""
        return self.metadata.name


@dataclass(frozen=True, slots=True)
class DefinedVersion:
    """A version of a definition."""

    name: str
    served: bool
    storage: bool


@dataclass(frozen=True, slots=True)
class Definition:
    """A CustomResourceDefinition, CompositeResourceDefinition or ManagedResourceDefinition, without its schemas."""

    kind: str
    metadata: Metadata
    # Of a managed resource: Active or Inactive.
    state: str = ""
    versions: tuple[DefinedVersion, ...] = ()
    stored_versions: tuple[str, ...] = ()
    # The Service that converts between versions.
    webhook: str = ""
    conditions: Mapping[str, Condition] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the object."""
        return self.metadata.name


@dataclass(frozen=True, slots=True)
class Deployment:
    """A Deployment, as far as it tells whether it runs."""

    metadata: Metadata
    images: tuple[str, ...] = ()
    replicas: int | None = None
    available: int = 0
    conditions: Mapping[str, Condition] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pod:
    """A Pod, as far as it tells whether it runs."""

    metadata: Metadata
    images: tuple[str, ...] = ()
    phase: str = ""
    # Why containers do not run, such as ImagePullBackOff, each with its message.
    waiting: tuple[tuple[str, str], ...] = ()
    conditions: Mapping[str, Condition] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Event:
    """An Event about an object."""

    metadata: Metadata
    kind: str
    name: str
    type: str = ""
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Cluster:
    """What is known of a cluster; every tuple is sorted by kind, namespace and name."""

    packages: tuple[PackageObject, ...] = ()
    revisions: tuple[Revision, ...] = ()
    lock: LockObject | None = None
    image_configs: tuple[ConfigObject, ...] = ()
    runtime_configs: tuple[ConfigObject, ...] = ()
    provider_configs: tuple[ConfigObject, ...] = ()
    definitions: tuple[Definition, ...] = ()
    deployments: tuple[Deployment, ...] = ()
    pods: tuple[Pod, ...] = ()
    events: tuple[Event, ...] = ()
    # What could not be read, a line each.
    notes: tuple[str, ...] = ()

    def revisions_of(self, package: PackageObject) -> list[Revision]:
        """Return the revisions of a package, by their labels."""
        wanted = (package.kind, package.name)
        return [one for one in self.revisions if (one.kind, one.package) == wanted]

    def current_revision(self, package: PackageObject) -> Revision | None:
        """Return the revision that the status of a package names."""
        wanted = (package.kind, package.current_revision)
        return next((one for one in self.revisions if (one.kind, one.name) == wanted), None)
