"""dependsOn of app.yaml becomes dependencies of today."""

import pytest
from rig.builders.first_format import crd

from render.crd_dependencies import parse_crd
from render.limits import Limits
from render.packages_v1.definitions.crds import read_crds
from render.packages_v1.dependencies import DependsOn, dependency_on, read_dependencies
from render.packages_v1.descriptions import App, read_app
from render.packages_v1.findings import Findings
from render.packages_v1.tree import Tree


def read(depends_on: str, *, source: str = "", **answers: str) -> tuple[DependsOn, Findings]:
    found = Findings()
    app_yaml = f"title: Sample\ndependsOn: {depends_on}\n"
    tree = Tree.of({"app.yaml": app_yaml.encode(), "crd.yaml": crd().encode()})
    app = read_app(tree, Limits(), found)
    assert isinstance(app, App)
    known = {
        parse_crd(f"{name}.example.org"): [dependency_on(f"a.example.org/{package}", ">=v1.0.0, <v2.0.0")]
        for name, package in answers.items()
    }
    return read_dependencies(app, read_crds(tree, Limits(), found), source, found, known), found


def test_a_dependency_on_crds_keeps_its_text() -> None:
    depends_on, _ = read(
        "[{crd: mytype.mygroup.example.org/v1alpha1}, {crd: '*.yourstack.example.org/v1alpha1'}]"
    )

    assert depends_on.entries == (
        {"crd": "mytype.mygroup.example.org/v1alpha1"},
        {"crd": "*.yourstack.example.org/v1alpha1"},
    )
    assert [str(one) for one in depends_on.crds] == [
        "mytype.mygroup.example.org/v1alpha1",
        "*.yourstack.example.org/v1alpha1",
    ]


def test_crds_that_a_lock_answers_become_dependencies_on_their_packages_each_once() -> None:
    entries = "[{crd: a.example.org}, {crd: b.example.org}, {crd: c.example.org}]"

    depends_on, found = read(entries, a="one", b="one", c="two")

    assert depends_on.entries == (
        dependency_on("a.example.org/one", ">=v1.0.0, <v2.0.0"),
        dependency_on("a.example.org/two", ">=v1.0.0, <v2.0.0"),
    )
    assert len(depends_on.crds) == 3
    assert found.warnings == []


def test_a_crd_that_the_lock_does_not_answer_keeps_its_text() -> None:
    depends_on, _ = read("[{crd: a.example.org}, {crd: b.example.org}]", a="one")

    assert depends_on.entries[1] == {"crd": "b.example.org"}


@pytest.mark.parametrize("name", ["mytype", "Mytype", "mytypes", "*"])
def test_a_dependency_on_its_own_crds_is_none(name: str) -> None:
    depends_on, found = read(f"[{{crd: '{name}.samples.example.org/v1alpha1'}}]")

    assert depends_on == DependsOn()
    assert found.warnings == []


def test_a_version_that_it_does_not_have_itself_is_a_dependency() -> None:
    depends_on, _ = read("[{crd: mytypes.samples.example.org/v1}]")

    assert len(depends_on.crds) == 1


def test_version_beside_crd_is_kept_for_the_lock_that_answers() -> None:
    depends_on, found = read("[{crd: a.example.org/v1, version: <2.0.0}, {crd: b.example.org, version: '*'}]")

    assert depends_on.entries == (
        {"crd": "a.example.org/v1", "version": "<2.0.0"},
        {"crd": "b.example.org"},
    )
    assert (found.problems, found.warnings) == ([], [])


@pytest.mark.parametrize(
    ("entry", "source", "package", "version"),
    [
        ("package: 'xpkg.example.org/crossplane/provider-gcp:v0.1.0'", "", "xpkg.example.org/crossplane/provider-gcp", "v0.1.0"),
        ("package: crossplane/provider-gcp", "xpkg.example.org", "xpkg.example.org/crossplane/provider-gcp", "*"),
        ("package: 'crossplane/provider-gcp:latest', source: a.example.org", "b.example.org", "a.example.org/crossplane/provider-gcp", "*"),
        ("package: c.example.org/a/b, source: a.example.org", "", "c.example.org/a/b", "*"),
        ("package: crossplane/provider-gcp", "", "crossplane/provider-gcp", "*"),
    ],
)  # fmt: skip
def test_a_dependency_on_a_package_gets_its_source_and_any_version_without_a_tag(
    entry: str, source: str, package: str, version: str
) -> None:
    depends_on, _ = read(f"[{{{entry}}}]", source=source)

    assert depends_on.entries == (
        {"apiVersion": "pkg.crossplane.io/v1", "kind": "Provider", "package": package, "version": version},
    )


def test_a_package_without_a_registry_is_a_warning_that_names_the_option() -> None:
    _, found = read("[{package: crossplane/provider-gcp}]")

    assert "--source" in found.warnings[0]


@pytest.mark.parametrize(
    ("entries", "place"),
    [
        ("[{}]", "dependsOn[0]: it needs either crd or package"),
        ("[{crd: a.example.org, package: a/b}]", "dependsOn[0]: it needs either crd or package, not both"),
        ("[{crd: '*.*.example.org'}]", "dependsOn[0].crd: "),
        ("[{crd: nogroup}]", "dependsOn[0].crd: "),
        ("[{crd: a.example.org, version: nonsense!}]", "dependsOn[0].version: "),
        ("[{package: A/B}]", "dependsOn[0].package: "),
        ("[{package: 'a/b:nonsense!'}]", "dependsOn[0].package: "),
    ],
)
def test_a_dependency_that_names_nothing_is_refused(entries: str, place: str) -> None:
    _, found = read(entries)

    assert len(found.problems) == 1
    assert found.problems[0].startswith(f".registry/app.yaml: {place}")


def test_fields_of_an_install_object_are_left_out_of_a_dependency_with_a_warning() -> None:
    _, found = read("[{package: a.example.org/b, imagePullPolicy: Always}]")

    assert found.warnings == [
        ".registry/app.yaml: dependsOn: imagePullPolicy: a dependency of today has no such field; it is left out"
    ]
