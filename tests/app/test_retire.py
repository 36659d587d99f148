"""A package is dropped when its objects in the cluster show that the guard is off."""

from typing import Any

import pytest
from rig.builders.locks import package

from render.app.retire import MissingLive, StillActive, StillGuarded, require_unguarded
from render.lock.model import LockedPackage, State
from render.manifests.deactivation import render_deactivated
from render.manifests.packages import render_package

OPTIONS = "argocd.argoproj.io/sync-options"
FLUX = "kustomize.toolkit.fluxcd.io/prune"
OLD = package("old v1.0.0")


def live(name: str = "acme-old", **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "pkg.crossplane.io/v1",
        "kind": "Provider",
        "metadata": {"name": name, **metadata},
        "spec": {"package": "xpkg.example.org/acme/old:v1.0.0"},
    }


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"annotations": None},
        {"annotations": {OPTIONS: "Delete=confirm,ServerSideApply=true"}},
        {"annotations": {OPTIONS: "Prune=true,PruneLast=true"}},
        {"annotations": {FLUX: "enabled"}},
    ],
)
def test_an_object_without_its_guard_may_go(metadata: dict[str, Any]) -> None:
    require_unguarded([OLD], [live(**metadata)])


@pytest.mark.parametrize(
    ("metadata", "guard"),
    [
        ({"annotations": {OPTIONS: "Prune=false,Delete=confirm"}}, f"{OPTIONS}: Prune=false"),
        ({"annotations": {OPTIONS: "Delete=confirm, Prune=false"}}, f"{OPTIONS}: Prune=false"),
        ({"annotations": {FLUX: "disabled"}}, f"{FLUX}: disabled"),
        ({"annotations": {FLUX: "Disabled"}}, f"{FLUX}: disabled"),
        ({"labels": {FLUX: "disabled"}}, f"{FLUX}: disabled"),
    ],
)
def test_an_object_with_a_guard_stays(metadata: dict[str, Any], guard: str) -> None:
    with pytest.raises(StillGuarded) as caught:
        require_unguarded([OLD], [live(**metadata)])

    assert caught.value.exit_code == 3
    assert caught.value.why == (f"Provider acme-old has {guard}",)
    assert "sync" in caught.value.next[0]


def test_what_is_rendered_with_a_guard_is_found_to_have_one() -> None:
    rendered = render_package(OLD, wave=None, guarded=True)

    with pytest.raises(StillGuarded) as caught:
        require_unguarded([OLD], [rendered])

    assert len(caught.value.why) == 2


def test_of_several_clusters_none_may_have_the_guard() -> None:
    with pytest.raises(StillGuarded):
        require_unguarded([OLD], [live(), live(annotations={FLUX: "disabled"}), live()])


DEACTIVATED = package("old v1.0.0", state=State.DEACTIVATED, released=True)


@pytest.mark.parametrize("spec", [{}, {"revisionActivationPolicy": "Automatic"}, None, "text"])
def test_a_replaced_package_that_is_still_active_stays(spec: Any) -> None:
    with pytest.raises(StillActive) as caught:
        require_unguarded([DEACTIVATED], [{**live(), "spec": spec}])

    assert caught.value.exit_code == 3
    assert caught.value.why == ("Provider acme-old has no revisionActivationPolicy: Manual",)
    assert "sync" in caught.value.next[0]


def test_of_several_clusters_none_may_have_it_active() -> None:
    off = render_deactivated(DEACTIVATED, guarded=False, crossplane=None)[0]

    with pytest.raises(StillActive):
        require_unguarded([DEACTIVATED], [off, live()])


def test_a_replaced_package_may_go_as_it_is_rendered() -> None:
    require_unguarded([DEACTIVATED], render_deactivated(DEACTIVATED, guarded=False, crossplane=None))


def test_where_its_revision_is_rendered_that_has_to_be_inactive_too() -> None:
    off, revision = render_deactivated(DEACTIVATED, guarded=False, crossplane=None)
    running = {**revision, "spec": {"desiredState": "Active"}}

    with pytest.raises(StillActive) as still:
        require_unguarded([DEACTIVATED], [off, running], [DEACTIVATED])
    with pytest.raises(MissingLive) as missing:
        require_unguarded([DEACTIVATED], [off], [DEACTIVATED])
    require_unguarded([DEACTIVATED], [off, revision], [DEACTIVATED])

    name = revision["metadata"]["name"]
    assert still.value.why == (f"ProviderRevision {name} is not Inactive",)
    assert f"providerrevision.pkg.crossplane.io/{name} -o yaml" in missing.value.next[0]


@pytest.mark.parametrize(
    "other",
    [
        live("acme-new"),
        {**live(), "kind": "ProviderRevision"},
        {**live(), "apiVersion": "notification.toolkit.fluxcd.io/v1beta3"},
        {"kind": "Provider"},
        {"metadata": []},
        None,
        "text",
    ],
)
def test_an_object_that_is_not_shown_proves_nothing(other: Any) -> None:
    with pytest.raises(MissingLive) as caught:
        require_unguarded([OLD], [other])

    assert caught.value.exit_code == 2
    assert "kubectl get provider.pkg.crossplane.io/acme-old -o yaml" in caught.value.next[0]


def test_every_package_has_to_be_shown() -> None:
    new = package("new v1.0.0")

    with pytest.raises(MissingLive) as caught:
        require_unguarded([OLD, new], [live()])

    assert caught.value.what == "Provider acme-new is not among the live objects"


def test_many_objects_are_not_all_named() -> None:
    with pytest.raises(MissingLive) as caught:
        require_unguarded([OLD], [live(f"p{i}") for i in range(1000)])

    assert caught.value.why == (
        "there are Provider p0, Provider p1, Provider p2, Provider p3, Provider p4 and 995 more",
    )


def test_where_nothing_is_dropped_nothing_has_to_be_shown() -> None:
    require_unguarded([], [])


def released(fields: dict[str, Any]) -> LockedPackage:
    return package("old v1.0.0", released=True, fields=fields)


def test_a_released_package_has_no_guard_whoever_put_it_there() -> None:
    own = {"metadata": {"annotations": {OPTIONS: "Prune=false,Validate=false", FLUX: "disabled", "a": "b"}}}

    rendered = render_package(released(own), wave=None, guarded=False)

    assert rendered["metadata"]["annotations"] == {"a": "b", OPTIONS: "Validate=false,ServerSideApply=true"}
    require_unguarded([OLD], [rendered])


def test_what_a_user_wrote_stays_where_nothing_is_released() -> None:
    own = {"metadata": {"annotations": {OPTIONS: "Prune=false", FLUX: "disabled"}}}

    rendered = render_package(package("old v1.0.0", fields=own), wave=None, guarded=False)

    assert rendered["metadata"]["annotations"] == {
        OPTIONS: "Prune=false,ServerSideApply=true",
        FLUX: "disabled",
    }


def test_a_released_package_is_still_applied_by_the_server() -> None:
    own = {"metadata": {"annotations": {OPTIONS: "Prune=false"}}}

    rendered = render_package(released(own), wave=None, guarded=False)

    assert rendered["metadata"]["annotations"] == {OPTIONS: "ServerSideApply=true"}
