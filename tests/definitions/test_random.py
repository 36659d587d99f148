"""Properties of comparisons, for definitions of any shape."""

import copy
from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from rig.builders.compared import World, compared, lock_of
from rig.builders.definitions import a_crd, a_schema, a_version, an_mrd, an_xrd
from rig.properties import examples

from render.definitions.model import Comparison

_KEYWORDS = ["properties", "items", "type", "required", "default", "description", "enum", "not"]
_NAMES = st.sampled_from([*_KEYWORDS, "a", "b", "x y", "a.b", "forProvider"])
_LEAVES: list[dict[str, Any]] = [
    {"type": "string"},
    {"type": "string", "default": "a", "enum": ["a", "b"]},
    {"type": "integer", "minimum": 1, "maximum": 5},
    {"type": "boolean", "description": "yes: or 'no'"},
    {"type": "string", "nullable": True, "pattern": "^a$"},
    {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
    {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "m"}]},
]


def _an_object(fields: dict[str, Any], required: bool) -> dict[str, Any]:
    needed = {"required": sorted(fields)[:1]} if fields and required else {}
    return {"type": "object", "properties": fields, **needed}


_SCHEMAS: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.sampled_from(_LEAVES),
    lambda inner: st.one_of(
        st.builds(_an_object, st.dictionaries(_NAMES, inner, max_size=3), st.booleans()),
        st.builds(lambda one: {"type": "array", "items": one, "x-kubernetes-list-type": "atomic"}, inner),
        st.builds(lambda one: {"type": "object", "additionalProperties": one}, inner),
        st.builds(lambda one, other: {"oneOf": [one, other]}, inner, inner),
    ),
    max_leaves=8,
)
_FIELDS = st.dictionaries(_NAMES, _SCHEMAS, max_size=4)


@st.composite
def _definitions(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a definition with one to three versions, one of which is stored."""
    number = draw(st.integers(1, 3))
    stored = draw(st.integers(0, number - 1))
    versions = [
        a_version(
            f"v{i}",
            a_schema(draw(_FIELDS)),
            storage=i == stored,
            served=i == stored or draw(st.booleans()),
            deprecated=draw(st.booleans()),
        )
        for i in range(number)
    ]
    found: dict[str, Any] = draw(st.sampled_from([a_crd, an_mrd, an_xrd]))(*versions)
    return found


def _changed(found: Mapping[str, Any], **spec: Any) -> dict[str, Any]:
    return {**found, "spec": {**found["spec"], **spec}}


def _nothing(comparison: Comparison) -> bool:
    return not comparison.findings and not comparison.not_compared


@given(_definitions())
@examples(200)
def test_a_definition_and_itself_have_no_findings(one: dict[str, Any]) -> None:
    assert _nothing(compared(one, one))
    # Nor if a digest settles nothing, since a text differs that says nothing.
    other = copy.deepcopy(one)
    other["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "Other words."
    assert _nothing(compared(one, other))


@given(_definitions(), st.randoms(use_true_random=False))
@examples(200)
def test_the_order_of_versions_changes_nothing(one: dict[str, Any], order: Any) -> None:
    versions = [*one["spec"]["versions"]]
    order.shuffle(versions)

    assert _nothing(compared(one, _changed(one, versions=versions)))


@given(_definitions(), _SCHEMAS, st.data())
@examples(200)
def test_a_new_optional_field_harms_nobody(
    one: dict[str, Any], field: dict[str, Any], data: st.DataObject
) -> None:
    other = copy.deepcopy(one)
    for version in other["spec"]["versions"]:
        place = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
        while data.draw(st.booleans()):
            deeper = [inner for inner in place["properties"].values() if "properties" in inner]
            if not deeper:
                break
            place = deeper[0]
        place["properties"]["new"] = field

    assert _nothing(compared(one, other))


@given(_definitions(), _definitions())
@examples(200)
def test_findings_do_not_depend_on_what_else_a_package_brings(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    alone = compared(one, other).findings
    world = World()
    beside = [a_crd(name=f"others{i}.{group}.example.org") for i in range(2) for group in ("a", "z")]
    old = world.package(*beside, one)
    new = world.package(other, *reversed(beside), version="v1.1.0")

    assert world.compare(lock_of(old), lock_of(new)).findings == alone


@given(_definitions(), _definitions())
@examples(200)
def test_whatever_is_found_is_found_again_in_the_same_order(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    first, again = compared(one, other), compared(one, other)

    assert first == again
    assert len(set(first.findings)) == len(first.findings)
