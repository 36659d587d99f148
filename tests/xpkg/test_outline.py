"""Facts about definitions: the search and the parser find the same, and descriptions change no digest of a schema."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.builders.definitions import (
    XRD_API_V2,
    a_composition,
    a_crd,
    a_schema,
    a_version,
    an_mrd,
    an_xrd,
    as_document,
    item_of,
)

from render.limits import Limits
from render.packages import PackagedObject
from render.xpkg.definitions import Composition, Definition
from render.xpkg.outline import describe_definition

LIMITS = Limits()


def described(definition: Mapping[str, Any], text: bytes | None = None) -> Definition:
    found = describe_definition(item_of(definition), text or as_document(definition), LIMITS)
    assert isinstance(found, Definition)
    return found


def as_json(definition: Mapping[str, Any]) -> bytes:
    """JSON is YAML that only the parser reads."""
    return b"\n" + json.dumps(definition).encode()


FULL = an_xrd(
    a_version("v1alpha1", served=False, storage=False, deprecated=True),
    a_version("v1", subresources={"status": {}, "scale": {"specReplicasPath": ".spec.size"}}),
    claimNames={"kind": "Claim", "plural": "claims"},
    conversion={"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"]}},
    enforcedCompositionRef={"name": "thing"},
)


@pytest.mark.parametrize("write", [as_document, as_json], ids=["search", "parser"])
def test_everything_but_schemas_is_known(write: Any) -> None:
    found = described(FULL, write(FULL))

    assert (found.name, found.group, found.kind) == ("things.example.org", "example.org", "Thing")
    assert (found.plural, found.singular) == ("things", "thing")
    assert (found.claim_kind, found.claim_plural) == ("Claim", "claims")
    assert (found.scope, found.conversion) == ("LegacyCluster", "Webhook")
    assert set(found.fixed) == {"names", "claimNames", "enforcedCompositionRef"}
    assert [(v.name, v.served, v.storage, v.deprecated) for v in found.versions] == [
        ("v1alpha1", False, False, True),
        ("v1", True, True, False),
    ]
    assert found.versions[1].subresources == ("status", "scale")


def test_the_search_reads_what_generators_write_without_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(*_: object) -> None:
        raise AssertionError("parsed")

    monkeypatch.setattr("render.xpkg.outline.parse_spec", parse)

    for definition in (FULL, a_crd(), an_mrd(), an_xrd()):
        assert described(definition).versions


@pytest.mark.parametrize(
    ("definition", "scope"),
    [
        (an_xrd(), "LegacyCluster"),
        (an_xrd(api_version=XRD_API_V2), "Namespaced"),
        (an_xrd(api_version=XRD_API_V2, scope="Cluster"), "Cluster"),
        (a_crd(), "Cluster"),
    ],
)
def test_a_scope_has_the_default_of_its_version(definition: dict[str, Any], scope: str) -> None:
    assert described(definition).scope == scope


def test_the_old_form_of_a_crd_has_one_version_and_one_schema() -> None:
    old = a_crd()
    versions = old["spec"].pop("versions")
    old["apiVersion"] = "apiextensions.k8s.io/v1beta1"
    old["spec"] |= {"version": "v1alpha1", "validation": versions[0]["schema"], "scope": None}

    found = described(old)

    assert [(v.name, v.served, v.storage, bool(v.schema)) for v in found.versions] == [
        ("v1alpha1", True, True, True)
    ]
    assert found.scope == "Namespaced"


def test_a_composition_names_its_composite_resource() -> None:
    composition = a_composition("example.org/v1alpha1", "XThing")

    found = describe_definition(item_of(composition), as_document(composition), LIMITS)

    assert isinstance(found, Composition)
    assert (found.composite_api_version, found.composite_kind) == ("example.org/v1alpha1", "XThing")


def test_metadata_does_not_count_and_the_spec_does() -> None:
    other = {**FULL, "metadata": {"name": "things.example.org", "annotations": {"generator": "v2"}}}
    changed = {**FULL, "spec": {**FULL["spec"], "scope": "Cluster"}}

    assert described(other).digest == described(FULL).digest
    assert described(changed).digest != described(FULL).digest


DESCRIPTIONS = [
    "",
    "one line",
    "'quoted: text'",
    "|-\n{}two\n{}\n{}  lines: here",
    ">-\n{}folded\n{}text",
    "plain\n{}goes on",
]


@pytest.mark.parametrize("text", DESCRIPTIONS)
def test_a_description_changes_no_digest_of_a_schema(text: str) -> None:
    plain = as_document(a_crd()).decode()
    line = next(line for line in plain.splitlines() if line.strip() == "size:")
    column = " " * (len(line) - len(line.lstrip()) + 2)
    added = f"{line}\n{column}description: {text.replace('{}', column + '  ')}" if text else line

    found, before = described(a_crd(), plain.replace(line, added).encode()), described(a_crd())

    assert [v.schema for v in found.versions] == [v.schema for v in before.versions]
    assert bool(text) == (found.digest != before.digest)


DATA: list[dict[str, Any]] = [
    {"type": "object", "default": {"description": "a"}},
    {"type": "object", "example": {"inner": {"description": "a"}}},
    {"type": "object", "enum": [{"a": 1, "description": "a"}]},
    {"type": "string", "default": "x\n        description: a\n"},
]


@pytest.mark.parametrize("schema", DATA)
@pytest.mark.parametrize("write", [as_document, as_json], ids=["search", "parser"])
def test_data_that_looks_like_a_description_counts(schema: dict[str, Any], write: Any) -> None:
    before = a_crd(a_version(schema=a_schema({"x": schema})))
    text = write(before)
    changed = text.replace(b"description: a", b"description: b").replace(
        b'"description": "a"', b'"description": "b"'
    )
    changed = changed.replace(b"description: a\\n", b"description: b\\n")
    assert changed != text

    assert described(before, text).versions[0].schema != described(before, changed).versions[0].schema


@pytest.mark.parametrize("name", ["description", "properties", "items", "type", "required", "default", "not"])
@pytest.mark.parametrize("write", [as_document, as_json], ids=["search", "parser"])
def test_a_property_may_have_the_name_of_a_keyword(name: str, write: Any) -> None:
    before = a_crd(
        a_version(schema=a_schema({name: {"type": "object", "properties": {name: {"type": "string"}}}}))
    )
    after = a_crd(
        a_version(schema=a_schema({name: {"type": "object", "properties": {name: {"type": "integer"}}}}))
    )

    assert (
        described(before, write(before)).versions[0].schema
        != described(after, write(after)).versions[0].schema
    )


BROKEN: dict[str, bytes] = {
    "no spec": b"\napiVersion: a\n",
    "no mapping": b"\nspec: 5\n",
    "no versions": b"\nspec:\n  group: x\n",
    "versions of another type": b"\nspec:\n  versions: 7\n",
    "a version of another type": b"\nspec:\n  versions:\n  - v1\n",
    "names of another type": b"\nspec:\n  names: [a]\n  versions:\n  - name: v1\n",
    "invalid YAML": b"\nspec:\n  versions: [\n",
    "a number as name": b"\nspec:\n  versions:\n  - name: 5\n",
    "deep": b"\nspec: " + b"[" * 600 + b"]" * 600 + b"\n",
    "aliases": b"\nspec:\n  versions: &a\n  - &b [*a]\n",
    "large": b"\nspec: [" + b"1," * 600_000 + b"]\n",
    "not UTF-8": b"\nspec:\n  versions:\n  - name: \xff\n",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_definition_that_cannot_be_read_has_a_digest_and_a_problem(text: bytes) -> None:
    found = describe_definition(item_of(FULL), text, LIMITS)

    assert isinstance(found, Definition)
    assert found.problem
    assert found.digest
    assert found.versions == ()


def test_other_objects_are_no_definitions() -> None:
    assert describe_definition(PackagedObject("v1", "Operation", "x"), b"\nspec: {}\n", LIMITS) is None


_names = st.sampled_from(["size", "items", "properties", "description", "x-y", "default", "a"])
_schemas: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.sampled_from(
        [{"type": "string"}, {"type": "integer", "default": 5}, {"type": "string", "description": "x: 'y"}]
    ),
    lambda inner: st.one_of(
        st.builds(
            lambda found: {"type": "object", "properties": found}, st.dictionaries(_names, inner, max_size=3)
        ),
        st.builds(lambda found: {"type": "array", "items": found, "description": "many\nlines"}, inner),
    ),
    max_leaves=8,
)


@given(_schemas, _schemas)
def test_search_and_parser_agree_on_facts_and_on_which_schemas_are_equal(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    definition = a_crd(
        a_version("v1", a_schema({"x": one})), a_version("v2", a_schema({"x": other}), storage=False)
    )

    searched, parsed = described(definition), described(definition, as_json(definition))

    def outline(found: Definition) -> object:
        return found.kind, found.scope, [(v.name, v.served, v.storage) for v in found.versions]

    assert outline(searched) == outline(parsed)
    if searched.versions[0].schema == searched.versions[1].schema:
        assert parsed.versions[0].schema == parsed.versions[1].schema
