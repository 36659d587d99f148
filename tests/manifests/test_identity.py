"""Objects are the same by group, kind, namespace and name, in whatever version they are written."""

from typing import Any

import pytest

from render.manifests.identity import group_of, identify


@pytest.mark.parametrize(
    ("value", "identity"),
    [
        (
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "n"}},
            ("", "Secret", "n", "a"),
        ),
        (
            {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}},
            ("apps", "Deployment", "", "a"),
        ),
        (
            # The kinds of this group have no namespace, and Argo CD drops one without a word.
            {
                "apiVersion": "pkg.crossplane.io/v1",
                "kind": "Provider",
                "metadata": {"name": "a", "namespace": "n"},
            },
            ("pkg.crossplane.io", "Provider", "", "a"),
        ),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "a-"}}, ("", "Pod", "", "")),
        ({"apiVersion": "v1", "kind": "Pod"}, ("", "Pod", "", "")),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": "x"}, ("", "Pod", "", "")),
        (
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": 5, "namespace": None}},
            ("", "Pod", "", ""),
        ),
        ({}, ("", "", "", "")),
    ],
)
def test_the_identity_is_group_kind_namespace_and_name(
    value: dict[str, Any], identity: tuple[str, ...]
) -> None:
    assert identify(value) == identity


def test_the_group_is_the_part_before_the_version() -> None:
    assert group_of({"apiVersion": "v1"}) == ""
    assert group_of({"apiVersion": "a.example/v1beta1"}) == "a.example"
    assert group_of({"apiVersion": None}) == ""
