"""One kind in several version folders is one CRD with all its versions."""

import pytest
from rig.builders.first_format import crd, only_crd, package, problems

OTHER = "resources/other/crd.yaml"


def test_versions_of_several_files_are_one_crd_all_served_and_the_highest_stored() -> None:
    files = package({
        "resources/crd.yaml": crd(version="v1alpha1"),
        "resources/b/crd.yaml": crd(version="v1beta1"),
        "resources/c/crd.yaml": crd(version="v1alpha2"),
    })  # fmt: skip

    versions = only_crd(files)["spec"]["versions"]

    assert [(one["name"], one["served"], one["storage"]) for one in versions] == [
        ("v1beta1", True, True),
        ("v1alpha2", True, False),
        ("v1alpha1", True, False),
    ]


@pytest.mark.parametrize(
    ("other", "field"),
    [
        (crd(version="v1", scope="Cluster"), "spec.scope"),
        (crd(version="v1", names="{kind: Other, plural: mytypes}"), "spec.names"),
        (crd(version="v1", names="{kind: Mytype, plural: mytypes, shortNames: [my]}"), "spec.names"),
        (crd(version="v1", conversion="{strategy: None}"), "spec.conversion"),
    ],
)
def test_files_of_one_crd_that_differ_in_more_than_versions_are_refused(other: str, field: str) -> None:
    found = problems(package({OTHER: other}))

    assert len(found) == 1
    assert field in found[0]
    assert OTHER in found[0]
    assert "resources/crd.yaml" in found[0]


def test_names_that_are_written_out_are_those_that_are_derived() -> None:
    other = crd(version="v1", names="{kind: Mytype, plural: mytypes, singular: mytype, listKind: MytypeList}")

    assert len(only_crd(package({OTHER: other}))["spec"]["versions"]) == 2


def test_a_version_that_two_files_have_is_refused() -> None:
    assert "version v1alpha1 already" in problems(package({OTHER: crd()}))[0]


def test_a_crd_needs_exactly_one_stored_version() -> None:
    text = crd(version="", versions="[{name: v1, served: true, storage: false}]")

    assert problems(package({"resources/crd.yaml": text})) == [
        ".registry/resources/crd.yaml: spec.versions: exactly one version has storage: true"
    ]
