"""The rules about schemas: what breaks each, what does not, and where."""

from collections.abc import Mapping
from typing import Any

import pytest
from rig.builders.compared import compared, found
from rig.builders.definitions import a_crd, a_schema, a_version, an_xrd

from render.definitions.model import Finding, LiveDefinition, LiveDefinitions
from render.definitions.rules import RULES, Risk

TEXT: dict[str, Any] = {"type": "string"}
NUMBER, FLAG = {"type": "integer"}, {"type": "boolean"}
FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
INT_OR_STRING = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}


def an_object(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields}


def a_map(values: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values}


def a_list(items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


def rule(text: str, message: str = "") -> dict[str, Any]:
    return {"x-kubernetes-validations": [{"rule": text, **({"message": message} if message else {})}]}


def keyed(*keys: str) -> dict[str, Any]:
    return a_list(
        an_object(a=TEXT, b=TEXT),
        **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)},
    )


def crd(field: Mapping[str, Any] | None, **of_spec: Any) -> dict[str, Any]:
    """Return a CRD whose spec has a field `x`."""
    fields: dict[str, Any] = {"size": NUMBER} | ({"x": dict(field)} if field is not None else {})
    return a_crd(a_version(schema=a_schema(fields, **of_spec)))


# What is added to the schema of a text: before, after so that it is tighter, and after so that it is not.
TIGHTER: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ({}, {"maxLength": 5}, {}),
    ({"maxLength": 5}, {"maxLength": 4}, {"maxLength": 6}),
    ({"maxItems": 5}, {"maxItems": 4}, {}),
    ({"maxProperties": 5}, {"maxProperties": 4}, {}),
    ({"maximum": 5.5}, {"maximum": 5}, {"maximum": 6}),
    ({"minimum": -5}, {"minimum": 0}, {"minimum": -6}),
    ({}, {"minLength": 1}, {"minLength": 0}),
    ({"minItems": 1}, {"minItems": 2}, {"minItems": 0}),
    ({"minProperties": 1}, {"minProperties": 2}, {}),
    ({}, {"pattern": "a"}, {}),
    ({"pattern": "a"}, {"pattern": "b"}, {}),
    ({"format": "date"}, {"format": "date-time"}, {}),
    ({}, {"multipleOf": 2}, {}),
    ({}, {"uniqueItems": True}, {"uniqueItems": False}),
    ({"nullable": True}, {}, {"nullable": True}),
    ({}, {"exclusiveMaximum": True}, {"exclusiveMinimum": False}),
]

