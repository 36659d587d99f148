"""A mapping is read field by field; problems are collected with their places."""

from typing import Any

import pytest

from render.references import PartialSource, Source, parse_dependency_source, parse_source
from render.versions.constraints import parse_constraint
from render.yaml.documents import Place
from render.yaml.fields import Fields, Problems, describe, format_place


def read(value: Any, place: Place = ("spec",)) -> tuple[Fields, Problems]:
    problems = Problems()
    return Fields(value, problems, place), problems


class TestTexts:
    def test_text_is_returned(self) -> None:
        fields, problems = read({"a": "x", "b": None})

        assert [fields.text(key) for key in "abc"] == ["x", "", ""]
        assert [fields.optional_text(key) for key in "abc"] == ["x", None, None]
        assert fields.required_text("a") == "x"
        assert problems.texts() == []

    @pytest.mark.parametrize(
        ("value", "problem"),
        [
            (1, "found 1; write it in quotes"),
            (1.1, "found 1.1; write it in quotes"),
            (True, "found true; write it in quotes"),
            (1 << 64, "found a number that is too large; write it in quotes"),
            ([], "found a list"),
            ({}, "found a mapping"),
        ],
    )
    def test_another_type_is_a_problem(self, value: Any, problem: str) -> None:
        fields, problems = read({"a": value})

        assert fields.text("a") == ""
        assert fields.optional_text("a") is None
        assert fields.required_text("a") is None
        assert problems.texts() == [f"spec.a: expected text, {problem}"] * 3

    @pytest.mark.parametrize("value", [{}, {"a": None}])
    def test_a_required_text_that_is_missing_is_a_problem_of_its_mapping(self, value: Any) -> None:
        fields, problems = read(value)

        assert fields.required_text("a") is None
        assert problems.texts() == ["spec: a is missing"]

    def test_a_mapping_of_texts_names_each_wrong_one(self) -> None:
        fields, problems = read({"labels": {"a": "x", "b": 1, "c": None, "x.example/d": 2}})

        assert fields.texts("labels") == {"a": "x", "b": "", "c": "", "x.example/d": ""}
        assert problems.texts() == [
            "spec.labels.b: expected text, found 1; write it in quotes",
            "spec.labels[x.example/d]: expected text, found 2; write it in quotes",
        ]

    def test_a_list_of_texts_names_each_wrong_one(self) -> None:
        fields, problems = read({"a": ["x", 1, None]})

        assert fields.list_of_texts("a") == ["x"]
        assert problems.texts() == [
            "spec.a[1]: expected text, found 1; write it in quotes",
            "spec.a[2]: expected text, found nothing",
        ]


class TestOtherValues:
    def test_a_flag_is_true_or_missing(self) -> None:
        fields, problems = read({"a": True, "b": None, "d": False, "e": "yes"})

        assert [fields.flag(key) for key in "abcde"] == [True, False, False, False, False]
        assert problems.texts() == [
            "spec.d: expected true or nothing, found false",
            'spec.e: expected true or nothing, found the text "yes"',
        ]

    def test_a_field_may_have_one_value_only(self) -> None:
        fields, problems = read({"kind": "Lock", "version": 1})

        for key in ("kind", "version", "name"):
            fields.expect(key, "Lock")

        assert problems.texts() == [
            "spec.version: expected Lock, found 1",
            "spec.name: expected Lock, found nothing",
        ]

    def test_unknown_fields_are_problems_unless_the_document_is_newer(self) -> None:
        fields, problems = read({"a": 1, "b": 2})

        fields.allow(frozenset("ab"))
        fields.allow(frozenset("a"))
        problems.ignore_unknown = True
        fields.allow(frozenset())

        assert problems.texts() == ["spec.b: unknown field"]


