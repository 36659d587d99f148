"""The kinds of objects that are read out of a cluster, and how each becomes a value."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from render.live.lock import LiveLock, read_entry
from render.live.model import (
    AppliedConfig,
    Condition,
    ConfigObject,
    DefinedVersion,
    Definition,
    Deployment,
    Event,
    LockObject,
    Metadata,
    Owner,
    PackageObject,
    Pod,
    Revision,
    RevisionState,
)
from render.names import is_dns_name
from render.packages import PACKAGE_GROUP, Kind
from render.yaml.fields import Fields, describe

LiveObject: TypeAlias = (
    PackageObject | Revision | LockObject | ConfigObject | Definition | Deployment | Pod | Event
)
_Reader: TypeAlias = Callable[[Metadata, Mapping[str, Condition], Fields], LiveObject]

_PACKAGE_LABEL = "pkg.crossplane.io/package"
# Another copy of the whole object.
_DROPPED = "kubectl.kubernetes.io/last-applied-configuration"
_COMPOSITES = "apiextensions.crossplane.io"
# Every provider has kinds of these names in a group of its own.
PROVIDER_CONFIGS = frozenset({"ProviderConfig", "ClusterProviderConfig"})


def find_reader(api_version: str, kind: str) -> _Reader | None:
    """Return how to read objects of a kind; None for a kind that says nothing about packages."""
    group = api_version.rpartition("/")[0]
    if kind in PROVIDER_CONFIGS and is_dns_name(group):
        return _read_provider_config
    return _READERS.get((group, kind))


def read_metadata(fields: Fields) -> Metadata:
    """Return the metadata of an object, which has to have a name that Kubernetes accepts."""
    metadata = fields.mapping("metadata")
    name, namespace = metadata.text("name"), metadata.text("namespace")
    if not is_dns_name(name):
        metadata.complain(f"expected a name, found {describe(name or None)}", "name")
    if namespace and not is_dns_name(namespace):
        metadata.complain(f"expected a name, found {describe(namespace)}", "namespace")
    annotations = metadata.texts("annotations")
    annotations.pop(_DROPPED, None)
    return Metadata(
        name,
        namespace,
        metadata.text("uid"),
        _number(metadata, "generation"),
        metadata.texts("labels"),
        annotations,
        tuple(metadata.list_of_texts("finalizers")),
        tuple(_read_owner(owner) for owner in metadata.mappings("ownerReferences")),
        metadata.get("deletionTimestamp") is not None,
    )


def read_conditions(fields: Fields) -> dict[str, Condition]:
    """Return the conditions of an object's status, by their types."""
    found = {}
    for one in fields.mapping("status").mappings("conditions"):
        condition = Condition(
            one.text("type"),
            one.text("status"),
            one.text("reason"),
            one.text("message"),
            _number(one, "observedGeneration"),
        )
        found[condition.type] = condition
    return found


def _read_owner(owner: Fields) -> Owner:
    controller = owner.get("controller") is True
    return Owner(owner.text("kind"), owner.text("name"), owner.text("uid"), controller)


def _number(fields: Fields, key: str) -> int | None:
    value = fields.get(key)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    fields.complain(f"expected a number, found {describe(value)}", key)
    return None


def _read_package(kind: Kind) -> _Reader:
    def read(metadata: Metadata, conditions: Mapping[str, Condition], fields: Fields) -> PackageObject:
        status, spec = fields.mapping("status"), fields.mapping("spec")
        spec.text("package")
        return PackageObject(
            kind,
            metadata,
            spec.value,
            status.text("currentRevision"),
            status.text("currentIdentifier"),
            status.text("resolvedPackage"),
            _read_applied(status),
            conditions,
        )

    return read


def _read_revision(kind: Kind) -> _Reader:
    def read(metadata: Metadata, conditions: Mapping[str, Condition], fields: Fields) -> Revision:
        status, spec = fields.mapping("status"), fields.mapping("spec")
        return Revision(
            kind,
            metadata,
            metadata.labels.get(_PACKAGE_LABEL) or _owning_package(kind, metadata),
            spec.text("image"),
            _number(spec, "revision") or 0,
            _read_state(spec),
            spec.value,
            status.text("resolvedImage"),
            _number(status, "foundDependencies") or 0,
            _number(status, "installedDependencies") or 0,
            _number(status, "invalidDependencies") or 0,
            _count_objects(status),
            _read_applied(status),
            conditions,
        )

    return read


def _owning_package(kind: Kind, metadata: Metadata) -> str:
    return next((owner.name for owner in metadata.owners if owner.kind == kind), "")


