"""Schemas that `apiextensions.k8s.io/v1` refuses are found, each with its place."""

from typing import Any

import pytest
from rig.builders.schemas import NOT_STRUCTURAL, STRUCTURAL, TEXT

from render.packages_v1.definitions.structural import structural_problems
from render.yaml.fields import format_place


def found(schema: Any) -> list[str]:
    return [format_place(place) for place, _ in structural_problems(schema, ())]


@pytest.mark.parametrize("schema", STRUCTURAL)
def test_a_structural_schema_has_no_problems(schema: Any) -> None:
    assert found(schema) == []


@pytest.mark.parametrize(("schema", "place"), NOT_STRUCTURAL)
def test_a_schema_that_is_not_structural_is_named_by_its_place(schema: Any, place: str) -> None:
    assert found(schema) == [place]


def test_a_list_is_no_schema() -> None:
    assert found([TEXT]) == [""]
