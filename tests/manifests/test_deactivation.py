from typing import Any

from rig.builders.locks import package, source
from rig.cluster.crds import problems_of

from render.lock.model import State
from render.manifests.deactivation import render_deactivated
from render.versions.version import parse_version

GUARDS = {
    "argocd.argoproj.io/sync-options": "Prune=false,Delete=confirm,ServerSideApply=true",
    "kustomize.toolkit.fluxcd.io/prune": "disabled",
}
FIELDS = {
    "metadata": {"labels": {"team": "storage"}},
    "spec": {"packagePullPolicy": "Always", "revisionActivationPolicy": "Automatic"},
}


def render(version: str, *, guarded: bool = True) -> list[dict[str, Any]]:
    old = package(
        "old v1.0.0",
        state=State.DEACTIVATED,
        replaced_by=(source("new"),),
        fields=FIELDS,
        released=not guarded,
    )
    return render_deactivated(old, guarded=guarded, crossplane=parse_version(version))


def test_a_deactivated_package_is_rendered_in_full_with_its_inactive_revision() -> None:
    value, revision = render("v2.3.4")

    assert value == {
        "apiVersion": "pkg.crossplane.io/v1",
        "kind": "Provider",
        "metadata": {
            "name": "acme-old",
            "labels": {"team": "storage"},
            "annotations": {"argocd.argoproj.io/ignore-healthcheck": "true", **GUARDS},
        },
        "spec": {
            "package": "xpkg.example.org/acme/old:v1.0.0",
            "packagePullPolicy": "Always",
            "revisionActivationPolicy": "Manual",
            "skipDependencyResolution": True,
        },
    }
    assert revision == {
        "apiVersion": "pkg.crossplane.io/v1",
        "kind": "ProviderRevision",
        # The digest of v1.0.0 in these tests starts with 1a0a0 and goes on with zeros.
        "metadata": {
            "name": "acme-old-1a0a00000000",
            "annotations": {"argocd.argoproj.io/sync-options": "ServerSideApply=true,Validate=false"},
        },
        "spec": {"desiredState": "Inactive"},
    }
    assert problems_of(value) == []
    assert problems_of(revision, partial=True) == []


def test_from_crossplane_v2_4_on_no_revision_is_rendered() -> None:
    assert [value["kind"] for value in render("v2.4.0")] == ["Provider"]
    assert render("v2.4.0")[0] == render("v2.3.4")[0]


def test_a_released_package_has_lost_its_guard_and_nothing_else() -> None:
    (guarded, *_), (released, *_) = render("v2.3.4"), render("v2.3.4", guarded=False)

    guarded["metadata"]["annotations"]["argocd.argoproj.io/sync-options"] = "ServerSideApply=true"
    del guarded["metadata"]["annotations"]["kustomize.toolkit.fluxcd.io/prune"]
    assert released == guarded
