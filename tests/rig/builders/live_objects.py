"""Objects of a cluster that runs packages, as `kubectl get` prints them."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import yaml

from render.names import friendly_id, object_name
from render.references import parse_source
from rig.builders.projects import at

Object: TypeAlias = dict[str, Any]

# What the API server adds to every package.
DEFAULTS: dict[str, Any] = {
    "ignoreCrossplaneConstraints": False,
    "packagePullPolicy": "IfNotPresent",
    "revisionActivationPolicy": "Automatic",
    "revisionHistoryLimit": 1,
    "skipDependencyResolution": False,
}
_RUNTIME = {"runtimeConfigRef": {"apiVersion": "pkg.crossplane.io/v1beta1", "kind": "DeploymentRuntimeConfig", "name": "default"}}  # fmt: skip
_DIGEST = "0123456789ab" + "c" * 52
_LISTED: dict[str, Any] = {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}}


@dataclass(frozen=True, slots=True)
class Running:
    """One package of a cluster, "base v1.0.0": its object, its revision, its entry in the Lock."""

    package: str
    # The derived name, unless another one is given.
    name: str = ""
    kind: str = "Configuration"
    # Sources and constraints, in the order of the package's metadata.
    needs: Mapping[str, str] = field(default_factory=dict)
    # The digest of what runs, without "sha256:".
    digest: str = _DIGEST
    # Set for the naming rule of Crossplane v2.4.
    generation: int | None = None
    spec: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    resolved: str = ""
    objects: Sequence[str] = ()
    # Whether it has an entry in the Lock.
    attached: bool = True
    status: Mapping[str, Any] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """The source in full."""
        return at(self.package.split()[0])

    @property
    def version(self) -> str:
        """The version, or a digest."""
        return self.package.split()[1]

    @property
    def object_name(self) -> str:
        """The name of the object."""
        return self.name or object_name(parse_source(self.source))

    @property
    def revision(self) -> str:
        """The name of the current revision."""
        hashed = self.digest
        if self.generation is not None:
            hashed = hashlib.sha256(f"{self.digest}|{self.generation}".encode()).hexdigest()
        return friendly_id(self.object_name, hashed)

    @property
    def reference(self) -> str:
        """The text of spec.package."""
        return f"{self.source}{'@' if self.version.startswith('sha256:') else ':'}{self.version}"

    def objects_of_it(self) -> list[Object]:
        """Return the package object and its revision."""
        return [self.as_package(), self.as_revision()]

    def as_package(self) -> Object:
        """Return the package object."""
        runtime = {} if self.kind == "Configuration" else _RUNTIME
        status = {
            "conditions": [_condition("Installed"), _condition("Healthy")],
            "currentIdentifier": self.reference,
            "currentRevision": self.revision,
            "resolvedPackage": self.resolved or self.reference,
            **self.status,
        }
        spec = {**DEFAULTS, **runtime, "package": self.reference, **self.spec}
        return self._object(self.kind, self.object_name, spec, status)

    def as_revision(self) -> Object:
        """Return the current revision, which is active."""
        skips = self.spec.get("skipDependencyResolution", False)
        spec = {
            "desiredState": "Active",
            "image": self.reference,
            "packagePullPolicy": "IfNotPresent",
            "revision": 1,
            "skipDependencyResolution": skips,
        }
        status: dict[str, Any] = {
            "conditions": [_condition("RevisionHealthy")],
            "resolvedImage": self.resolved or self.reference,
        }
        if self.objects:
            refs = [
                {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "name": name}
                for name in self.objects
            ]
            status["objectRefs"] = refs
        made = self._object(f"{self.kind}Revision", self.revision, spec, status)
        made["metadata"]["labels"] = {"pkg.crossplane.io/package": self.object_name}
        made["metadata"]["annotations"] = {}
        made["metadata"]["ownerReferences"] = [
            {
                "apiVersion": "pkg.crossplane.io/v1",
                "kind": self.kind,
                "name": self.object_name,
                "uid": f"uid-{self.kind}-{self.object_name}",
                "controller": True,
            }
        ]
        return made

    def as_entry(self) -> Object:
        """Return the entry in the Lock."""
        needs = [
            {"package": at(need), "constraints": text, "type": "Configuration"}
            for need, text in self.needs.items()
        ]
        return {
            "apiVersion": "pkg.crossplane.io/v1",
            "kind": self.kind,
            "name": self.revision,
            "source": self.source,
            "version": self.version,
            "dependencies": needs,
        }

    def _object(self, kind: str, name: str, spec: Mapping[str, Any], status: Mapping[str, Any]) -> Object:
        metadata: Object = {"name": name, "uid": f"uid-{kind}-{name}", "generation": self.generation or 1}
        if self.labels:
            metadata["labels"] = dict(self.labels)
        if self.annotations:
            metadata["annotations"] = dict(self.annotations)
        return {
            "apiVersion": "pkg.crossplane.io/v1",
            "kind": kind,
            "metadata": metadata,
            "spec": dict(spec),
            "status": dict(status),
        }


def _condition(name: str) -> Object:
    return {"type": name, "status": "True", "reason": f"{name}Package"}


def live_objects(running: Iterable[Running], *more: Object, entries: Sequence[Object] = ()) -> list[Object]:
    """Return all objects of a cluster that runs packages; `entries` are further ones of its Lock."""
    known = list(running)
    lock = {
        "apiVersion": "pkg.crossplane.io/v1beta1",
        "kind": "Lock",
        "metadata": {"name": "lock", "uid": "uid-lock", "finalizers": ["lock.pkg.crossplane.io"]},
        "packages": [*entries, *(one.as_entry() for one in known if one.attached)],
    }
    return [lock, *more, *(made for one in known for made in one.objects_of_it())]


def image_config(name: str, prefix: str, spec: Mapping[str, Any]) -> Object:
    """Return an ImageConfig for one prefix."""
    return {
        "apiVersion": "pkg.crossplane.io/v1beta1",
        "kind": "ImageConfig",
        "metadata": {"name": name, "uid": f"uid-ImageConfig-{name}", "generation": 1},
        "spec": {"matchImages": [{"type": "Prefix", "prefix": prefix}], **spec},
    }


def crossplane_deployment(version: str) -> Object:
    """Return the Deployment of Crossplane itself."""
    image = f"xpkg.crossplane.io/crossplane/crossplane:{version}"
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "crossplane",
            "namespace": "crossplane-system",
            "uid": "uid-crossplane",
            "labels": {"app": "crossplane"},
        },
        "spec": {
            "replicas": 1,
            "template": {"spec": {"containers": [{"name": "crossplane", "image": image}]}},
        },
        "status": {"availableReplicas": 1},
    }


def format_objects(objects: Sequence[Object], form: str = "yaml") -> str:
    """Return objects as kubectl prints them."""
    listed = {**_LISTED, "items": list(objects)}
    if form == "json":
        return json.dumps(listed, indent=4)
    return yaml.dump(listed, Dumper=_NoAliases)


class _NoAliases(yaml.SafeDumper):
    """kubectl writes every value in full."""

    def ignore_aliases(self, _: Any) -> bool:
        return True
