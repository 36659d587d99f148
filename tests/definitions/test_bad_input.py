"""Definitions that no API server would take: each is named with its package, and everything beside it is compared."""

from typing import Any

import pytest
from rig.builders.compared import PROVIDER, World, lock_of
from rig.builders.definitions import a_crd, a_schema, a_version, as_document, item_of

from render.definitions.compare import compare_definitions
from render.definitions.model import Comparison
from render.limits import Limits

BAD, BESIDE = "things.example.org", "others.example.org"
TEXT: dict[str, Any] = {"type": "string"}


def deep(levels: int) -> dict[str, Any]:
    schema = TEXT
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return schema


def compared(old: bytes, new: bytes, limits: Limits | None = None) -> Comparison:
    """Compare two texts of one definition, with a change of scope beside them."""
    world = World()
    item = item_of(a_crd())
    before = world.package((item, old), a_crd(name=BESIDE))
    after = world.package((item, new), a_crd(name=BESIDE, scope="Namespaced"), version="v2.0.0")
    return compare_definitions(lock_of(before), lock_of(after), world.content, limits=limits)


def with_field(schema: object) -> bytes:
    text = as_document(a_crd(a_version(schema=a_schema({"x": schema, "y": TEXT}))))
    return text.replace(b"DEEP", b"{items: " * 600 + b"{type: string}" + b"}" * 600)


NO_SCHEMAS: dict[str, object] = {
    "a text": "string",
    "a list": [TEXT],
    "nothing": None,
    "properties in a list": {"properties": [TEXT]},
    "a property that is a number": {"properties": {"a": 5}},
    "an item that is a text": {"items": "string"},
    "items in a list": {"items": [TEXT]},
    "values of a map that are a text": {"additionalProperties": "string"},
    "a type in a list": {"type": ["string"]},
    "required that is true": {"required": True},
    "required with a number": {"required": [5]},
    "an enum that is a text": {"enum": "a"},
    "a bound that is a text": {"maximum": "5"},
    "a bound that is true": {"minLength": True},
    "a quantor that is a text": {"oneOf": "a"},
    "too deep": deep(101),
    "deeper than any document": "DEEP",
}
GOOD = with_field(TEXT | {"maxLength": 5})


@pytest.mark.parametrize("schema", NO_SCHEMAS.values(), ids=NO_SCHEMAS)
@pytest.mark.parametrize("is_old", [True, False], ids=["before", "after"])
def test_what_is_no_schema_is_named_and_the_rest_is_compared(schema: object, is_old: bool) -> None:
    # Everything else differs as well, so that no digest settles the field.
    bad = with_field(schema)
    sides = (bad, GOOD) if is_old else (GOOD, bad)

    result = compared(*sides)

    assert [(one.rule, one.definition) for one in result.findings if one.definition == BESIDE] == [
        ("scope", BESIDE)
    ]
    named = [(one.package, one.definition, one.is_missing) for one in result.not_compared]
    # A field of another type is found before anything inside of it is looked at.
    assert named == [(PROVIDER, BAD, False)] or {one.rule for one in result.findings} == {
        "scope",
        "type-changed",
    }
    assert all(one.reason and "\n" not in one.reason for one in result.not_compared)


def test_a_reference_of_a_schema_to_itself_is_never_followed() -> None:
    old, new = ({"$ref": "#", "properties": {"x": {"$ref": f"#{end}"}}} for end in ("", "/properties"))

    result = compared(with_field(old), with_field(new))

    assert [(one.rule, one.path) for one in result.findings] == [("scope", ""), ("other", ".spec.x.x")]
    assert not result.not_compared


@pytest.mark.parametrize(
    "text",
    [b"\nspec:\n  versions: &a\n  - &b [*a]\n", b"\nspec: &a {group: *a}\n", b"\nspec: [*x]\n"],
)
def test_aliases_are_no_way_into_a_loop(text: bytes) -> None:
    result = compared(GOOD, text)

    assert [(one.rule, one.definition) for one in result.findings] == [("scope", BESIDE)]
    assert [(one.version, one.definition) for one in result.not_compared] == [("v2.0.0", BAD)]


def large(fields: int, kind: bytes) -> bytes:
    """Return a definition with many fields, too many for the parser."""
    head, tail = with_field(TEXT).split(b"x:\n", 1)
    column = b" " * (len(head) - len(head.rstrip(b" ")))
    lines = b"".join(b"%sfield%d:\n%s  type: %s\n" % (column, i, column, kind) for i in range(fields))
    return head.rstrip(b" ") + lines + column + b"x:\n" + tail


def test_ten_megabytes_in_one_definition_are_bounded() -> None:
    old, new = large(190_000, b"string"), large(190_000, b"number")
    assert len(old) > 10_000_000

    same = compared(old, old)
    result = compared(old, new, Limits(document_nodes=10_000))

    assert not same.not_compared
    assert [one.definition for one in result.findings] == [BESIDE]
    [named] = result.not_compared
    assert (named.package, named.version, named.definition) == (PROVIDER, "v2.0.0", BAD)
    assert "10,000" in named.reason


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(compared_bytes=100), "too many schemas differ"),
        (Limits(compared_findings=3), "too many differences"),
        (Limits(schema_depth=1), "nested too deeply"),
    ],
)
def test_every_limit_of_a_comparison_names_the_definition(limits: Limits, reason: str) -> None:
    old, new = (
        as_document(a_crd(a_version(schema=a_schema({f"f{i}": {"type": kind} for i in range(5)}))))
        for kind in ("string", "integer")
    )

    result = compared(old, new, limits)

    [named] = result.not_compared
    assert (named.definition, reason in named.reason) == (BAD, True)
    assert [one.definition for one in result.findings] == [BESIDE]
