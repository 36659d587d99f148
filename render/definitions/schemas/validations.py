"""Validation rules in CEL: a rule is known by its text, and upjet's for a required field by its message."""

import re
from collections.abc import Iterable, Iterator, Mapping

from render.definitions.findings import Difference
from render.definitions.rules import Risk
from render.definitions.schemas.fields import find_required
from render.definitions.schemas.nodes import Node, Schema, as_schema, properties_of, show, texts_of

VALIDATIONS = "x-kubernetes-validations"
# upjet writes a required field so, since a field may also be given in another part of the spec.
_REQUIRED = re.compile(r"spec((?:\.[A-Za-z0-9_-]+)+) is a required parameter")
_REQUIRED_BY_RULE = "no change to the spec of a stored object without it passes"
_NOT_FORGIVEN = "it is not forgiven where the value did not change"


def compare_validations(node: Node) -> Iterator[Difference]:
    """Find rules that were not there before."""
    before, after = rules_of(node.old), rules_of(node.new)
    known = {message for message in before.values() if _REQUIRED.fullmatch(message)}
    for rule in sorted(after.keys() - before.keys()):
        message = after[rule]
        if node.path == ".spec" and message not in known and (found := _REQUIRED.fullmatch(message)):
            yield from _compare_required(node, found[1])
        else:
            yield new_rule(node, rule, is_nested=False)


def new_rule(node: Node, rule: str, *, is_nested: bool) -> Difference:
    """Return a new rule; some are also checked where the value did not change."""
    if is_nested or re.search(r"\boldSelf\b", rule):
        return node.differ("rule-new", after=rule, detail=_NOT_FORGIVEN)
    return node.differ("rule-new", Risk.WRITERS, after=rule)


def rules_of(schema: Schema) -> Mapping[str, str]:
    """Return the messages of the rules of a schema, by the texts of the rules."""
    found = schema.get(VALIDATIONS)
    entries = [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []
    return {show(one.get("rule")): show(one.get("message", "")) for one in entries}


def _compare_required(node: Node, path: str) -> Iterator[Difference]:
    names = path[1:].split(".")
    before = _find(node.old, names, node.path)
    after = _find(node.new, names, node.path)
    # A field of an object that was not there before harms nothing stored.
    if before is None or names[-1] in texts_of(before, "required", node.path):
        return
    schema = properties_of(after, node.path).get(names[-1]) if after is not None else None
    yield find_required(node, path, schema, _REQUIRED_BY_RULE)


def _find(schema: Schema, names: Iterable[str], path: str) -> Schema | None:
    """Return the schema that has a field, by the names that lead to the field."""
    *parents, _ = names
    for name in parents:
        inner = properties_of(schema, path).get(name)
        if inner is None:
            return None
        schema = as_schema(inner, path)
    return schema
