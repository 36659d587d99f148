"""The examples of explanations are found by the rule that they explain, and in one direction only."""

from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from rig.builders.compared import compared
from rig.builders.definitions import CRD_API, XRD_API, a_composition, a_crd, a_schema, a_version, an_xrd

from render.checks.explaining import Explanation, read_definition_explanations
from render.definitions.rules import RULES

# About what several packages bring, in words; tests about packages have the same cases.
IN_WORDS = {
    *("definition-gone", "definition-moved", "definition-new"),
    *("composition-gone", "composition-target"),
}
_KINDS = {"CustomResourceDefinition": a_crd(), "CompositeResourceDefinition": an_xrd()}
# The fields of a spec; whatever else stands in an example is a field that a schema describes.
_OF_SPEC = {"versions", "scope", "names", "claimNames", "conversion", "enforcedCompositionRef"}
EXPLANATIONS = {one.name: one for one in read_definition_explanations()}


def example(one: Explanation) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the example of an explanation has before and after."""
    lines = [line.removeprefix("    ") for line in one.text.partition("## Example\n\n")[2].splitlines()]
    sides = ("".join(f"{line[1:]}\n" for line in lines if line[0] in kept) for kept in (" -", " +"))
    before, after = map(yaml.safe_load, sides)
    return before, after


def definition(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the definition that one side of an example describes."""
    if found.get("kind") == "Composition":
        spec = {key: value for key, value in found.items() if key != "kind"}
        whole = a_composition()
        return {**whole, "spec": {**whole["spec"], **spec}}
    kind = found.get("kind", "CustomResourceDefinition")
    whole = _KINDS[kind]
    spec = {key: value for key, value in found.items() if key in _OF_SPEC}
    for version in spec.get("versions", []):
        version.setdefault("schema", {"openAPIV3Schema": a_schema()})
        if kind != "CustomResourceDefinition":
            version["referenceable"] = version.pop("storage")
    fields = {key: value for key, value in found.items() if key not in {*_OF_SPEC, "kind", "apiVersion"}}
    if fields:
        spec["versions"] = [a_version(schema=a_schema(fields))]
    api = found.get("apiVersion", CRD_API if kind == "CustomResourceDefinition" else XRD_API)
    return {**whole, "apiVersion": api, "spec": {**whole["spec"], **spec}}


def test_every_rule_has_an_explanation() -> None:
    assert IN_WORDS < EXPLANATIONS.keys() == RULES.keys()


@pytest.mark.parametrize("name", sorted(RULES.keys() - IN_WORDS))
def test_the_example_of_a_rule_is_found_by_it(name: str) -> None:
    before, after = map(definition, example(EXPLANATIONS[name]))

    found = {one.rule: one for one in compared(before, after).findings}

    assert found.keys() - {"no-way-back", "storage-moved"} <= {name}, found
    assert name in found
    # A change of the strategy of conversion is a note, unless a package is switched off.
    assert name == "conversion" or found[name].risk is RULES[name].risk
    assert not compared(before, before).findings
