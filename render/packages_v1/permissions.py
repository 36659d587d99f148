"""The permissions that Packages v1 granted by itself and Crossplane does not: RBAC for a person to read and apply."""

from collections.abc import Sequence
from typing import Any

from render.crd_dependencies import CrdRequest

_API = "rbac.authorization.k8s.io"
# Crossplane's own namespace, where it creates the ServiceAccount of a Provider.
NAMESPACE = "crossplane-system"
_CORE = ("configmaps", "events", "secrets")


def access_rules(depends_on: Sequence[CrdRequest]) -> list[dict[str, Any]]:
    """Return the rules: the controller's own CRDs are not among them, since Crossplane grants those."""
    asked = sorted({(crd.group, crd.name) for crd in depends_on})
    return [_rule("", *_CORE), *(_rule(group, name) for group, name in asked)]


def access_objects(name: str, depends_on: Sequence[CrdRequest]) -> list[dict[str, Any]]:
    """Return a ClusterRole, and its binding to the ServiceAccount of the controller."""
    # Not the name of the ServiceAccount: Crossplane derives ClusterRoles from that.
    role = f"{name}-packages-v1"
    return [
        {
            "apiVersion": f"{_API}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": role},
            "rules": access_rules(depends_on),
        },
        {
            "apiVersion": f"{_API}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": role},
            "roleRef": {"apiGroup": _API, "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}],
        },
    ]


def _rule(group: str, *resources: str) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": list(resources), "verbs": ["*"]}
