"""Whether a schema is structural: `apiextensions.k8s.io/v1` accepts no other one.

Kubernetes, "Extend the Kubernetes API with CustomResourceDefinitions", section "Specifying a structural schema".
"""

from collections.abc import Iterator
from typing import Any

from render.yaml.documents import Place

_INT_OR_STRING = "x-kubernetes-int-or-string"
PRESERVE = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"
_LISTS = ("allOf", "anyOf", "oneOf")
_UNSUPPORTED = (
    "$ref",
    "$schema",
    "additionalItems",
    "definitions",
    "dependencies",
    "id",
    "patternProperties",
)
# What only the schema itself may say, and none of its alternatives.
_OUTSIDE_ONLY = ("additionalProperties", "default", "description", "nullable", "title")
_METADATA_FIELDS = {"name", "generateName"}
_INT_OR_STRING_TYPES = [{"type": "integer"}, {"type": "string"}]


def structural_problems(schema: Any, place: Place) -> Iterator[tuple[Place, str]]:
    """Yield each reason why a schema is not structural, with its place."""
    if not isinstance(schema, dict):
        yield place, "expected a schema"
        return
    if schema.get("type") not in (None, "object"):
        yield (*place, "type"), "expected object: the schema describes a whole object"
    if "additionalProperties" in schema:
        yield (*place, "additionalProperties"), "it is not allowed for a whole object"
    yield from _check_metadata(schema, place)
    yield from _walk(schema, place)


def _walk(schema: Any, place: Place) -> Iterator[tuple[Place, str]]:
    if not isinstance(schema, dict):
        yield place, "expected a schema; a list of schemas and a bare true or false are not structural"
        return
    yield from _check_node(schema, place)
    for way, child in _children(schema):
        yield from _walk(child, (*place, *way))
    for way, alternative in _alternatives(schema):
        yield from _check_alternative(alternative, schema, (*place, *way))


def _check_node(schema: dict[str, Any], place: Place) -> Iterator[tuple[Place, str]]:
    free = schema.get(_INT_OR_STRING) is True or schema.get(PRESERVE) is True
    if not schema.get("type") and not free:
        yield (*place, "type"), "it is missing, so the schema is not structural"
    if schema.get(_INT_OR_STRING) is True and schema.get("type"):
        yield (*place, "type"), f"it excludes {_INT_OR_STRING}"
    if schema.get("type") == "array" and schema.get("items") is None:
        yield (*place, "items"), "it is missing, and type is array"
    if "properties" in schema and "additionalProperties" in schema:
        yield (*place, "additionalProperties"), "it excludes properties"
    if schema.get("uniqueItems") is True:
        yield (*place, "uniqueItems"), "it may not be true"
    for key in _UNSUPPORTED:
        if key in schema:
            yield (*place, key), "it is not allowed in a structural schema"
    if schema.get(_EMBEDDED) is True:
        yield from _check_metadata(schema, place)


def _check_metadata(schema: dict[str, Any], place: Place) -> Iterator[tuple[Place, str]]:
    properties = schema.get("properties")
    metadata = properties.get("metadata") if isinstance(properties, dict) else None
    if not isinstance(metadata, dict):
        return
    listed = metadata.get("properties")
    for name in sorted(set(listed if isinstance(listed, dict) else ()) - _METADATA_FIELDS):
        yield (
            (*place, "properties", "metadata", "properties", name),
            "of metadata, only name and generateName may be restricted",
        )


def _children(schema: dict[str, Any]) -> Iterator[tuple[Place, Any]]:
    properties = schema.get("properties")
    for name, child in properties.items() if isinstance(properties, dict) else ():
        yield ("properties", name), child
    for key in ("items", "additionalProperties"):
        child = schema.get(key)
        # `additionalProperties: true` accepts every value.
        if child is not None and not (key == "additionalProperties" and child is True):
            yield (key,), child


def _alternatives(schema: dict[str, Any]) -> Iterator[tuple[Place, Any]]:
    for key in _LISTS:
        listed = schema.get(key)
        if key == "anyOf" and schema.get(_INT_OR_STRING) is True and listed == _INT_OR_STRING_TYPES:
            continue
        for i, alternative in enumerate(listed if isinstance(listed, list) else ()):
            yield (key, i), alternative
    if schema.get("not") is not None:
        yield ("not",), schema["not"]


def _check_alternative(schema: Any, outside: Any, place: Place) -> Iterator[tuple[Place, str]]:
    """Check one of several alternatives: it may restrict only fields that the schema around it has."""
    if not isinstance(schema, dict):
        yield place, "expected a schema"
        return
    outside = outside if isinstance(outside, dict) else {}
    # The anyOf of a number or a text may stand in an allOf, too.
    allowed = outside.get(_INT_OR_STRING) is True
    for key in sorted(schema):
        if key in _OUTSIDE_ONLY or key.startswith("x-kubernetes-") or (key == "type" and not allowed):
            yield (*place, key), "it may not stand in allOf, anyOf, oneOf or not"
    for way, child in _children({key: schema.get(key) for key in ("properties", "items")}):
        known = _at(outside, way)
        if known is None:
            yield (
                (*place, *way),
                f"the schema outside of {place[-2] if len(place) > 1 else 'it'} does not have it",
            )
        else:
            yield from _check_alternative(child, known, (*place, *way))
    for way, alternative in _alternatives(schema):
        yield from _check_alternative(alternative, outside, (*place, *way))


def _at(schema: dict[str, Any], way: Place) -> Any:
    value: Any = schema
    for step in way:
        value = value.get(step) if isinstance(value, dict) else None
    return value
