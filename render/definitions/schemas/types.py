"""The type of a field, in the words of people: a struct and a map are both objects in a schema."""

from collections.abc import Iterator

from render.definitions.findings import Difference
from render.definitions.rules import Risk
from render.definitions.schemas.nodes import (
    INT_OR_STRING,
    Node,
    NoSchemaError,
    Schema,
    keeps_unknown,
    map_values,
)

_ANY = "any"
_OBJECT, _MAP, _LIST = "object", "map", "list"


def compare_types(node: Node) -> Iterator[Difference]:
    """Find another type than before; what is below it cannot be compared then."""
    before, after = type_of(node.old, node.path), type_of(node.new, node.path)
    if before == after or _keeps_fields(node, before, after):
        return
    if after == _ANY:
        yield node.differ(
            "type-changed", Risk.NOTE, before=before, after=after, detail="it takes any value now"
        )
    else:
        yield node.differ("type-changed", before=before, after=after)


def type_of(schema: Schema, path: str) -> str:
    """Return the type of a schema."""
    if schema.get(INT_OR_STRING) is True:
        return "int-or-string"
    name = schema.get("type")
    if name is not None and not isinstance(name, str):
        raise NoSchemaError(f"the type of {path or 'the top'} is no text")
    if name == "array" or (name is None and "items" in schema):
        return _LIST
    if name == _OBJECT or (name is None and "properties" in schema):
        return _MAP if map_values(schema) is not None and not schema.get("properties") else _OBJECT
    return name or _ANY


def _keeps_fields(node: Node, before: str, after: str) -> bool:
    """Return whether a map became a struct or the other way round without a loss that is not found elsewhere."""
    return {before, after} == {_MAP, _OBJECT} and (keeps_unknown(node.new) or keeps_unknown(node.old))
