"""Install objects are roots: their fields as today's Crossplane calls them, and what is wrong with them by its place."""

from pathlib import Path
from typing import Any

import pytest
from rig.builders.packages import write_files

from render.inputs.problems import InvalidInputs
from render.inputs.projects import read_inputs
from render.inputs.roots import Document, Found, sort_documents
from render.limits import Limits
from render.versions.requests import Request
from render.yaml.documents import file_rules, parse_documents

PLACE = "install.yaml"
DIGEST = f"sha256:{'a' * 64}"


def install(spec: str, *, kind: str = "ClusterPackageInstall", metadata: str = "{name: gcp}") -> str:
    return f"apiVersion: packages.crossplane.io/v1alpha1\nkind: {kind}\nmetadata: {metadata}\nspec: {spec}\n"


def read(text: str) -> tuple[Found, list[str]]:
    problems: list[str] = []
    values = parse_documents(text.encode(), file_rules(Limits()))
    return sort_documents([Document(value, PLACE) for value in values], problems), problems


def root(text: str) -> Any:
    found, problems = read(text)
    assert problems == []
    roots: list[Any] = [*found.roots, *found.crd_roots]
    [only] = roots
    return only


@pytest.mark.parametrize("kind", ["ClusterPackageInstall", "PackageInstall"])
def test_an_install_object_is_a_root_with_its_name_and_is_not_passed_through(kind: str) -> None:
    text = install("{source: xpkg.example.org, package: 'crossplane/provider-gcp:v0.1.0'}", kind=kind)

    found, problems = read(text)

    [asked] = found.roots
    assert (problems, found.passthrough) == ([], ())
    assert str(asked.source) == "xpkg.example.org/crossplane/provider-gcp"
    assert (asked.request, asked.name, asked.kind) == (Request(tag="v0.1.0"), "gcp", None)
    assert (asked.place, asked.fields) == ("install.yaml: spec.package", {})


def test_a_package_that_names_a_host_itself_does_not_get_the_source() -> None:
    asked = root(install("{source: xpkg.example.org, package: 'mirror.example.org/crossplane/gcp:v1'}"))

    assert str(asked.source) == "mirror.example.org/crossplane/gcp"


def test_a_status_and_a_namespace_are_left_out() -> None:
    text = install("{package: 'a.example.org/b/c:v1'}", metadata="{name: gcp, namespace: team}")

    assert root(f"{text}status: {{conditions: []}}\n").fields == {}


def test_a_digest_and_a_range_are_accepted_as_of_every_root() -> None:
    digest = root(install(f"{{package: 'a.example.org/b/c@{DIGEST}'}}"))
    versions = root(
        install(
            "{package: a.example.org/b/c}", metadata='{name: gcp, annotations: {xplock.dev/version: ">=v1"}}'
        )
    )

    assert digest.request == Request(digest=DIGEST)  # type: ignore[arg-type]
    assert versions.request.constraint.text == ">=v1"
    assert versions.fields == {}


def test_pull_secrets_the_pull_policy_and_labels_are_kept_under_the_names_of_today() -> None:
    text = install(
        "{package: 'a.example.org/b/c:v1', imagePullSecrets: [{name: secret}], imagePullPolicy: Always}",
        metadata="{name: gcp, labels: {team: a}, annotations: {note: b}}",
    )

    assert root(text).fields == {
        "metadata": {"labels": {"team": "a"}, "annotations": {"note": "b"}},
        "spec": {"packagePullPolicy": "Always", "packagePullSecrets": [{"name": "secret"}]},
    }


def test_annotations_of_a_service_account_become_a_runtime_config() -> None:
    text = install("{package: 'a.example.org/b/c:v1', serviceAccount: {annotations: {iam: role}}}")

    found, _ = read(text)

    assert found.roots[0].fields == {"spec": {"runtimeConfigRef": {"name": "gcp"}}}
    assert found.passthrough == (
        {
            "apiVersion": "pkg.crossplane.io/v1beta1",
            "kind": "DeploymentRuntimeConfig",
            "metadata": {"name": "gcp"},
            "spec": {"serviceAccountTemplate": {"metadata": {"annotations": {"iam": "role"}}}},
        },
    )


