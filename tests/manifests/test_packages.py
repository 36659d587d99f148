"""A locked package is rendered as its package object, with the user's own fields."""

import pytest
from rig.builders.locks import digest, package, source
from rig.cluster.crds import problems_of

from render.errors import InvalidInput
from render.lock.model import State
from render.manifests.packages import REQUIRED_BY, check_admitted, render_package
from render.packages import Kind

ACME = "xpkg.example.org/acme"
OPTIONS = "argocd.argoproj.io/sync-options"
BY_SERVER = {OPTIONS: "ServerSideApply=true"}


def test_a_dependency_has_a_name_a_tag_and_its_dependants() -> None:
    base = package("base v1.2.0", required_by=(f"{ACME}/app", f"{ACME}/tool"))

    made = render_package(base, wave=None, guarded=False)

    assert made == {
        "apiVersion": "pkg.crossplane.io/v1",
        "kind": "Provider",
        "metadata": {
            "name": "acme-base",
            "annotations": {**BY_SERVER, "xplock.dev/required-by": f"{ACME}/app, {ACME}/tool"},
        },
        "spec": {"package": f"{ACME}/base:v1.2.0"},
    }
    assert problems_of(made) == []


@pytest.mark.parametrize("kind", list(Kind))
def test_each_kind_of_package_is_rendered_as_its_own_kind(kind: Kind) -> None:
    made = render_package(package("base v1.2.0", kind=kind), wave="0", guarded=True)

    assert made["kind"] == str(kind)
    assert type(made["kind"]) is str
    assert problems_of(made) == []


def test_a_package_without_fields_has_no_empty_sections() -> None:
    made = render_package(package("base v1.2.0"), wave=None, guarded=False)

    assert made["metadata"] == {"name": "acme-base", "annotations": BY_SERVER}
    assert list(made) == ["apiVersion", "kind", "metadata", "spec"]


def test_the_fields_of_the_users_manifest_stay_in_one_order() -> None:
    fields = {
        "spec": {
            "revisionHistoryLimit": 3,
            "commonLabels": {"z": "1", "a": "2"},
            "packagePullPolicy": "Always",
        },
        "metadata": {
            "finalizers": ["b.example/keep", "a.example/keep"],
            "annotations": {"z": "1", "a": "2"},
            "labels": {"team": "x", "app": "y"},
        },
    }

    made = render_package(package("base v1.2.0", fields=fields), wave=None, guarded=False)

    assert made["metadata"] == {
        "name": "acme-base",
        "labels": {"app": "y", "team": "x"},
        "annotations": {"a": "2", **BY_SERVER, "z": "1"},
        "finalizers": ["b.example/keep", "a.example/keep"],
    }
    assert list(made["metadata"]) == ["name", "labels", "annotations", "finalizers"]
    assert list(made["metadata"]["labels"]) == ["app", "team"]
    assert list(made["metadata"]["annotations"]) == ["a", OPTIONS, "z"]
    assert list(made["spec"]) == ["package", "commonLabels", "packagePullPolicy", "revisionHistoryLimit"]
    assert list(made["spec"]["commonLabels"]) == ["a", "z"]
    assert problems_of(made) == []


def test_the_manifest_wins_over_the_settings_key_by_key() -> None:
    overrides = {
        "metadata": {
            "labels": {"team": "all", "tier": "base"},
            "annotations": {"note": "theirs", "more": "1"},
        },
        "spec": {"packagePullPolicy": "IfNotPresent", "revisionHistoryLimit": 5},
    }
    fields = {
        "metadata": {"labels": {"team": "mine"}, "annotations": {"note": "mine"}},
        "spec": {"packagePullPolicy": "Always"},
    }

    made = render_package(
        package("base v1.2.0", fields=fields, overrides=overrides), wave=None, guarded=False
    )

    assert made["metadata"]["labels"] == {"team": "mine", "tier": "base"}
    assert made["metadata"]["annotations"] == {"note": "mine", "more": "1", **BY_SERVER}
    assert made["spec"] == {
        "package": f"{ACME}/base:v1.2.0",
        "packagePullPolicy": "Always",
        "revisionHistoryLimit": 5,
    }


def test_a_package_installed_by_digest_has_no_tag() -> None:
    pinned = digest("ab")

    made = render_package(package(f"base {pinned}", tag="v1.2.0"), wave=None, guarded=False)

    assert made["spec"] == {"package": f"{ACME}/base@{pinned}"}
    assert problems_of(made) == []


def test_an_alias_keeps_the_source_that_the_cluster_knows() -> None:
    moved = package("new v2.0.0", installed_as=source("old"), object_name="acme-old")

    made = render_package(moved, wave=None, guarded=False)

    assert made["spec"] == {"package": f"{ACME}/old:v2.0.0"}


@pytest.mark.parametrize("own", [{}, {"spec": {"skipDependencyResolution": False}}])
def test_a_detached_package_skips_resolution_whatever_its_manifest_says(own: dict[str, object]) -> None:
    detached = package("base v1.2.0", detached=("it writes a as b",), fields=own)

    made = render_package(detached, wave=None, guarded=False)

    assert made["spec"]["skipDependencyResolution"] is True
    assert problems_of(made) == []


