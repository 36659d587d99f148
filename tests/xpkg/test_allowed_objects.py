"""Which objects belong into which kind of package."""

import pytest

from render.packages import Kind, PackagedObject
from render.xpkg.allowed_objects import ALLOWED, format_allowed, misplaced

CRD = PackagedObject("apiextensions.k8s.io/v1", "CustomResourceDefinition", "a.example.org")
XRD = PackagedObject("apiextensions.crossplane.io/v2", "CompositeResourceDefinition", "a.example.org")
OTHER = PackagedObject("v1", "ConfigMap", "a")


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (Kind.PROVIDER, [XRD, OTHER]),
        (Kind.CONFIGURATION, [CRD, OTHER]),
        (Kind.FUNCTION, [XRD, OTHER]),
    ],
)
def test_objects_of_another_kind_of_package_are_found_in_their_order(
    kind: Kind, wrong: list[PackagedObject]
) -> None:
    assert misplaced(kind, [CRD, XRD, OTHER]) == wrong


def test_every_kind_of_package_has_its_rules() -> None:
    assert set(ALLOWED) == set(Kind)


def test_what_is_allowed_is_told_sorted_and_once() -> None:
    assert format_allowed(Kind.FUNCTION) == "CustomResourceDefinition"
    assert format_allowed(Kind.PROVIDER) == (
        "CustomResourceDefinition, ManagedResourceDefinition, MutatingWebhookConfiguration, "
        "ValidatingWebhookConfiguration"
    )
