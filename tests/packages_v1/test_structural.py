"""Schemas that `apiextensions.k8s.io/v1` refuses are found, each with its place."""

from typing import Any

import pytest

from render.packages_v1.structural import structural_problems
from render.yaml.fields import format_place

TEXT = {"type": "string"}


def found(schema: Any) -> list[str]:
    return [format_place(place) for place, _ in structural_problems(schema, ())]


def an_object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    "schema",
    [
        an_object(spec=an_object(name=TEXT, sizes={"type": "array", "items": {"type": "integer"}})),
        an_object(metadata=an_object(name={"type": "string", "maxLength": 10})),
        an_object(labels={"type": "object", "additionalProperties": TEXT}),
        an_object(port={"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, TEXT]}),
        an_object(free={"x-kubernetes-preserve-unknown-fields": True}),
        {
            **an_object(a=TEXT, b=TEXT),
            "oneOf": [{"required": ["a"]}, {"properties": {"b": {"minLength": 1}}}],
        },
    ],
)
def test_a_structural_schema_has_no_problems(schema: Any) -> None:
    assert found(schema) == []


@pytest.mark.parametrize(
    ("schema", "place"),
    [
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
        (an_object(a={"type": "object", "additionalProperties": False}), "properties.a.additionalProperties"),
        (an_object(a={"type": "object", "$ref": "#/definitions/a"}), "properties.a[$ref]"),
        (an_object(a={"type": "object", "patternProperties": {}}), "properties.a.patternProperties"),
        (an_object(a={"type": "string", "x-kubernetes-int-or-string": True}), "properties.a.type"),
        (an_object(metadata=an_object(labels=TEXT)), "properties.metadata.properties.labels"),
        ({**an_object(a=TEXT), "anyOf": [{"properties": {"b": {"minLength": 1}}}]}, "anyOf[0].properties.b"),
        ({**an_object(a=TEXT), "allOf": [{"properties": {"a": TEXT}}]}, "allOf[0].properties.a.type"),
        ({**an_object(a=TEXT), "not": {"description": "no"}}, "not.description"),
        ({**an_object(a=TEXT), "oneOf": [{"nullable": True}]}, "oneOf[0].nullable"),
        ([TEXT], ""),
    ],
)
def test_a_schema_that_is_not_structural_is_named_by_its_place(schema: Any, place: str) -> None:
    assert found(schema) == [place]
