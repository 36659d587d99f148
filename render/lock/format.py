"""Lock → text: two documents, one block per package, one item per line, the same bytes every time."""

from collections.abc import Mapping
from typing import Any

from render.errors import RenderError
from render.lock.model import FORMAT_REVISION, FORMAT_VERSION, Lock, LockedDependency, LockedPackage
from render.names import revision_name
from render.yaml_text import format_document

HEADER = "# Written by xplock. Edit what you ask for, not this file, and run `xplock lock`.\n"

LOCK_API = "pkg.crossplane.io/v1beta1"
PACKAGE_API = "pkg.crossplane.io/v1"
DETAILS_API = "xplock.dev/v1alpha1"
# Applying it would overwrite the cluster's own Lock, so neither Argo CD nor kustomize may.
METADATA: Mapping[str, Any] = {
    "name": "lock",
    "annotations": {"argocd.argoproj.io/hook": "Skip", "config.kubernetes.io/local-config": "true"},
}


class NewerRevision(RenderError):
    """A lock that holds more than this xplock knows, and that writing would drop."""

    def __init__(self, revision: int) -> None:
        super().__init__(
            "the lock is not written",
            why=f"it was written by a newer xplock, as revision {revision}; this one knows revision {FORMAT_REVISION} "
            "and would drop what it does not know",
            next="use an xplock at least as new as the one that wrote the lock",
        )


def format_lock(lock: Lock) -> str:
    """Write a lock."""
    if lock.revision > FORMAT_REVISION:
        raise NewerRevision(lock.revision)
    documents = [_lock_document(lock), _details_document(lock)]
    return HEADER + "---\n".join(map(format_document, documents))


def _lock_document(lock: Lock) -> dict[str, Any]:
    packages = [_lock_entry(package) for package in lock.in_order()]
    return {"apiVersion": LOCK_API, "kind": "Lock", "metadata": METADATA, "packages": packages}


def _lock_entry(package: LockedPackage) -> dict[str, Any]:
    return {
        "apiVersion": PACKAGE_API,
        "kind": package.kind,
        "name": revision_name(package.object_name, package.digest),
        "source": str(package.source),
        "version": package.version,
        "dependencies": [_dependency_entry(dependency) for dependency in package.dependencies],
    }


def _dependency_entry(dependency: LockedDependency) -> dict[str, Any]:
    explicit = dependency.api_version is not None
    entry = {
        "package": dependency.package,
        "apiVersion": dependency.api_version,
        "kind": dependency.kind if explicit else None,
        "type": None if explicit else dependency.kind,
        "constraints": dependency.constraints,
    }
    return {key: value for key, value in entry.items() if value is not None}


def _details_document(lock: Lock) -> dict[str, Any]:
    return {
        "apiVersion": DETAILS_API,
        "kind": "LockDetails",
        "metadata": METADATA,
        "version": FORMAT_VERSION,
        "revision": FORMAT_REVISION,
        "inputs": dict(sorted(lock.inputs.items())),
        "packages": [_details_entry(package) for package in lock.in_order()],
    }


def _details_entry(package: LockedPackage) -> dict[str, Any]:
    entry = {
        "source": str(package.source),
        "object": package.object_name,
        "tag": package.tag,
        "root": package.root,
        "requiredBy": sorted(package.required_by) or None,
        "objects": dict(sorted(package.objects.items())) or None,
        "objectsDigest": package.objects_digest or None,
        "family": package.family,
        "crossplane": package.crossplane,
        "fields": _sorted(package.fields) or None,
        # Always there and always last: of a file that was cut short, no block is whole by chance.
        "digest": package.digest,
    }
    return {key: value for key, value in entry.items() if value is not None}


def _sorted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list | tuple) else value
