"""The fields of an object: which are gone, which are required now, and what happens to unknown ones."""

from collections.abc import Iterator

from render.definitions.findings import Difference
from render.definitions.rules import Risk
from render.definitions.schemas.nodes import (
    Node,
    Schema,
    as_schema,
    is_status,
    keeps_unknown,
    map_values,
    properties_of,
    show,
    step_to,
    texts_of,
)

_NOT_COPIED = "Compositions that copy from it get nothing"
FROZEN = "no update of a stored object without it passes, not even one that removes a finalizer"


def compare_fields(node: Node) -> Iterator[Difference]:
    """Find fields that are gone, fields that are required now, and unknown fields that are pruned now."""
    if keeps_unknown(node.old) and not keeps_unknown(node.new):
        yield node.differ("unknown-fields")
    old, new = properties_of(node.old, node.path), properties_of(node.new, node.path)
    if not keeps_unknown(node.new) and map_values(node.new) is None:
        for name in sorted(old.keys() - new.keys() - node.always_there()):
            below = step_to(name)
            detail = _NOT_COPIED if is_status(node.path + below) else ""
            yield node.differ("field-gone", below=below, detail=detail)
        if map_values(node.old) is not None and old:
            yield node.differ("field-gone", below=".*")
    known = {*texts_of(node.old, "required", node.path), *node.always_there()}
    for name in texts_of(node.new, "required", node.path):
        if name not in known:
            yield find_required(node, step_to(name), new.get(name), FROZEN)


def find_required(node: Node, below: str, schema: object, detail: str) -> Difference:
    """Return that a field is required now, which a default makes harmless."""
    found: Schema = {} if schema is None else as_schema(schema, node.path + below)
    if "default" in found:
        default = f"it has the default {show(found['default'])}"
        return node.differ("required-new", Risk.NOTE, below=below, after="required", detail=default)
    return node.differ("required-new", below=below, after="required", detail=detail)
