"""A place in two schemas of one version: the schemas there, its path, and the schemas below it."""

import re
from collections.abc import Mapping

from render.definitions.findings import Difference, differ
from render.definitions.rules import RULES, Risk
from render.digests import format_canonical
from render.lean import Any, TypeAlias, dataclass

Schema: TypeAlias = Mapping[str, Any]

KEEPS_UNKNOWN = "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING = "x-kubernetes-int-or-string"
EMBEDDED = "x-kubernetes-embedded-resource"
# Every object has these, whether its schema names them or not.
_OF_EVERY_OBJECT = frozenset({"apiVersion", "kind", "metadata"})
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_$-]+")
_STATUS = re.compile(r"\.status(?![^.\[])")


class NoSchemaError(Exception):
    """Something stands where a schema has to be, and is none."""


@dataclass(frozen=True, slots=True)
class Node:
    """A place that both schemas have."""

    old: Schema
    new: Schema
    path: str = ""
    depth: int = 0

    def differ(
        self,
        rule: str,
        risk: Risk | None = None,
        *,
        below: str = "",
        before: str = "",
        after: str = "",
        detail: str = "",
    ) -> Difference:
        """Return a difference here; in a status it is a note, since nothing but its controller writes there."""
        path = self.path + below
        found = Risk.NOTE if is_status(path) else risk or RULES[rule].risk
        return differ(rule, found, path=path, before=before, after=after, detail=detail)

    def below(self, step: str, old: object, new: object) -> "Node":
        """Return a place below this one."""
        path = self.path + step
        return Node(as_schema(old, path), as_schema(new, path), path, self.depth + 1)

    def always_there(self) -> frozenset[str]:
        """Return the fields that objects have here without a schema for them."""
        is_object = not self.path or self.old.get(EMBEDDED) is True or self.new.get(EMBEDDED) is True
        return _OF_EVERY_OBJECT if is_object else frozenset()


def is_status(path: str) -> bool:
    """Return whether controllers alone write what is at a path."""
    return _STATUS.match(path) is not None


def as_schema(value: object, path: str) -> Schema:
    """Return a value that has to be a schema."""
    if not isinstance(value, Mapping):
        raise NoSchemaError(f"{path or 'the top'} has no schema")
    return value


def properties_of(schema: Schema, path: str) -> Schema:
    """Return the schemas of the fields, by their names."""
    found = schema.get("properties")
    return {} if found is None else as_schema(found, path)


def step_to(name: str) -> str:
    """Return the part of a path that leads to a field."""
    return f".{name}" if _PLAIN_NAME.fullmatch(name) else f"[{format_canonical(name)}]"


def texts_of(schema: Schema, key: str, path: str) -> list[str]:
    """Return a list of texts, which may be missing."""
    found = schema.get(key)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise NoSchemaError(f"{path or 'the top'} has no list of texts as {key}")
    return found


def keeps_unknown(schema: Schema) -> bool:
    """Return whether fields that the schema does not have are kept."""
    return schema.get(KEEPS_UNKNOWN) is True


def map_values(schema: Schema) -> object:
    """Return the schema of a map's values, if it is one."""
    found = schema.get("additionalProperties")
    # True stands for any value.
    return {KEEPS_UNKNOWN: True} if found is True else None if found is False else found


def show(value: object) -> str:
    """Return a value as a short text."""
    return value if isinstance(value, str) else format_canonical(value)
