"""A mapping is read field by field; what is wrong is collected with its place."""

from typing import Any

import pytest

from render.references import PartialSource, Source
from render.yaml.fields import Fields


def read(value: Any, place: str = "spec") -> tuple[Fields, list[str]]:
    problems: list[str] = []
    return Fields(value, place, problems), problems


class TestTexts:
    def test_text_is_returned(self) -> None:
        fields, problems = read({"a": "x", "b": None})

        assert (fields.text("a"), fields.text("b"), fields.text("c")) == ("x", "", "")
        assert problems == []

    @pytest.mark.parametrize(
        ("value", "problem"),
        [
            (1, "found a number; write it in quotes"),
            (1.1, "found a number; write it in quotes"),
            (True, "found true or false; write it in quotes"),
            ([], "found a list"),
            ({}, "found a mapping"),
        ],
    )
    def test_anything_else_is_a_problem(self, value: Any, problem: str) -> None:
        fields, problems = read({"a": value})

        assert fields.text("a") == ""
        assert problems == [f"spec.a: expected text, {problem}"]

    def test_a_mapping_of_texts_names_each_wrong_one(self) -> None:
        fields, problems = read({"labels": {"a": "x", "b": 1, "c": None}})

        assert fields.texts("labels") == {"a": "x", "b": "", "c": ""}
        assert problems == ["spec.labels.b: expected text, found a number; write it in quotes"]

    def test_a_list_of_texts_names_each_wrong_one(self) -> None:
        fields, problems = read({"a": ["x", 1, None]})

        assert fields.list_of_texts("a") == ["x"]
        assert problems == [
            "spec.a[1]: expected text, found a number",
            "spec.a[2]: expected text, found nothing",
        ]


class TestStructure:
    @pytest.mark.parametrize("value", ["x", 0, False, []])
    def test_what_is_no_mapping_is_a_problem(self, value: Any) -> None:
        fields, problems = read({"a": value})

        fields.mapping("a").text("b")

        assert len(problems) == 1
        assert problems[0].startswith("spec.a: expected a mapping, found ")

    def test_a_missing_mapping_is_an_empty_one(self) -> None:
        fields, problems = read({"a": None})

        assert [fields.mapping(key).text("b") for key in ("a", "c")] == ["", ""]
        assert problems == []

    def test_a_document_that_is_no_mapping_is_called_so(self) -> None:
        _, problems = read("x", "")

        assert problems == ["the document: expected a mapping, found text"]

    @pytest.mark.parametrize("value", ["x", 0, {}, True])
    def test_what_is_no_list_is_a_problem(self, value: Any) -> None:
        fields, problems = read({"a": value})

        assert (fields.mappings("a"), fields.list_of_texts("a")) == ([], [])
        assert problems[0].startswith("spec.a: expected a list, found ")

    @pytest.mark.parametrize("item", [0, "", False, [], "x"])
    def test_an_item_that_is_no_mapping_is_a_problem(self, item: Any) -> None:
        fields, problems = read({"a": [{}, item, None]})

        assert len(fields.mappings("a")) == 3
        assert len(problems) == 1
        assert problems[0].startswith("spec.a[1]: expected a mapping, found ")


class TestWords:
    def test_sources_and_constraints_are_parsed(self) -> None:
        fields, problems = read({"a": "h.example/x/y", "b": "x/y", "v": ">=1.0.0"})
        constraint = fields.constraint("v")

        assert fields.source("a") == Source("h.example", "x/y")
        assert fields.source("b") == PartialSource("x/y")
        assert constraint is not None
        assert constraint.text == ">=1.0.0"
        assert problems == []

    @pytest.mark.parametrize(
        ("key", "value", "problem"),
        [
            ("source", "H/X", "spec.source: 'H/X' is not a package reference"),
            ("source", 5, "spec.source: expected text, found a number; write it in quotes"),
            ("source", None, "spec.source: an empty text is not a package reference"),
            ("constraint", ">a", "spec.constraint: '>a' is not a version constraint"),
            ("constraint", 1.1, "spec.constraint: expected text, found a number; write it in quotes"),
            ("constraint", None, "spec.constraint: '' is not a version constraint"),
        ],
    )
    def test_what_cannot_be_parsed_is_one_problem(self, key: str, value: Any, problem: str) -> None:
        fields, problems = read({key: value})

        assert getattr(fields, key)(key) is None
        assert len(problems) == 1
        assert problems[0].startswith(problem)

    def test_what_is_there_can_be_asked(self) -> None:
        fields, _ = read({"a": None})

        assert "a" in fields
        assert "b" not in fields
