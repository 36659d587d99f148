"""Two schemas of one version → every difference, found place by place."""

from collections.abc import Iterator

from render.definitions.findings import Difference
from render.definitions.schemas.constraints import CONSTRAINTS, compare_constraints
from render.definitions.schemas.fields import compare_fields
from render.definitions.schemas.nodes import (
    INT_OR_STRING,
    KEEPS_UNKNOWN,
    Node,
    as_schema,
    map_values,
    properties_of,
    show,
    step_to,
)
from render.definitions.schemas.quantors import QUANTORS, compare_quantors
from render.definitions.schemas.types import compare_types
from render.definitions.schemas.validations import VALIDATIONS, compare_validations
from render.definitions.schemas.values import (
    LIST_KEYS,
    LIST_TYPE,
    MAP_TYPE,
    compare_defaults,
    compare_merging,
)
from render.limits import LimitExceeded, Limits

_RULES = (
    compare_fields,
    compare_constraints,
    compare_defaults,
    compare_merging,
    compare_validations,
    compare_quantors,
)
# The keywords that the rules above and the walk know, and those that say nothing about values.
_KNOWN = frozenset(
    {
        "type",
        "properties",
        "items",
        "additionalProperties",
        "required",
        "default",
        INT_OR_STRING,
        KEEPS_UNKNOWN,
    }
    | {VALIDATIONS, LIST_TYPE, LIST_KEYS, MAP_TYPE, *QUANTORS, *CONSTRAINTS}
)
_TEXT = frozenset({"description", "title", "example", "externalDocs"})


def compare_schemas(old: object, new: object, limits: Limits) -> Iterator[Difference]:
    """Yield the differences of two schemas; raise NoSchemaError or LimitExceeded for what is none."""
    # A stack, so that a deep schema cannot overflow Python's.
    waiting = [Node(as_schema(old, ""), as_schema(new, ""))]
    while waiting:
        node = waiting.pop()
        if node.depth > limits.schema_depth:
            raise LimitExceeded("a schema is nested too deeply", "schema_depth", limits)
        if node.old == node.new:
            continue
        found = [*compare_types(node)]
        yield from found
        if not found:
            for rule in _RULES:
                yield from rule(node)
            yield from _compare_rest(node)
            waiting += _below(node)


def _below(node: Node) -> Iterator[Node]:
    """Yield the places below, by their position: a field may have the name of a keyword."""
    old, new = properties_of(node.old, node.path), properties_of(node.new, node.path)
    for name in old.keys() & new.keys():
        yield node.below(step_to(name), old[name], new[name])
    values = map_values(node.old), map_values(node.new)
    if values[0] is not None and values[1] is not None:
        yield node.below(".*", *values)
    items = node.old.get("items"), node.new.get("items")
    if items[0] is not None and items[1] is not None:
        yield node.below("[]", *items)


def _compare_rest(node: Node) -> Iterator[Difference]:
    """Name what no rule knows."""
    for key in sorted((node.old.keys() | node.new.keys()) - _TEXT):
        before, after = node.old.get(key), node.new.get(key)
        is_known = key in _KNOWN and not (key == "items" and None in (before, after))
        if before != after and not is_known:
            shown = ["" if value is None else f"{key}: {show(value)}" for value in (before, after)]
            yield node.differ("other", before=shown[0], after=shown[1])
