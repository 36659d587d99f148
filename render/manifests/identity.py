"""The identity of an object in a cluster: group, kind, namespace and name."""

from collections.abc import Mapping

from render.lean import Any, TypeAlias
from render.packages import PACKAGE_GROUP

# Group, kind, namespace, name; a missing part is empty.
Identity: TypeAlias = tuple[str, str, str, str]


def identify(value: Mapping[str, Any]) -> Identity:
    """Return the identity of an object, also of a malformed one."""
    metadata = value.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    group = group_of(value)
    # Crossplane's package kinds are cluster-scoped, so the API server drops their namespace.
    namespace = "" if group == PACKAGE_GROUP else _text(named.get("namespace"))
    return group, _text(value.get("kind")), namespace, _text(named.get("name"))


def group_of(value: Mapping[str, Any]) -> str:
    """Return the API group of an object; empty for the core group."""
    return _text(value.get("apiVersion")).rpartition("/")[0]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
