"""Packages that were replaced: still there in full, and switched off."""

from typing import Any

from render.crossplane import needs_inactive_revision
from render.lock.format import PACKAGE_API
from render.lock.model import LockedPackage
from render.manifests.packages import render_package
from render.manifests.sync_annotations import add_options
from render.names import revision_name
from render.versions import Version

# A package that is off is not healthy, and that is how it should be.
_IGNORED_HEALTH = "argocd.argoproj.io/ignore-healthcheck"
# The revision belongs to Crossplane; only the one field below is ours.
_PARTIAL = ("ServerSideApply=true", "Validate=false")


def render_deactivated(
    package: LockedPackage, *, guarded: bool, crossplane: Version | None
) -> list[dict[str, Any]]:
    """Return the object of a package that is off, and up to Crossplane v2.3 what switches its revision off."""
    value = render_package(package, wave=None, guarded=guarded)
    # Never less than was rendered while it was on: what is left out, some way of applying would take away.
    value["spec"] |= {"revisionActivationPolicy": "Manual", "skipDependencyResolution": True}
    value["spec"] = {"package": value["spec"].pop("package"), **dict(sorted(value["spec"].items()))}
    annotations = {**value["metadata"].get("annotations", {}), _IGNORED_HEALTH: "true"}
    value["metadata"]["annotations"] = dict(sorted(annotations.items()))
    return [value, _render_revision(package)] if needs_inactive_revision(crossplane) else [value]


def _render_revision(package: LockedPackage) -> dict[str, Any]:
    annotations: dict[str, Any] = {}
    add_options(annotations, _PARTIAL)
    return {
        "apiVersion": PACKAGE_API,
        "kind": f"{package.kind}Revision",
        "metadata": {
            "name": revision_name(package.object_name, package.digest),
            "annotations": annotations,
        },
        "spec": {"desiredState": "Inactive"},
    }
