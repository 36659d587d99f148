"""Deactivated packages: the package object as before with its revision switched off.

Rendered are (1) the package object with all fields that it had while it was active, `revisionActivationPolicy: Manual`,
`skipDependencyResolution: true` and an annotation that makes Argo CD ignore its health; and (2) for Crossplane below
v2.4 a partial manifest of its revision, `desiredState: Inactive`. Its pin is rendered like that of an active package.
"""

from typing import Any

from render.crossplane import needs_inactive_revision
from render.lock.model import LockedPackage
from render.lock.text.format import PACKAGE_API
from render.manifests.packages import render_package
from render.manifests.sync_annotations import add_options
from render.names import revision_name
from render.versions.version import Version

# A deactivated package is never healthy.
_IGNORE_HEALTH = "argocd.argoproj.io/ignore-healthcheck"
# Crossplane owns the revision; we apply a single field of it.
_PARTIAL_APPLY = ("ServerSideApply=true", "Validate=false")


def render_deactivated(
    package: LockedPackage, *, guarded: bool, crossplane: Version | None
) -> list[dict[str, Any]]:
    """Return the package object of a deactivated package, and below Crossplane v2.4 its inactive revision."""
    value = render_package(package, wave=None, guarded=guarded)
    # No field may be left out: some ways of applying would remove it from the object in the cluster.
    value["spec"] |= {"revisionActivationPolicy": "Manual", "skipDependencyResolution": True}
    value["spec"] = {"package": value["spec"].pop("package"), **dict(sorted(value["spec"].items()))}
    annotations = {**value["metadata"].get("annotations", {}), _IGNORE_HEALTH: "true"}
    value["metadata"]["annotations"] = dict(sorted(annotations.items()))
    return [value, _render_revision(package)] if needs_inactive_revision(crossplane) else [value]


def _render_revision(package: LockedPackage) -> dict[str, Any]:
    annotations: dict[str, Any] = {}
    add_options(annotations, _PARTIAL_APPLY)
    return {
        "apiVersion": PACKAGE_API,
        "kind": f"{package.kind}Revision",
        "metadata": {
            "name": revision_name(package.object_name, package.digest),
            "annotations": annotations,
        },
        "spec": {"desiredState": "Inactive"},
    }
