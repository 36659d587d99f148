"""The facts of a package, counted and hashed the same way whatever their order."""

import pytest

from render.packages import (
    Kind,
    Metadata,
    PackagedObject,
    count_kinds,
    digest_objects,
    is_meta,
    is_project,
)

CRD = PackagedObject("apiextensions.k8s.io/v1", "CustomResourceDefinition", "a.example.org")
OTHER = PackagedObject("apiextensions.k8s.io/v1", "CustomResourceDefinition", "b.example.org")
WEBHOOK = PackagedObject("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "a")


def test_objects_are_counted_by_kind_in_the_order_of_kinds() -> None:
    counts = count_kinds([WEBHOOK, CRD, OTHER])

    assert list(counts.items()) == [("CustomResourceDefinition", 2), ("MutatingWebhookConfiguration", 1)]


def test_the_digest_of_objects_does_not_depend_on_their_order() -> None:
    assert digest_objects([CRD, OTHER, WEBHOOK]) == digest_objects([WEBHOOK, OTHER, CRD])


def test_the_digest_of_objects_tells_apart_what_differs_in_any_part() -> None:
    lists = [
        [],
        [CRD],
        [OTHER],
        [CRD, OTHER],
        [CRD, CRD],
        [WEBHOOK],
        [PackagedObject("v1", CRD.kind, CRD.name)],
    ]

    assert len({digest_objects(objects) for objects in lists}) == len(lists)


def test_the_digest_of_known_objects_never_changes() -> None:
    assert digest_objects([CRD, WEBHOOK]) == (
        "sha256:2416a71708deab25b84377b621a27e450b0cf610353b76a5fc700ab6d17739e2"
    )


def test_an_object_knows_its_group() -> None:
    assert CRD.group == "apiextensions.k8s.io"
    assert PackagedObject("v1", "ConfigMap", "a").group == ""


def test_a_family_is_told_by_a_label() -> None:
    member = Metadata(
        Kind.PROVIDER, "meta.pkg.crossplane.io/v1", "a", labels={"pkg.crossplane.io/provider-family": "aws"}
    )

    assert member.family == "aws"
    assert Metadata(Kind.PROVIDER, "meta.pkg.crossplane.io/v1", "a").family is None


@pytest.mark.parametrize(
    ("api_version", "meta", "project"),
    [
        ("meta.pkg.crossplane.io/v1", True, False),
        ("meta.pkg.crossplane.io/v9", True, False),
        ("meta.pkg.ibm.crossplane.io/v1alpha1", True, False),
        ("pkg.crossplane.io/v1", False, False),
        ("xmeta.pkg.crossplane.io/v1", False, False),
        ("dev.crossplane.io/v1alpha1", False, True),
        ("meta.dev.upbound.io/v2alpha1", False, True),
        ("v1", False, False),
    ],
)
def test_the_group_tells_what_a_document_is(api_version: str, meta: bool, project: bool) -> None:
    assert (is_meta(api_version), is_project(api_version)) == (meta, project)
