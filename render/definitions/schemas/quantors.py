"""What stands below allOf, anyOf, oneOf and not: the API server never forgives it, so narrower means that objects freeze."""

from collections.abc import Iterator

from render.definitions.findings import Difference
from render.definitions.rules import Risk
from render.definitions.schemas.nodes import INT_OR_STRING, Node, NoSchemaError, Schema
from render.definitions.schemas.validations import new_rule, rules_of
from render.digests import format_canonical
from render.lean import Any
from render.xpkg.schema_texts import SCHEMA_KEYS, SCHEMA_LIST_KEYS, SCHEMA_MAP_KEYS, without_descriptions

QUANTORS = ("allOf", "anyOf", "oneOf", "not")
_NOT_FORGIVEN = "it is not forgiven where the value did not change"


def compare_quantors(node: Node) -> Iterator[Difference]:
    """Find what became narrower; a change that may go either way is only named."""
    for key in QUANTORS:
        # The alternatives of int-or-string say nothing more than its type.
        if key == "anyOf" and node.old.get(INT_OR_STRING) is node.new.get(INT_OR_STRING) is True:
            continue
        before, after = _parts(node.old, key, node.path), _parts(node.new, key, node.path)
        if before.keys() != after.keys():
            yield from _compare(node, key, before, after)
            yield from _new_rules(node, [*before.values()], [*after.values()])


def _compare(node: Node, key: str, before: dict[str, Any], after: dict[str, Any]) -> Iterator[Difference]:
    added, gone = after.keys() - before.keys(), before.keys() - after.keys()
    is_wider = not after or (key == "allOf" and not added) or (key == "anyOf" and before and not gone)
    is_narrower = not before or (key == "allOf" and not gone) or (key == "anyOf" and not added)
    shown = (_show(key, texts) for texts in (gone, added))
    if is_narrower and not is_wider:
        yield node.differ("tighter", Risk.LOST, before=next(shown), after=next(shown), detail=_NOT_FORGIVEN)
    elif not is_wider:
        yield node.differ("other", before=next(shown), after=next(shown), detail=_NOT_FORGIVEN)


def _new_rules(node: Node, before: list[Schema], after: list[Schema]) -> Iterator[Difference]:
    known = {rule for schema in _schemas(before) for rule in rules_of(schema)}
    found = {rule for schema in _schemas(after) for rule in rules_of(schema)}
    return (new_rule(node, rule, is_nested=True) for rule in sorted(found - known))


def _parts(schema: Schema, key: str, path: str) -> dict[str, Any]:
    """Return the schemas below a quantor, by their canonical texts."""
    found = schema.get(key)
    parts = [] if found is None else [found] if key == "not" else found
    if not isinstance(parts, list):
        raise NoSchemaError(f"{key} of {path or 'the top'} is no list")
    return {format_canonical(without_descriptions(part)): part for part in parts}


def _schemas(waiting: list[Any]) -> Iterator[Schema]:
    """Yield schemas and all schemas below them."""
    waiting = [*waiting]
    while waiting:
        schema = waiting.pop()
        if isinstance(schema, dict):
            yield schema
            waiting += [schema.get(key) for key in SCHEMA_KEYS]
            waiting += [one for key in SCHEMA_LIST_KEYS for one in schema.get(key) or ()]
            waiting += [one for key in SCHEMA_MAP_KEYS for one in (schema.get(key) or {}).values()]


def _show(key: str, texts: set[str]) -> str:
    return f"{key}: {', '.join(sorted(texts))}" if texts else ""
