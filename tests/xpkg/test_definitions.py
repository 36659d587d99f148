"""The definitions of a package: kept as facts, and one digest for all of them."""

from collections.abc import Mapping
from typing import Any

import pytest
from rig.builders.definitions import a_composition, a_crd, a_version, an_xrd, as_document, item_of

from render.limits import Limits
from render.xpkg.definitions import Definitions, definitions_of, parse_definitions
from render.xpkg.outline import describe_definition


def definitions(*objects: Mapping[str, Any]) -> Definitions:
    found = [describe_definition(item_of(one), as_document(one), Limits()) for one in objects]
    return definitions_of(one for one in found if one)


PACKAGE = definitions(
    a_crd(), an_xrd(name="others.example.org", claimNames={"kind": "C", "plural": "cs"}), a_composition()
)


def test_facts_are_read_as_they_were_written() -> None:
    assert parse_definitions(PACKAGE.format()) == PACKAGE


@pytest.mark.parametrize(
    "data",
    [
        *[b"", b"[]", b"{}", b"[" * 100_000, b"\xff"],
        PACKAGE.format().replace(b'"format":3', b'"format":2'),
        PACKAGE.format().replace(b'"Cluster"', b"5"),
        PACKAGE.format().replace(b"true", b'1,"x"'),
    ],
)
def test_damaged_or_older_facts_are_none(data: bytes) -> None:
    assert parse_definitions(data) is None


def test_the_digest_is_that_of_a_set() -> None:
    one, other = a_crd(), a_crd(name="others.example.org")

    assert definitions(one, other).digest == definitions(other, one).digest
    assert definitions(one, other).digest != definitions(one).digest
    assert definitions().digest == ""


def test_the_digest_changes_with_a_schema_an_api_version_and_a_composition() -> None:
    changed = a_crd(a_version("v2"))

    found = {
        definitions(one).digest
        for one in (a_crd(), changed, an_xrd(), an_xrd(api_version="apiextensions.crossplane.io/v2"))
    }

    assert len(found) == 4
    assert definitions(a_composition()).digest != definitions(a_composition(kind="Other")).digest
