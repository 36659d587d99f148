"""The values that a field takes: enums, ranges, lengths, patterns and formats that became narrower."""

from collections.abc import Iterator

from render.definitions.findings import Difference
from render.definitions.schemas.nodes import Node, NoSchemaError, Schema, show
from render.digests import format_canonical
from render.lean import Any

_MOST = ("maximum", "maxLength", "maxItems", "maxProperties")
_LEAST = ("minimum", "minLength", "minItems", "minProperties")
_TEXTS = ("pattern", "format", "multipleOf")
_FLAGS = ("uniqueItems", "exclusiveMaximum", "exclusiveMinimum")

CONSTRAINTS = ("enum", "nullable", *_MOST, *_LEAST, *_TEXTS, *_FLAGS)


def compare_constraints(node: Node) -> Iterator[Difference]:
    """Find values that a field took before and does not take now."""
    yield from _compare_enums(node)
    for key in (*_MOST, *_LEAST):
        yield from _compare_bounds(node, key)
    for key in _TEXTS:
        before, after = node.old.get(key), node.new.get(key)
        if after is not None and after != before:
            yield _tighter(node, key, before, after)
    for key in _FLAGS:
        if node.new.get(key) is True and node.old.get(key) is not True:
            yield _tighter(node, key, None, True)
    if node.old.get("nullable") is True and node.new.get("nullable") is not True:
        yield _tighter(node, "nullable", True, None)


def _compare_enums(node: Node) -> Iterator[Difference]:
    before, after = _enum(node.old, node.path), _enum(node.new, node.path)
    if after is None:
        return
    if before is None:
        yield node.differ("enum-closed", after=_listed(after))
    elif gone := sorted({*before} - {*after}):
        yield node.differ(
            "enum-smaller", before=_listed(before), after=_listed(after), detail=f"gone: {_listed(gone)}"
        )


def _compare_bounds(node: Node, key: str) -> Iterator[Difference]:
    before, after = _number(node.old, key, node.path), _number(node.new, key, node.path)
    # No length is below zero.
    if after is None or (after == 0 and key in _LEAST[1:]):
        return
    if before is None or (after < before if key in _MOST else after > before):
        yield _tighter(node, key, before, after)


def _tighter(node: Node, key: str, before: object, after: object) -> Difference:
    shown = [f"{key} {show(value)}" if value is not None else "" for value in (before, after)]
    return node.differ("tighter", before=shown[0], after=shown[1])


def _enum(schema: Schema, path: str) -> list[str] | None:
    found = schema.get("enum")
    if found is not None and not isinstance(found, list):
        raise NoSchemaError(f"the enum of {path or 'the top'} is no list")
    return [format_canonical(value) for value in found] if found else None


def _listed(texts: list[str]) -> str:
    return ", ".join(text.strip('"') for text in texts)


def _number(schema: Schema, key: str, path: str) -> Any:
    found = schema.get(key)
    if found is not None and (isinstance(found, bool) or not isinstance(found, int | float)):
        raise NoSchemaError(f"the {key} of {path or 'the top'} is no number")
    return found