# By rule: the schema of .spec.x before, after so that it breaks, and after so that it does not; class and path.
FIELDS: list[tuple[str, Any, Any, Any, Risk, str]] = [
    ("field-gone", TEXT, None, TEXT, Risk.LOST, ".spec.x"),
    ("field-gone", an_object(a=TEXT, b=TEXT), an_object(a=TEXT), an_object(a=TEXT, b=TEXT, c=TEXT), Risk.LOST, ".spec.x.b"),
    ("field-gone", an_object(a=TEXT), an_object(), FREE, Risk.LOST, ".spec.x.a"),
    ("field-gone", a_list(an_object(a=TEXT)), a_list(an_object()), a_list(FREE), Risk.LOST, ".spec.x[].a"),
    ("field-gone", a_map(an_object(a=TEXT)), a_map(an_object()), a_map(an_object(a=TEXT)), Risk.LOST, ".spec.x.*.a"),
    ("type-changed", FLAG, TEXT, FLAG, Risk.LOST, ".spec.x"),
    ("type-changed", NUMBER, INT_OR_STRING, NUMBER, Risk.LOST, ".spec.x"),
    ("type-changed", INT_OR_STRING, NUMBER, INT_OR_STRING, Risk.LOST, ".spec.x"),
    ("type-changed", a_map(TEXT), an_object(a=TEXT), a_map(TEXT), Risk.LOST, ".spec.x"),
    ("type-changed", an_object(a=TEXT), a_map(TEXT), an_object(a=TEXT), Risk.LOST, ".spec.x"),
    ("type-changed", a_list(TEXT), a_list(NUMBER), a_list(TEXT), Risk.LOST, ".spec.x[]"),
    ("type-changed", a_map(TEXT), a_map(NUMBER), a_map(TEXT), Risk.LOST, ".spec.x.*"),
    ("type-changed", an_object(a=TEXT), a_list(an_object(a=TEXT)), an_object(a=TEXT), Risk.LOST, ".spec.x"),
    ("type-changed", NUMBER, {"x-kubernetes-preserve-unknown-fields": True}, NUMBER, Risk.NOTE, ".spec.x"),
    ("required-new", an_object(a=TEXT), an_object(a=TEXT) | {"required": ["a"]}, an_object(a=TEXT), Risk.LOST, ".spec.x.a"),
    ("required-new", an_object(), an_object(a=TEXT) | {"required": ["a"]}, an_object(a=TEXT), Risk.LOST, ".spec.x.a"),
    ("required-new", an_object(), an_object(a=TEXT | {"default": "b"}) | {"required": ["a"]}, an_object(a=TEXT), Risk.NOTE, ".spec.x.a"),
    ("required-new", an_object(), an_object(a=TEXT) | {"required": ["a"]}, an_object(a=an_object(b=TEXT) | {"required": ["b"]}), Risk.LOST, ".spec.x.a"),
    ("enum-closed", TEXT, TEXT | {"enum": ["a"]}, TEXT, Risk.WRITERS, ".spec.x"),
    ("enum-smaller", TEXT | {"enum": ["a", "b"]}, TEXT | {"enum": ["a"]}, TEXT | {"enum": ["c", "b", "a"]}, Risk.WRITERS, ".spec.x"),
    ("enum-smaller", {"enum": [1, True]}, {"enum": [1]}, {}, Risk.WRITERS, ".spec.x"),
    ("rule-new", TEXT, TEXT | rule("self != ''"), TEXT, Risk.WRITERS, ".spec.x"),
    ("rule-new", TEXT | rule("self != 'a'", "m"), TEXT | rule("self != 'b'", "m"), TEXT | rule("self != 'a'", "n"), Risk.WRITERS, ".spec.x"),
    ("rule-new", TEXT, TEXT | rule("self == oldSelf"), TEXT, Risk.LOST, ".spec.x"),
    ("rule-new", TEXT, TEXT | {"anyOf": [rule("self != ''")]}, TEXT, Risk.LOST, ".spec.x"),
    ("merge-keys", a_list(TEXT), a_list(TEXT) | {"x-kubernetes-list-type": "set"}, a_list(TEXT) | {"x-kubernetes-list-type": "atomic"}, Risk.LOST, ".spec.x"),
    ("merge-keys", a_list(TEXT) | {"x-kubernetes-list-type": "set"}, a_list(TEXT), a_list(TEXT) | {"x-kubernetes-list-type": "set"}, Risk.WRITERS, ".spec.x"),
    ("merge-keys", keyed("a"), keyed("b"), keyed("a"), Risk.LOST, ".spec.x"),
    ("merge-keys", keyed("a"), keyed("a", "b"), keyed("a"), Risk.WRITERS, ".spec.x"),
    ("merge-keys", an_object(a=TEXT), an_object(a=TEXT) | {"x-kubernetes-map-type": "atomic"}, an_object(a=TEXT) | {"x-kubernetes-map-type": "granular"}, Risk.WRITERS, ".spec.x"),
    ("unknown-fields", FREE, {"type": "object"}, FREE | {"properties": {"a": TEXT}}, Risk.LOST, ".spec.x"),
    ("unknown-fields", FREE, an_object(a=TEXT), FREE, Risk.LOST, ".spec.x"),
    ("default-changed", TEXT | {"default": "a"}, TEXT | {"default": "b"}, TEXT | {"default": "a"}, Risk.WRITERS, ".spec.x"),
    ("default-gone", TEXT | {"default": "a"}, TEXT, TEXT | {"default": "a"}, Risk.WRITERS, ".spec.x"),
    ("other", TEXT, TEXT | {"x-unknown": 1}, TEXT | {"title": "t", "example": "e", "description": "d"}, Risk.NOTE, ".spec.x"),
    ("other", {"type": "array"}, a_list(TEXT), {"type": "array"}, Risk.NOTE, ".spec.x"),
    ("other", {"oneOf": [TEXT, NUMBER]}, {"oneOf": [TEXT, FLAG]}, {}, Risk.NOTE, ".spec.x"),
    ("other", {"anyOf": [TEXT, NUMBER]}, {"anyOf": [TEXT, FLAG]}, {"anyOf": [TEXT, NUMBER, FLAG]}, Risk.NOTE, ".spec.x"),
    ("tighter", {"anyOf": [TEXT, NUMBER]}, {"anyOf": [TEXT]}, {"anyOf": [NUMBER, TEXT | {"description": "d"}]}, Risk.LOST, ".spec.x"),
    ("tighter", TEXT, TEXT | {"not": {"enum": ["a"]}}, TEXT, Risk.LOST, ".spec.x"),
    ("tighter", {"allOf": [TEXT]}, {"allOf": [TEXT, {"minLength": 2}]}, {"allOf": []}, Risk.LOST, ".spec.x"),
    *[("tighter", TEXT | one, TEXT | other, TEXT | fine, Risk.WRITERS, ".spec.x") for one, other, fine in TIGHTER],
]  # fmt: skip


