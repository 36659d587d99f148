"""Schemas of CRDs: those that `apiextensions.k8s.io/v1` accepts, and those it refuses with the place."""

from typing import Any

TEXT = {"type": "string"}


def an_object(**properties: Any) -> dict[str, Any]:
    """Return the schema of an object with these fields."""
    return {"type": "object", "properties": properties}


EMBEDDED = {"x-kubernetes-embedded-resource": True}
NUMBER_OR_TEXT = [{"type": "integer"}, TEXT]
STRUCTURAL: list[Any] = [
    an_object(a={"type": "object", "additionalProperties": False}),
    an_object(a={**an_object(b=TEXT), "additionalProperties": True}),
    an_object(a={"type": "object", "patternProperties": {}}),
    an_object(a={"type": "string", "x-kubernetes-int-or-string": True}),
    an_object(a={"x-kubernetes-int-or-string": True, "allOf": [{"anyOf": NUMBER_OR_TEXT}, {"pattern": "1"}]}),
    an_object(a={**an_object(b=TEXT), "anyOf": [{"properties": {"c": {"minLength": 1}}}]}),
    an_object(a={**an_object(kind=TEXT, metadata={"type": "object"}), **EMBEDDED}),
    {**an_object(a=TEXT), "not": {"description": ""}},
    an_object(spec=an_object(name=TEXT, sizes={"type": "array", "items": {"type": "integer"}})),
    an_object(metadata=an_object(name={"type": "string", "maxLength": 10})),
    an_object(labels={"type": "object", "additionalProperties": TEXT}),
    an_object(port={"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, TEXT]}),
    an_object(free={"x-kubernetes-preserve-unknown-fields": True}),
    {
        **an_object(a=TEXT, b=TEXT),
        "oneOf": [{"required": ["a"]}, {"properties": {"b": {"minLength": 1}}}],
    },
]
NOT_STRUCTURAL: list[tuple[Any, str]] = [
    (
        an_object(a={"x-kubernetes-int-or-string": True, "x-kubernetes-preserve-unknown-fields": True}),
        "properties.a.x-kubernetes-preserve-unknown-fields",
    ),
    (an_object(a={"type": "object", **EMBEDDED}), "properties.a.properties"),
    (an_object(metadata={"type": "object", "description": "a"}), "properties.metadata.description"),
    ({**an_object(a=TEXT), "oneOf": [{"x-kubernetes-list-type": "set"}]}, "oneOf[0].x-kubernetes-list-type"),
    (an_object(a={**an_object(b=TEXT), "anyOf": [{"type": "object"}]}), "properties.a.anyOf[0].type"),
    ({"properties": {}}, "type"),
    ({"type": "array", "items": TEXT}, "type"),
    ({"type": "object", "additionalProperties": TEXT}, "additionalProperties"),
    (an_object(spec={"properties": {"a": TEXT}}), "properties.spec.type"),
    (an_object(spec=an_object(a={})), "properties.spec.properties.a.type"),
    (an_object(sizes={"type": "array"}), "properties.sizes.items"),
    (an_object(sizes={"type": "array", "items": [TEXT]}), "properties.sizes.items"),
    (
        an_object(sizes={"type": "array", "items": TEXT, "uniqueItems": True}),
        "properties.sizes.uniqueItems",
    ),
    (
        an_object(a={**an_object(b=TEXT), "additionalProperties": TEXT}),
        "properties.a.additionalProperties",
    ),
    (an_object(a={"type": "object", "$ref": "#/definitions/a"}), "properties.a[$ref]"),
    (an_object(a={"type": "object", "patternProperties": {"a": TEXT}}), "properties.a.patternProperties"),
    (an_object(metadata=an_object(labels=TEXT)), "properties.metadata.properties.labels"),
    ({**an_object(a=TEXT), "anyOf": [{"properties": {"b": {"minLength": 1}}}]}, "anyOf[0].properties.b"),
    ({**an_object(a=TEXT), "allOf": [{"properties": {"a": TEXT}}]}, "allOf[0].properties.a.type"),
    ({**an_object(a=TEXT), "not": {"description": "no"}}, "not.description"),
    ({**an_object(a=TEXT), "oneOf": [{"nullable": True}]}, "oneOf[0].nullable"),
]
