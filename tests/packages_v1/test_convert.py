"""A whole package: names, versions, scopes, what has no equivalent, and the bytes that come out."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.builders.first_format import APP, INSTALL, converted, crd, package, problems

NAMESPACED = APP.replace("Cluster", "Namespaced")


def test_the_same_files_give_the_same_bytes_in_whatever_order_they_are_read() -> None:
    files = package({"install.yaml": INSTALL, "b/crd.yaml": crd("Other"), "a/crd.yaml": crd("Another")})
    first = converted(files)

    for seed in range(5):
        shuffled = list(files.items())
        random.Random(seed).shuffle(shuffled)
        assert converted(dict(shuffled)) == first


def test_the_package_holds_its_metadata_and_then_its_crds_by_name() -> None:
    found = converted(package({"a/crd.yaml": crd("Zeta"), "b/crd.yaml": crd("Alpha")}))

    kinds = [line for line in found.data.decode().splitlines() if line.startswith(("kind:", "  name:"))]
    assert kinds == [
        "kind: Provider", "  name: sample-stack",
        "kind: CustomResourceDefinition", "  name: alphas.samples.example.org",
        "kind: CustomResourceDefinition", "  name: mytypes.samples.example.org",
        "kind: CustomResourceDefinition", "  name: zetas.samples.example.org",
    ]  # fmt: skip


def test_behavior_yaml_is_refused_and_the_crd_named_that_becomes_an_xrd() -> None:
    [problem] = problems(package({"behavior.yaml": "engine: {type: kustomize}\n"}))

    assert problem.startswith(".registry/behavior.yaml: Crossplane has no template controller any more")
    assert "mytypes.samples.example.org" in problem


def test_of_several_crds_the_one_is_named_that_behavior_yaml_is_about() -> None:
    behavior = "crd: {kind: Mytype, apiVersion: samples.example.org/v1alpha1}\n"

    [problem] = problems(package({"behavior.yaml": behavior, "a/crd.yaml": crd("Other")}))

    assert "in the place of mytypes.samples.example.org, and" in problem


def test_namespaced_permissions_need_consent() -> None:
    files = package({"app.yaml": NAMESPACED})

    [problem] = problems(files)

    assert problem.startswith(".registry/app.yaml: permissionScope: ")
    assert "--cluster-wide" in problem
    assert converted(files, cluster_wide=True).namespaced


def test_a_namespaced_package_has_only_namespaced_crds() -> None:
    files = package({"app.yaml": NAMESPACED, "a/crd.yaml": crd("Other", scope="Cluster")})

    assert problems(files, cluster_wide=True) == [
        ".registry/a/crd.yaml: spec.scope: expected Namespaced, as permissionScope in .registry/app.yaml is"
    ]


def test_a_namespaced_package_may_leave_the_scope_of_its_crds_out() -> None:
    files = package({"app.yaml": NAMESPACED, "resources/crd.yaml": crd(scope="")})

    assert problems(files, cluster_wide=True) == []


def test_a_package_without_a_crd_is_refused() -> None:
    assert problems({"app.yaml": APP}) == ["*crd.yaml: a package has at least one CRD; found no such file"]


@pytest.mark.parametrize(("written", "tag"), [("0.0.1", "0.0.1"), ("0.0.1", "v0.0.1"), ("v1", "v1")])
def test_a_version_in_app_yaml_may_lack_the_v_of_a_tag(written: str, tag: str) -> None:
    assert problems(package({"app.yaml": f"{APP}version: {written}\n"}), versions=(tag,)) == []


def test_a_version_in_app_yaml_that_is_not_the_tag_is_refused() -> None:
    assert problems(package({"app.yaml": f"{APP}version: 0.0.1\n"}), versions=("v0.0.2",)) == [
        ".registry/app.yaml: version: expected v0.0.2, as the package is named; found 0.0.1"
    ]


@pytest.mark.parametrize(
    ("written", "versions", "version"),
    [
        ("", ("v0.0.2",), "v0.0.2"),
        ("0.0.2", ("v0.0.2",), "0.0.2"),
        ("", ("v1", "v1.0"), None),
        ("", (), None),
    ],
)
def test_a_version_that_app_yaml_leaves_out_is_the_tag(
    written: str, versions: tuple[str, ...], version: str | None
) -> None:
    app = APP + (f"version: {written}\n" if written else "")

    found = converted(package({"app.yaml": app}), versions=versions)

    assert found.metadata.annotations.get("packages.crossplane.io/version") == version


def test_a_name_that_no_object_can_have_is_refused() -> None:
    [problem] = problems(package(), name="Sample_Stack")

    assert problem.startswith("--name: name the package: a DNS label")
    assert problem.endswith("'Sample_Stack' is none")


def test_the_permissions_of_older_packages_are_left_out_with_a_warning() -> None:
    assert (
        ".registry/rbac.yaml: it was superseded by dependsOn and is left out"
        in converted(package({"rbac.yaml": "rules: []\n"})).warnings
    )


def test_a_yaml_file_of_another_name_is_left_out_with_a_warning() -> None:
    assert (
        ".registry/notes.yml: Packages v1 has no file of this name; it is left out"
        in converted(package({"notes.yml": "a: 1\n", "README.md": "text"})).warnings
    )


NAMES = ["app.yaml", "install.yaml", "group.yaml", "resource.yaml", "crd.yaml", "ui-schema.yaml", "icon.svg"]


@given(st.dictionaries(st.sampled_from(NAMES), st.binary(max_size=60) | st.text(max_size=60), max_size=7))
def test_any_files_are_converted_or_refused_with_reasons(files: dict[str, str | bytes]) -> None:
    encodable = {
        name: text if isinstance(text, bytes) else text.encode(errors="replace")
        for name, text in files.items()
    }

    assert problems(encodable) or converted(encodable)