@pytest.mark.parametrize(("rule", "old", "broken", "fine", "risk", "path"), FIELDS)
def test_a_rule_finds_what_breaks_it_and_nothing_else(
    rule: str, old: Any, broken: Any, fine: Any, risk: Risk, path: str
) -> None:
    [finding] = [one for one in compared(crd(old), crd(broken)).findings if one.rule == rule]

    assert (finding.risk, finding.path, finding.version) == (risk, path, "v1")
    assert rule not in {one.rule for one in compared(crd(old), crd(fine)).findings}


def test_every_rule_about_schemas_has_a_pair() -> None:
    tested = {pair[0] for pair in FIELDS}
    about_schemas = {"field-gone", "type-changed", "required-new", "enum-closed", "enum-smaller", "tighter"}
    about_schemas |= {"rule-new", "merge-keys", "unknown-fields", "default-changed", "default-gone", "other"}

    assert tested == about_schemas <= RULES.keys()


HARMLESS: dict[str, tuple[Any, Any]] = {
    "a new optional field": (None, TEXT),
    "a new optional object with a required field": (None, an_object(a=TEXT) | {"required": ["a"]}),
    "a new default": (TEXT, TEXT | {"default": "a"}),
    "a larger enum": (TEXT | {"enum": ["a"]}, TEXT | {"enum": ["b", "a"]}),
    "an open enum": (TEXT | {"enum": ["a"]}, TEXT),
    "no longer required": (an_object(a=TEXT) | {"required": ["a"]}, an_object(a=TEXT)),
    "a rule less": (TEXT | rule("self != ''"), TEXT),
    "unknown fields are kept now": (an_object(a=TEXT), FREE),
    "a map becomes free": (a_map(TEXT), FREE),
    "an alternative more": ({"anyOf": [TEXT]}, {"anyOf": [TEXT, NUMBER]}),
    "no alternatives": ({"anyOf": [TEXT]}, {}),
    "other words": ({"anyOf": [TEXT]}, {"anyOf": [TEXT | {"description": "d"}], "description": "e"}),
    "other words for int-or-string": (INT_OR_STRING, {"x-kubernetes-int-or-string": True}),
}


@pytest.mark.parametrize(("old", "new"), HARMLESS.values(), ids=HARMLESS)
def test_what_harms_nobody_is_not_found(old: Any, new: Any) -> None:
    assert not compared(crd(old), crd(new)).findings


def test_every_difference_in_a_status_is_a_note() -> None:
    def with_status(**fields: Any) -> dict[str, Any]:
        schema = a_schema()
        schema["properties"]["status"] = an_object(**fields)
        return a_crd(a_version(schema=schema))

    old = with_status(a=TEXT, b=an_object(c=TEXT), d=TEXT)
    new = with_status(b=an_object(c=NUMBER), d=TEXT | {"enum": ["x"]})
    whole = a_crd(a_version(schema=a_schema()))

    findings = compared(old, new).findings

    assert [(one.rule, one.path) for one in findings] == [
        ("enum-closed", ".status.d"),
        ("field-gone", ".status.a"),
        ("type-changed", ".status.b.c"),
    ]
    assert {one.risk for one in (*findings, *compared(old, whole).findings)} == {Risk.NOTE}
    assert "Compositions" in findings[1].detail


def test_the_fields_of_every_object_are_never_gone() -> None:
    meta = {"apiVersion": TEXT, "kind": TEXT, "metadata": {"type": "object"}}
    old, new = a_schema(), a_schema()
    old["properties"] |= meta
    new["required"] = ["metadata"]
    embedded = {"type": "object", "x-kubernetes-embedded-resource": True}

    assert not compared(a_crd(a_version(schema=old)), a_crd(a_version(schema=new))).findings
    assert not compared(crd(an_object(**meta) | embedded), crd(an_object() | embedded)).findings


def required_rule(path: str, more: str = "") -> dict[str, Any]:
    return rule(
        f"!('*' in self.managementPolicies){more} || has(self.{path})", f"spec.{path} is a required parameter"
    )