@pytest.mark.parametrize(
    "crd",
    [
        "wordpressinstances.wordpress.example.org/v1alpha1",
        "{group: wordpress.example.org, version: v1alpha1, kind: WordpressInstances}",
    ],
)
def test_an_install_object_may_ask_for_a_crd(crd: str) -> None:
    asked = root(install(f"{{source: xpkg.example.org, crd: {crd}}}", kind="PackageInstall"))

    assert str(asked.crd) == "wordpressinstances.wordpress.example.org/v1alpha1"
    assert (asked.name, asked.place) == ("gcp", "install.yaml: spec.crd")


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("{}", "spec: it needs a package or a crd"),
        ("{package: 'a.example.org/b:v1', crd: a.b.example.org}", "spec: package and crd exclude each other"),
        ("{package: 'crossplane/provider-gcp:v1'}", "spec.package: 'crossplane/provider-gcp' does not start with a registry"),
        ("{package: a.example.org/b/c}", "spec.package: no tag meant the newest version"),
        ("{package: 'a.example.org/b/c:latest'}", "spec.package: no tag meant the newest version"),
        ("{package: 'a.example.org/b/c@sha256:1'}", "spec.package: after @ comes sha256:"),
        ("{package: 'a.example.org/B:v1'}", "spec.package: "),
        ("{source: 'a b', package: 'b:v1'}", "spec.package: "),
        ("{crd: nogroup}", "spec.crd: 'nogroup' does not name a CRD"),
        ("{package: 'a.example.org/b:v1', runtime: a}", "spec.runtime: unknown field"),
        ("{package: 'a.example.org/b:v1', serviceAccount: {name: a}}", "spec.serviceAccount.name: unknown field"),
        ("{package: 1}", "spec.package: expected text"),
    ],
)  # fmt: skip
def test_an_install_object_that_asks_for_nothing_or_too_much_is_refused(spec: str, problem: str) -> None:
    found, problems = read(install(spec))

    assert found.roots == ()
    assert any(one.startswith(f"{PLACE}: {problem}") for one in problems), problems


def test_a_package_without_a_registry_says_that_the_registry_of_that_time_is_gone() -> None:
    _, [problem] = read(install("{package: 'crossplane/provider-gcp:v1'}"))

    assert "registry.crossplane.io, is gone: write source" in problem


def test_a_tag_excludes_a_range() -> None:
    _, [problem] = read(
        install(
            "{package: 'a.example.org/b/c:v1'}",
            metadata='{name: a, annotations: {xplock.dev/version: ">=v1"}}',
        )
    )

    assert "excludes the annotation xplock.dev/version" in problem


def test_a_name_that_no_package_object_can_have_is_refused() -> None:
    _, problems = read(install("{package: 'a.example.org/b:v1'}", metadata="{name: a.b}"))

    assert problems[0].startswith(f"{PLACE}: metadata.name: expected a DNS label")


@pytest.mark.parametrize("kind", ["Package", "StackDefinition"])
def test_other_kinds_of_that_group_are_refused_since_no_cluster_knows_them(kind: str) -> None:
    found, [problem] = read(install("{}", kind=kind))

    assert found.passthrough == ()
    assert "any more; remove it" in problem


@pytest.mark.parametrize(
    ("kind", "scope", "fitting"),
    [
        ("ClusterPackageInstall", "Namespaced", "PackageInstall"),
        ("PackageInstall", "Cluster", "ClusterPackageInstall"),
    ],
)
def test_an_install_object_for_another_scope_than_the_package_beside_it_is_refused(
    tmp_path: Path, kind: str, scope: str, fitting: str
) -> None:
    write_files(
        tmp_path,
        {
            ".registry/app.yaml": f"permissionScope: {scope}\n",
            PLACE: install("{package: 'a.example.org/b:v1'}", kind=kind),
        },
    )

    with pytest.raises(InvalidInputs) as raised:
        read_inputs(tmp_path, Limits(), {})

    assert raised.value.problems == [
        f"{PLACE}: kind: {kind} does not fit permissionScope: {scope} in .registry/app.yaml; write {fitting}"
    ]


@pytest.mark.parametrize("app", ["permissionScope: Cluster\n", "title: None\n"])
def test_an_install_object_for_the_scope_of_the_package_beside_it_or_of_none_is_fine(
    tmp_path: Path, app: str
) -> None:
    write_files(tmp_path, {".registry/app.yaml": app, PLACE: install("{package: 'a.example.org/b:v1'}")})

    assert len(read_inputs(tmp_path, Limits(), {}).roots) == 1
