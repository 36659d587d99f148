"""Which objects Crossplane reads from a package, and which of them a package of each kind may hold."""

from collections.abc import Iterable

from render.packages import Kind, PackagedObject

_CRD = {
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition"),
}
ALLOWED: dict[Kind, frozenset[tuple[str, str]]] = {
    Kind.PROVIDER: frozenset({
        *_CRD,
        ("apiextensions.crossplane.io/v1alpha1", "ManagedResourceDefinition"),
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
        ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"),
    }),
    Kind.CONFIGURATION: frozenset({
        ("apiextensions.crossplane.io/v1", "CompositeResourceDefinition"),
        ("apiextensions.crossplane.io/v2", "CompositeResourceDefinition"),
        ("apiextensions.crossplane.io/v1", "Composition"),
        ("apiextensions.crossplane.io/v1alpha1", "ManagedResourceActivationPolicy"),
        ("ops.crossplane.io/v1alpha1", "Operation"),
        ("ops.crossplane.io/v1alpha1", "CronOperation"),
        ("ops.crossplane.io/v1alpha1", "WatchOperation"),
    }),
    Kind.FUNCTION: frozenset(_CRD),
}  # fmt: skip


# Crossplane decodes these too and installs none of them. It refuses a package with an object of any other kind.
# It also decodes lists and the kinds of requests (ListOptions, Status); no package has a reason to hold one.
_DECODED = frozenset({
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"),
    ("apiextensions.crossplane.io/v1", "CompositionRevision"),
    ("apiextensions.crossplane.io/v1alpha1", "Usage"),
})  # fmt: skip
KNOWN = _DECODED.union(*ALLOWED.values())


def is_known(item: PackagedObject) -> bool:
    """Tell whether Crossplane accepts a package that holds this object."""
    return (item.api_version, item.kind) in KNOWN


def misplaced(kind: Kind, objects: Iterable[PackagedObject]) -> list[PackagedObject]:
    """Return the objects that a package of this kind may not hold, in their order."""
    return [item for item in objects if (item.api_version, item.kind) not in ALLOWED[kind]]


def format_allowed(kind: Kind) -> str:
    """Return the kinds of object that a package of this kind may hold, as one text."""
    return ", ".join(sorted({name for _, name in ALLOWED[kind]}))