def upjet(fields: dict[str, Any], *, required: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    provided = an_object(**fields) | ({"required": list(required)} if required else {})
    return a_crd(a_version(schema=a_schema({"forProvider": provided}, **more)))


def test_a_field_that_upjet_requires_by_a_rule_is_required() -> None:
    with_rule = required_rule("forProvider.name")
    old, new = upjet({"name": TEXT}), upjet({"name": TEXT}, **with_rule)
    default = upjet({"name": TEXT | {"default": "a"}}, **with_rule)

    required = found(old, new)["required-new"]

    assert (required.path, required.risk, list(found(old, new))) == (
        ".spec.forProvider.name", Risk.LOST, ["required-new"]
    )  # fmt: skip
    assert found(old, default)["required-new"].risk is Risk.NOTE
    assert not found(upjet({"name": TEXT}, required=("name",)), new)
    assert list(found(new, upjet({"name": TEXT}, **required_rule("forProvider.name", " || true")))) == [
        "rule-new"
    ]
    assert not found(crd(None), crd(None) | {}).keys()


def test_a_rule_about_a_field_of_a_new_object_requires_nothing() -> None:
    new = upjet({"name": TEXT, "more": an_object(a=TEXT)}, **required_rule("forProvider.more.a"))

    assert not found(upjet({"name": TEXT}), new)


NAMES = ["properties", "items", "type", "required", "default", "description", "enum", "not", "a.b", "x y"]


@pytest.mark.parametrize("name", NAMES)
def test_a_field_may_have_the_name_of_a_keyword(name: str) -> None:
    old, new = crd(an_object(**{name: an_object(**{name: TEXT, "a": TEXT})})), crd(
        an_object(**{name: an_object(**{name: NUMBER, "a": TEXT | {"description": "d"}})})
    )  # fmt: skip
    step = f".{name}" if name.isalpha() else f'["{name}"]'

    assert [(one.rule, one.path) for one in compared(old, new).findings] == [
        ("type-changed", f".spec.x{step}{step}")
    ]


def test_a_version_is_compared_with_itself_alone() -> None:
    one, other = a_schema({"a": TEXT}), a_schema({"b": TEXT})
    old = a_crd(a_version("v1", one), a_version("v2", other, storage=False))
    new = a_crd(
        a_version("v2", other, storage=False),
        a_version("v1", one),
        a_version("v3", {"type": "object"}, storage=False),
    )

    assert not compared(old, new).findings


def test_only_served_versions_have_writers_and_only_stored_ones_objects() -> None:
    def crds(**flags: bool) -> tuple[dict[str, Any], dict[str, Any]]:
        schemas = a_schema({"a": TEXT, "b": TEXT}), a_schema({"b": TEXT | {"enum": ["c"]}})
        old, new = (
            a_crd(a_version("v1", schema, **flags), a_version("v2", storage=not flags["storage"]))
            for schema in schemas
        )
        return old, new

    def risks(findings: tuple[Finding, ...]) -> dict[str, Risk]:
        return {one.rule: one.risk for one in findings}

    cluster = LiveDefinitions(
        {"things.example.org": LiveDefinition(("v2",))}, frozenset({"CustomResourceDefinition"})
    )
    old, new = crds(served=True, storage=False)

    assert not compared(*crds(served=False, storage=False)).findings
    assert risks(compared(*crds(served=False, storage=True)).findings) == {"field-gone": Risk.LOST}
    assert risks(compared(old, new).findings) == {"field-gone": Risk.LOST, "enum-closed": Risk.WRITERS}
    assert risks(compared(old, new, cluster).findings) == {
        "field-gone": Risk.WRITERS,
        "enum-closed": Risk.WRITERS,
    }


def test_an_xrd_is_compared_as_a_crd_is() -> None:
    old, new = (
        an_xrd(a_version(schema=a_schema({"a": TEXT}))),
        an_xrd(a_version(schema=a_schema({"a": NUMBER}))),
    )

    assert [(one.rule, one.kind) for one in compared(old, new).findings] == [
        ("type-changed", "CompositeResourceDefinition")
    ]


def test_the_old_form_of_a_crd_kept_unknown_fields() -> None:
    old, new = a_crd(), a_crd()
    [version] = old["spec"].pop("versions")
    old["apiVersion"] = "apiextensions.k8s.io/v1beta1"
    old["spec"] |= {"version": "v1", "validation": version["schema"]}
    pruning = {**old, "spec": {**old["spec"], "preserveUnknownFields": False}}
    bare = {**old, "spec": {key: value for key, value in old["spec"].items() if key != "validation"}}

    assert list(found(old, new)) == ["unknown-fields"]
    assert list(found(bare, new)) == ["unknown-fields"]
    assert not found(pruning, new)
