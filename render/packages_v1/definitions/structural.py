"""Whether a schema is structural: `apiextensions.k8s.io/v1` accepts no other one.

The rules are those of the API server; the end-to-end tests compare the answers.
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
_OUTSIDE_ONLY = (
    "type", "additionalProperties", "default", "description", "nullable", "title",
    _INT_OR_STRING, PRESERVE, _EMBEDDED,
    "x-kubernetes-list-map-keys", "x-kubernetes-list-type", "x-kubernetes-map-type", "x-kubernetes-validations",
)  # fmt: skip
# The only restrictions of metadata, whose schema is that of Kubernetes.
_METADATA_FIELDS = {"name", "generateName"}
_METADATA_KEYS = {"type", "properties", "default"}
_INT_OR_STRING_TYPES = [{"type": "integer"}, {"type": "string"}]
_NO_SCHEMA = "expected a schema; a list of schemas and a bare true or false are not structural"

# A problem behind its place.
Problem = tuple[Place, str]


def structural_problems(schema: Any, place: Place) -> Iterator[Problem]:
    """Yield each reason why a schema is not structural, with its place."""
    if not isinstance(schema, dict):
        yield place, _NO_SCHEMA
        return
    if schema.get("type") not in (None, "object"):
        yield (*place, "type"), "expected object: the schema describes a whole object"
    if schema.get("additionalProperties") is not None:
        yield (*place, "additionalProperties"), "it is not allowed for a whole object"
    yield from _check_metadata(schema, place)
    yield from _walk(schema, place)
    for way, alternative in _alternatives(schema):
        yield from _check_completeness(alternative, schema, (*place, *way))


def _walk(schema: Any, place: Place) -> Iterator[Problem]:
    if not isinstance(schema, dict):
        yield place, _NO_SCHEMA
        return
    yield from _check_node(schema, place)
    for way, child in _children(schema):
        yield from _walk(child, (*place, *way))
    for way, alternative in _alternatives(schema):
        numbers = way == ("allOf", 0) and _has_int_or_string(alternative)
        if not (way[0] == "anyOf" and _has_int_or_string(schema)):
            yield from _check_alternative(alternative, (*place, *way), skip_any_of=numbers)


def _check_node(schema: dict[str, Any], place: Place) -> Iterator[Problem]:
    free = schema.get(_INT_OR_STRING) is True or schema.get(PRESERVE) is True
    if not schema.get("type") and not free:
        yield (*place, "type"), "it is missing, so the schema is not structural"
    if schema.get(_INT_OR_STRING) is True and schema.get(PRESERVE) is True:
        yield (*place, PRESERVE), f"it excludes {_INT_OR_STRING}"
    if schema.get("type") == "array" and schema.get("items") is None:
        yield (*place, "items"), "it is missing, and type is array"
    if schema.get("properties") and schema.get("additionalProperties") not in (None, True):
        yield (*place, "additionalProperties"), "it excludes properties"
    if schema.get("uniqueItems") is True:
        yield (*place, "uniqueItems"), "it may not be true"
    for key in _UNSUPPORTED:
        if schema.get(key):
            yield (*place, key), "it is not allowed in a structural schema"
    if schema.get(_EMBEDDED) is True:
        yield from _check_embedded(schema, place)


def _check_embedded(schema: dict[str, Any], place: Place) -> Iterator[Problem]:
    if schema.get("type") != "object":
        yield (*place, "type"), f"expected object, as {_EMBEDDED} is true"
    if schema.get("additionalProperties") is not None:
        yield (*place, "additionalProperties"), f"it excludes {_EMBEDDED}"
    if not schema.get("properties") and schema.get(PRESERVE) is not True:
        yield (*place, "properties"), f"it is missing, and {_EMBEDDED} is true"


def _check_metadata(schema: dict[str, Any], place: Place) -> Iterator[Problem]:
    properties = schema.get("properties")
    metadata = properties.get("metadata") if isinstance(properties, dict) else None
    if not isinstance(metadata, dict):
        return
    within = (*place, "properties", "metadata")
    listed = metadata.get("properties")
    for name in sorted(set(listed if isinstance(listed, dict) else ()) - _METADATA_FIELDS):
        yield (*within, "properties", name), "of metadata, only name and generateName may be restricted"
    for key in sorted(metadata.keys() - _METADATA_KEYS):
        yield (*within, key), "of metadata, only name and generateName may be restricted"


def _children(schema: dict[str, Any]) -> Iterator[tuple[Place, Any]]:
    properties = schema.get("properties")
    for name, child in properties.items() if isinstance(properties, dict) else ():
        yield ("properties", name), child
    for key in ("items", "additionalProperties"):
        child = schema.get(key)
        # A bare true accepts every value, and a bare false none.
        if child is not None and not (key == "additionalProperties" and isinstance(child, bool)):
            yield (key,), child


def _alternatives(schema: dict[str, Any]) -> Iterator[tuple[Place, Any]]:
    for key in _LISTS:
        listed = schema.get(key)
        for i, alternative in enumerate(listed if isinstance(listed, list) else ()):
            yield (key, i), alternative
    if schema.get("not") is not None:
        yield ("not",), schema["not"]


def _has_int_or_string(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("anyOf") == _INT_OR_STRING_TYPES


def _check_alternative(schema: Any, place: Place, *, skip_any_of: bool = False) -> Iterator[Problem]:
    """Check one of several alternatives, which may restrict values and describe no types."""
    if not isinstance(schema, dict):
        yield place, _NO_SCHEMA
        return
    for key in _OUTSIDE_ONLY:
        if schema.get(key) not in (None, False, "", [], {}):
            yield (*place, key), "it may not stand in allOf, anyOf, oneOf or not"
    for way, child in _restricted(schema):
        if way == ("properties", "metadata"):
            yield (*place, *way), "it may not stand in allOf, anyOf, oneOf or not"
        yield from _check_alternative(child, (*place, *way))
    for way, alternative in _alternatives(schema):
        if not (skip_any_of and way[0] == "anyOf"):
            yield from _check_alternative(alternative, (*place, *way))


def _check_completeness(schema: Any, outside: Any, place: Place) -> Iterator[Problem]:
    """Check that an alternative of a whole object restricts only fields that the object has."""
    if not isinstance(schema, dict) or not isinstance(outside, dict):
        return
    for way, child in _restricted(schema):
        known = _at(outside, way)
        if known is None:
            yield (*place, *way), "the schema has no such field outside of allOf, anyOf, oneOf and not"
        else:
            yield from _check_completeness(child, known, (*place, *way))
    for way, alternative in _alternatives(schema):
        yield from _check_completeness(alternative, outside, (*place, *way))


def _restricted(schema: dict[str, Any]) -> Iterator[tuple[Place, Any]]:
    return _children({key: schema.get(key) for key in ("properties", "items")})


def _at(schema: dict[str, Any], way: Place) -> Any:
    value: Any = schema
    for step in way:
        value = value.get(step) if isinstance(value, dict) else None
    return value