class TestStructure:
    @pytest.mark.parametrize("value", ["x", 0, False, []])
    def test_another_type_than_a_mapping_is_one_problem(self, value: Any) -> None:
        fields, problems = read({"a": value})

        fields.mapping("a").required_text("b")

        assert len(problems) == 1
        assert problems.texts()[0].startswith("spec.a: expected a mapping, found ")

    def test_a_missing_mapping_is_an_empty_one(self) -> None:
        fields, problems = read({"a": None})

        assert [fields.mapping(key).text("b") for key in ("a", "c")] == ["", ""]
        assert problems.texts() == []

    def test_a_document_that_is_no_mapping_has_no_place(self) -> None:
        _, problems = read("x", ())

        assert problems.texts() == ["expected a mapping, found text"]

    @pytest.mark.parametrize("value", ["x", 0, {}, True])
    def test_another_type_than_a_list_is_a_problem(self, value: Any) -> None:
        fields, problems = read({"a": value})

        assert (fields.mappings("a"), fields.list_of_texts("a")) == ([], [])
        assert problems.texts()[0].startswith("spec.a: expected a list, found ")

    def test_a_list_may_be_missing_unless_it_is_required(self) -> None:
        fields, problems = read({})

        assert (fields.mappings("a"), fields.mappings("b", required=True)) == ([], [])
        assert problems.texts() == ["spec.b: expected a list, found nothing"]

    @pytest.mark.parametrize("item", [0, "", False, [], "x"])
    def test_an_item_that_is_no_mapping_is_a_problem(self, item: Any) -> None:
        fields, problems = read({"a": [{}, item, None]})

        assert len(fields.mappings("a")) == 3
        assert len(problems) == 1
        assert problems.texts()[0].startswith("spec.a[1]: expected a mapping, found ")


class TestParsing:
    def test_the_text_of_a_field_is_parsed(self) -> None:
        fields, problems = read({"a": "h.example/x/y", "b": "x/y", "v": ">=1.0.0"})
        constraint = fields.parse("v", parse_constraint)

        assert fields.parse("a", parse_dependency_source) == Source("h.example", "x/y")
        assert fields.parse("b", parse_dependency_source) == PartialSource("x/y")
        assert constraint is not None
        assert constraint.text == ">=1.0.0"
        assert problems.texts() == []

    @pytest.mark.parametrize(
        ("key", "value", "problem"),
        [
            ("source", "H/X", "spec.source: 'H/X' is not a package reference"),
            ("source", 5, "spec.source: expected text, found 5; write it in quotes"),
            ("source", None, "spec.source: an empty text is not a package reference"),
            ("constraint", ">a", "spec.constraint: '>a' is not a version constraint"),
            ("constraint", 1.1, "spec.constraint: expected text, found 1.1; write it in quotes"),
            ("constraint", None, "spec.constraint: '' is not a version constraint"),
        ],
    )
    def test_a_field_that_cannot_be_parsed_is_one_problem(self, key: str, value: Any, problem: str) -> None:
        fields, problems = read({key: value})
        parse: Any = {"source": parse_dependency_source, "constraint": parse_constraint}[key]

        assert fields.parse(key, parse) is None
        assert len(problems) == 1
        assert problems.texts()[0].startswith(problem)

    def test_a_text_is_parsed_for_its_own_place(self) -> None:
        fields, problems = read({})

        assert fields.parse_text(None, parse_source, "a") is None
        assert fields.parse_text("h.example/x", parse_source, "a", 0) == Source("h.example", "x")
        assert fields.parse_text("?", parse_source, "a", 1) is None
        assert len(problems) == 1
        assert problems.texts()[0].startswith("spec.a[1]: '?' is not a package reference")

    def test_only_errors_about_texts_of_people_carry_advice(self) -> None:
        fields, problems = read({})

        with fields.errors_at("a"):
            parse_source("?")
        fields.parse_text("?", parse_source, "b")

        assert ["write registry/" in text for text in problems.texts()] == [True, False]

    def test_a_field_can_be_looked_for(self) -> None:
        fields, _ = read({"a": None})

        assert "a" in fields
        assert "b" not in fields


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (("spec", "dependsOn", 2, "version"), "spec.dependsOn[2].version"),
        (("metadata", "annotations", "xplock.dev/version"), "metadata.annotations[xplock.dev/version]"),
        (("Lock", "packages", 0), "Lock.packages[0]"),
        ((0,), "[0]"),
        (("a", ""), "a[]"),
        (("a b",), "[a b]"),
    ],
)
def test_a_place_is_written_as_people_write_it(place: Place, text: str) -> None:
    assert format_place(place) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "nothing"),
        ("x", 'the text "x"'),
        (False, "false"),
        (1.5, "1.5"),
        ([1], "a list"),
        ({}, "a mapping"),
    ],
)
def test_a_value_is_described_in_words(value: Any, text: str) -> None:
    assert describe(value) == text