def _read_state(spec: Fields) -> RevisionState | None:
    text = spec.text("desiredState")
    try:
        return RevisionState(text) if text else None
    except ValueError:
        spec.complain(f"expected Active or Inactive, found {describe(text)}", "desiredState")
        return None


def _count_objects(status: Fields) -> int:
    # Out of YAML it is the number of its items already.
    value = status.get("objectRefs")
    return value if isinstance(value, int) else len(status.items("objectRefs"))


def _read_applied(status: Fields) -> tuple[AppliedConfig, ...]:
    found = [(one.text("name"), one.text("reason")) for one in status.mappings("appliedImageConfigRefs")]
    return tuple(AppliedConfig(name, reason) for name, reason in sorted(found))


def _read_lock(metadata: Metadata, conditions: Mapping[str, Condition], fields: Fields) -> LockObject:
    packages = tuple(read_entry(entry) for entry in fields.mappings("packages"))
    return LockObject(metadata, LiveLock(packages), conditions)


def _read_config(metadata: Metadata, _: Mapping[str, Condition], fields: Fields) -> ConfigObject:
    return ConfigObject(
        fields.text("kind"), fields.text("apiVersion"), metadata, fields.mapping("spec").value
    )


def _read_provider_config(metadata: Metadata, _: Mapping[str, Condition], fields: Fields) -> ConfigObject:
    return ConfigObject(fields.text("kind"), fields.text("apiVersion"), metadata)


def _read_definition(metadata: Metadata, conditions: Mapping[str, Condition], fields: Fields) -> Definition:
    spec = fields.mapping("spec")
    webhook = spec.mapping("conversion").mapping("webhook").mapping("clientConfig").mapping("service")
    return Definition(
        fields.text("kind"),
        metadata,
        spec.text("state"),
        tuple(_read_version(version) for version in spec.mappings("versions")),
        tuple(fields.mapping("status").list_of_texts("storedVersions")),
        webhook.text("name"),
        conditions,
    )


def _read_version(version: Fields) -> DefinedVersion:
    # A composite's versions have the second name for it.
    storage = version.get("storage") is True or version.get("referenceable") is True
    return DefinedVersion(version.text("name"), version.get("served") is True, storage)


def _read_deployment(metadata: Metadata, conditions: Mapping[str, Condition], fields: Fields) -> Deployment:
    spec, status = fields.mapping("spec"), fields.mapping("status")
    images = _read_images(spec.mapping("template").mapping("spec"))
    available = _number(status, "availableReplicas") or 0
    return Deployment(metadata, images, _number(spec, "replicas"), available, conditions)


def _read_pod(metadata: Metadata, conditions: Mapping[str, Condition], fields: Fields) -> Pod:
    status = fields.mapping("status")
    states = [one.mapping("state").mapping("waiting") for one in status.mappings("containerStatuses")]
    waiting = tuple((one.text("reason"), one.text("message")) for one in states if one.value)
    return Pod(metadata, _read_images(fields.mapping("spec")), status.text("phase"), waiting, conditions)


def _read_images(spec: Fields) -> tuple[str, ...]:
    return tuple(container.text("image") for container in spec.mappings("containers"))


def _read_event(metadata: Metadata, _: Mapping[str, Condition], fields: Fields) -> Event:
    # The newer API has other names for both.
    about = fields.mapping("involvedObject" if "involvedObject" in fields else "regarding")
    return Event(
        metadata,
        about.text("kind"),
        about.text("name"),
        fields.text("type"),
        fields.text("reason"),
        fields.text("message") or fields.text("note"),
    )


_READERS: dict[tuple[str, str], _Reader] = {
    **{(PACKAGE_GROUP, str(kind)): _read_package(kind) for kind in Kind},
    **{(PACKAGE_GROUP, f"{kind}Revision"): _read_revision(kind) for kind in Kind},
    (PACKAGE_GROUP, "Lock"): _read_lock,
    (PACKAGE_GROUP, "ImageConfig"): _read_config,
    (PACKAGE_GROUP, "DeploymentRuntimeConfig"): _read_config,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _read_definition,
    (_COMPOSITES, "CompositeResourceDefinition"): _read_definition,
    (_COMPOSITES, "ManagedResourceDefinition"): _read_definition,
    ("apps", "Deployment"): _read_deployment,
    ("", "Pod"): _read_pod,
    ("", "Event"): _read_event,
    ("events.k8s.io", "Event"): _read_event,
}