@pytest.mark.parametrize("own", [True, False])
def test_an_attached_package_keeps_skip_dependency_resolution_of_its_manifest(own: bool) -> None:
    fields = {"spec": {"skipDependencyResolution": own}}

    made = render_package(package("base v1.2.0", fields=fields), wave=None, guarded=False)

    assert made["spec"]["skipDependencyResolution"] is own


@pytest.mark.parametrize(
    ("count", "end"),
    [(20, f"{ACME}/d0019"), (21, f"{ACME}/d0019 and 1 more"), (3_021, f"{ACME}/d0019 and 3,001 more")],
)
def test_of_many_dependants_twenty_are_named(count: int, end: str) -> None:
    dependants = tuple(f"{ACME}/d{i:04}" for i in reversed(range(count)))

    made = render_package(package("base v1.2.0", required_by=dependants), wave=None, guarded=False)

    shown = made["metadata"]["annotations"][REQUIRED_BY]
    assert shown.startswith(f"{ACME}/d0000, {ACME}/d0001, ")
    assert shown.endswith(f", {end}")
    assert shown.count(", ") == 19


def test_waves_and_guards_join_the_annotations_in_order() -> None:
    fields = {"metadata": {"annotations": {"note": "mine"}}}

    made = render_package(package("base v1.2.0", fields=fields), wave="3", guarded=True)

    assert list(made["metadata"]["annotations"].items()) == [
        (OPTIONS, "Prune=false,Delete=confirm,ServerSideApply=true"),
        ("argocd.argoproj.io/sync-wave", "3"),
        ("kustomize.toolkit.fluxcd.io/prune", "disabled"),
        ("note", "mine"),
    ]
    assert problems_of(made) == []


@pytest.mark.parametrize("state", list(State))
@pytest.mark.parametrize("guarded", [True, False])
def test_argo_cd_applies_every_package_by_the_server(state: State, guarded: bool) -> None:
    for released in (False, not guarded):
        made = render_package(
            package("base v1.2.0", state=state, released=released), wave=None, guarded=guarded
        )

        guards = "Prune=false,Delete=confirm," * guarded
        assert made["metadata"]["annotations"][OPTIONS] == f"{guards}ServerSideApply=true"


def test_a_user_decides_against_applying_by_the_server() -> None:
    fields = {"metadata": {"annotations": {OPTIONS: "ServerSideApply=false"}}}

    made = render_package(package("base v1.2.0", fields=fields), wave=None, guarded=True)

    assert made["metadata"]["annotations"][OPTIONS] == "ServerSideApply=false,Prune=false,Delete=confirm"


def test_rendering_leaves_the_lock_as_it_is() -> None:
    fields = {"metadata": {"annotations": {OPTIONS: "Validate=false"}}, "spec": {}}
    before = repr(fields)

    render_package(package("base v1.2.0", fields=fields, detached=("x",)), wave="1", guarded=True)

    assert repr(fields) == before


def test_no_field_replaces_the_locked_package() -> None:
    fields = {"spec": {"package": "other.example/a:v1"}, "metadata": {"name": "other"}}

    made = render_package(package("base v1.2.0", fields=fields, overrides=fields), wave=None, guarded=False)

    assert made["metadata"] == {"name": "acme-base", "annotations": BY_SERVER}
    assert made["spec"] == {"package": f"{ACME}/base:v1.2.0"}


def test_fields_that_are_no_mappings_are_left_out() -> None:
    fields = {"metadata": ["x"], "spec": "y"}
    overrides = {"metadata": {"labels": "x", "annotations": None}}

    made = render_package(
        package("base v1.2.0", fields=fields, overrides=overrides), wave=None, guarded=False
    )

    assert made["metadata"] == {"name": "acme-base", "annotations": BY_SERVER}
    assert made["spec"] == {"package": f"{ACME}/base:v1.2.0"}


def test_a_registry_without_a_dot_is_refused_with_advice() -> None:
    refused = ["localhost:5000/acme/base:v1.0.0", f"[::1]:5000/acme/base@{digest('ab')}"]

    with pytest.raises(InvalidInput, match="whose name has no dot") as error:
        check_admitted([f"{ACME}/app:v1.0.0", *refused])

    assert error.value.why == tuple(refused)
    assert "ImageConfig that rewrites" in str(error.value)


def test_of_many_refused_references_some_are_shown() -> None:
    with pytest.raises(InvalidInput) as error:
        check_admitted([f"localhost/acme/p{i}:v1" for i in range(1_025)])

    assert len(error.value.why) == 21
    assert error.value.why[-1] == "… and 1,005 more"


@pytest.mark.parametrize(
    "reference", [f"{ACME}/app:v1.0.0", f"{ACME}/app@{digest('ab')}", "registry.example:5000/a:v1"]
)
def test_a_registry_with_a_dot_is_admitted(reference: str) -> None:
    check_admitted([reference])
