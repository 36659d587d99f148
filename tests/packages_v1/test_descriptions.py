"""app.yaml, group.yaml and resource.yaml: each field is read, and what is wrong is named."""

import pytest
from rig.builders.first_format import APP, annotations, converted, package, problems


def test_several_app_files_are_refused_by_name() -> None:
    assert problems(package({"a/app.yaml": APP})) == [
        "app.yaml: a package has exactly one; found .registry/a/app.yaml, .registry/app.yaml"
    ]


def test_a_package_without_app_yaml_is_refused() -> None:
    files = {name: text for name, text in package().items() if name != "app.yaml"}

    assert problems(files) == ["app.yaml: a package has exactly one; found none"]


def test_app_yaml_may_lie_at_any_depth() -> None:
    files = {"deep/down/app.yaml": APP, "crd.yaml": package()["resources/crd.yaml"]}

    assert annotations(files)["Mytype"]["package-title"] == "Sample Crossplane Stack"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "packageType: Function",
            "packageType: expected Provider, Stack, Application, Addon; found 'Function'",
        ),
        ("permissionScope: Galaxy", "permissionScope: expected Cluster, Namespaced; found 'Galaxy'"),
        ("title: 1", "title: expected text, found 1; write it in quotes"),
        ("keywords: a", "keywords: expected a list, found text"),
        ("maintainers: [a]", "maintainers[0]: expected a mapping, found text"),
        ("a: 1\n---\nb: 2", "expected one document, found 2"),
        ("- a", "expected a mapping, found a list"),
    ],
)
def test_a_wrong_field_of_app_yaml_is_named(text: str, problem: str) -> None:
    assert f".registry/app.yaml: {problem}" in problems(package({"app.yaml": f"{text}\n"}))


@pytest.mark.parametrize("version", ["0.1.0", ""])
def test_the_known_version_of_the_format_and_none_are_accepted_silently(version: str) -> None:
    line = f"apiVersion: {version}\n" if version else ""

    assert len(converted(package({"app.yaml": APP + line})).warnings) == 1


def test_another_version_of_the_format_is_a_warning() -> None:
    [warning, _] = converted(package({"app.yaml": f"{APP}apiVersion: 0.2.0\n"})).warnings

    assert warning == ".registry/app.yaml: apiVersion: 0.2.0 is read as the format 0.1.0"


@pytest.mark.parametrize("name", ["app.yaml", "group.yaml", "resource.yaml"])
def test_a_field_that_the_format_does_not_have_is_a_warning(name: str) -> None:
    text = f"{APP if name == 'app.yaml' else 'id: mytype'}\ntitel: typo\n"

    assert (
        f".registry/{name}: titel: Packages v1 has no such field; it is left out"
        in converted(package({name: text})).warnings
    )


@pytest.mark.parametrize("name", ["overviewShort", "shortOverview"])
def test_the_short_overview_of_a_resource_has_two_names(name: str) -> None:
    files = package({"resource.yaml": f"id: mytype\n{name}: Short\n"})

    assert annotations(files)["Mytype"]["resource-overview-short"] == "Short"


def test_two_different_short_overviews_are_refused() -> None:
    assert problems(package({"resource.yaml": "id: mytype\noverviewShort: A\nshortOverview: B\n"})) == [
        ".registry/resource.yaml: shortOverview: it differs from overviewShort, which means the same; remove one"
    ]


def test_a_resource_without_an_id_is_a_warning() -> None:
    assert (
        ".registry/resource.yaml: id is missing, so it describes no CRD"
        in converted(package({"resource.yaml": "title: A\n"})).warnings
    )
