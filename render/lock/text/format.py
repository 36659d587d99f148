"""Lock → text: two documents, one block per package, one item per line, the same bytes every time."""

from collections.abc import Mapping

from render.crd_dependencies import CrdAnswer
from render.errors import RenderError
from render.lean import Any
from render.lock.model import (
    FORMAT_REVISION,
    FORMAT_VERSION,
    KeptPin,
    Lock,
    LockedDependency,
    LockedPackage,
    Promotion,
    Provided,
    Replaced,
    State,
)
from render.names import revision_name
from render.references import Source
from render.yaml.writer import format_document

HEADER = "# Written by xplock. Edit what you ask for, not this file, and run `xplock lock`.\n"

LOCK_API = "pkg.crossplane.io/v1beta1"
PACKAGE_API = "pkg.crossplane.io/v1"
DETAILS_API = "xplock.dev/v1alpha1"
# Keeps Argo CD and kustomize from applying it, which would overwrite the cluster's own Lock.
METADATA: Mapping[str, Any] = {
    "name": "lock",
    "annotations": {"argocd.argoproj.io/hook": "Skip", "config.kubernetes.io/local-config": "true"},
}


class NewerRevision(RenderError):
    """A lock of a newer xplock, with fields that writing it would drop."""

    def __init__(self, revision: int) -> None:
        super().__init__(
            "the lock is not written",
            why=f"it was written by a newer xplock, as revision {revision}; this one knows revision {FORMAT_REVISION} "
            "and would drop the fields it does not know",
            next="use an xplock at least as new as the one that wrote the lock",
        )


def check_revision(lock: Lock) -> None:
    """Raise if a newer xplock wrote a lock, with fields that this one would drop."""
    if lock.revision > FORMAT_REVISION:
        raise NewerRevision(lock.revision)


def format_lock(lock: Lock) -> str:
    """Return the text of a lock."""
    check_revision(lock)
    documents = [_lock_document(lock), _details_document(lock)]
    return HEADER + "---\n".join(map(format_document, documents))


def _lock_document(lock: Lock) -> dict[str, Any]:
    # Sorted by the source in the cluster, so that a package that becomes an alias keeps its place.
    packages = sorted(map(_lock_entry, lock.packages.values()), key=lambda entry: str(entry["source"]))
    return {"apiVersion": LOCK_API, "kind": "Lock", "metadata": METADATA, "packages": packages}


def _lock_entry(package: LockedPackage) -> dict[str, Any]:
    return {
        "apiVersion": PACKAGE_API,
        "kind": package.kind,
        "name": revision_name(package.object_name, package.digest),
        # An alias has the source that its object names in the cluster.
        "source": str(package.cluster_source),
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
        "inputs": dict(lock.inputs),
        **({"promoted": _promotion_entry(lock.promoted)} if lock.promoted else {}),
        **_listed("crds", [_answer_entry(answer) for answer in lock.crds]),
        **_listed("deactivated", [_deactivated_entry(package) for package in lock.deactivated.values()]),
        **_listed("provided", [_provided_entry(package) for package in lock.provided.values()]),
        # Always there and always last: compared with the first document, it shows packages that a truncated file lost.
        "packages": [_details_entry(package) for package in lock.in_order()],
    }


def _promotion_entry(promoted: Promotion) -> dict[str, Any]:
    return {"from": promoted.origin, "lockDigest": promoted.lock_digest, "packages": promoted.packages}


def _listed(key: str, entries: list[dict[str, Any]]) -> dict[str, Any]:
    return {key: entries} if entries else {}


def _deactivated_entry(package: LockedPackage) -> dict[str, Any]:
    """Return the whole entry of a deactivated package, which has none in the first document."""
    details = _details_entry(package)
    return {
        "source": details.pop("source"),
        "kind": package.kind,
        "version": package.version,
        "replacedBy": [str(source) for source in package.replaced_by],
        **details,
    }


def _provided_entry(package: Provided) -> dict[str, Any]:
    entry = {
        "source": str(package.source),
        "folder": package.folder,
        "kind": package.kind,
        "version": package.version,
        "object": package.object_name,
        "tag": package.tag,
        "detached": package.detached or None,
        "installedAs": _optional(package.installed_as),
        "replaces": [str(source) for source in package.replaces] or None,
        "digest": package.digest,
    }
    return {key: value for key, value in entry.items() if value is not None}


def _details_entry(package: LockedPackage) -> dict[str, Any]:
    entry = {
        "source": str(package.source),
        "installedAs": _optional(package.installed_as),
        "object": package.object_name,
        "state": package.state if package.state is State.ORPHANED else None,
        "released": package.released or None,
        "tag": package.tag,
        "root": package.root,
        "requiredBy": list(package.required_by) or None,
        "crds": [_answer_entry(answer) for answer in package.crds] or None,
        "replaces": [_replaced_entry(replaced) for replaced in package.replaces] or None,
        "detached": list(package.detached) or None,
        "staleEntry": list(package.stale_entry) or None,
        "objects": dict(package.objects) or None,
        "objectsDigest": package.objects_digest or None,
        "definitionsDigest": package.definitions_digest or None,
        "unclaimed": dict(package.unclaimed) or None,
        "groups": list(package.groups) or None,
        "family": package.family,
        "crossplane": package.crossplane,
        "licence": package.licence,
        "releasedAt": package.released_at,
        "signedBy": list(package.signed_by) or None,
        "attestedBy": list(package.attested_by) or None,
        "fields": package.fields or None,
        "overrides": package.overrides or None,
        "keptPins": [_pin_entry(pin) for pin in package.kept_pins] or None,
        # Always there and always last, so that the last block of a truncated file is never complete by chance.
        "digest": package.digest,
    }
    return {key: value for key, value in entry.items() if value is not None}


def _answer_entry(answer: CrdAnswer) -> dict[str, Any]:
    entry = {
        "crd": str(answer.crd),
        "version": answer.versions or None,
        "answeredBy": str(answer.source),
        "from": answer.place,
    }
    return {key: value for key, value in entry.items() if value is not None}


def _replaced_entry(replaced: Replaced) -> dict[str, Any]:
    return {"source": str(replaced.source), "strategy": replaced.strategy, "consent": replaced.consent}


def _pin_entry(pin: KeptPin) -> dict[str, Any]:
    entry = {
        "tag": pin.tag,
        "source": _optional(pin.source),
        "installedAs": _optional(pin.installed_as),
        "digest": pin.digest,
    }
    return {key: value for key, value in entry.items() if value is not None}


def _optional(source: Source | None) -> str | None:
    return None if source is None else str(source)
