"""Overrides say what Kubernetes accepts, or where they do not."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from render.inputs.settings.file import parse_settings
from render.inputs.settings.schema import format_schema
from render.limits import Limits
from render.overrides import Override

# It comes without types.
jsonschema: Any = import_module("jsonschema")

ACME = "xpkg.example.org/acme"


def parse(text: str) -> tuple[tuple[Override, ...], list[str]]:
    problems: list[str] = []
    settings = parse_settings(text.encode(), Path(), Limits(), problems)
    return settings.overrides, problems


def problems_of(entry: dict[str, Any]) -> list[str]:
    return parse(json.dumps({"overrides": [entry]}))[1]


def is_valid(entry: dict[str, Any]) -> bool:
    schema = jsonschema.Draft202012Validator(json.loads(format_schema()))
    return bool(schema.is_valid({"overrides": [entry]}))


def test_every_field_is_read() -> None:
    overrides, problems = parse("""
overrides:
- prefix: xpkg.example.org/acme
  runtimeConfig: small.v2
  pullSecrets: [first, second]
  pullPolicy: Always
  activationPolicy: Manual
  historyLimit: 3
  labels: {team: network, example.org/tier: ""}
  annotations: {Example.org/note: "any text: ä"}
- prefix: xpkg.example.org/acme/provider-store
  historyLimit: 0
""")

    assert problems == []
    assert overrides == (
        Override(
            ACME,
            runtime_config="small.v2",
            pull_secrets=("first", "second"),
            pull_policy="Always",
            activation_policy="Manual",
            history_limit=3,
            labels={"team": "network", "example.org/tier": ""},
            annotations={"Example.org/note": "any text: ä"},
        ),
        Override(f"{ACME}/provider-store", history_limit=0),
    )


def test_fields_that_an_anchor_brings_count() -> None:
    overrides, problems = parse("""
overrides:
- &all {prefix: a.example, pullPolicy: Never}
- {<<: *all, prefix: b.example}
""")

    assert problems == []
    assert overrides == (
        Override("a.example", pull_policy="Never"),
        Override("b.example", pull_policy="Never"),
    )


GOOD = [
    {"runtimeConfig": "a" * 253},
    {"runtimeConfig": "a.b-c.0"},
    {"pullSecrets": ["registry.example.org"]},
    {"pullPolicy": "IfNotPresent"},
    {"pullPolicy": "Never"},
    {"activationPolicy": "Automatic"},
    {"historyLimit": 0},
    {"historyLimit": 2**31 - 1},
    {"labels": {"a" * 63: "b" * 63}},
    {"labels": {"A_b.c-9": "A_b.c-9"}},
    {"labels": {"a.b/c": "", "d": "e"}},
    {"labels": {f"{'p' * 253}/{'n' * 63}": "v"}},
    {"annotations": {"EXAMPLE.org/Note": ""}},
    {"annotations": {"note": "any text\nof any length" * 100}},
]


@pytest.mark.parametrize("fields", GOOD, ids=str)
def test_what_kubernetes_accepts_is_accepted(fields: dict[str, Any]) -> None:
    entry = {"prefix": ACME, **fields}

    assert problems_of(entry) == []
    assert is_valid(entry)


NAME = (
    "the name of an object: at most 253 lower-case letters, digits, '-' and '.', "
    "the first and the last a letter or digit"
)
WORD = "at most 63 letters, digits, '-', '_' and '.', the first and the last a letter or digit"
LABEL_KEY = f"the key of a label: {WORD}, optionally after a DNS name and '/'"
ANNOTATION_KEY = f"the key of an annotation: {WORD}, optionally after a DNS name and '/'"
LABEL_VALUE = f"the value of a label: {WORD}"

BAD: list[tuple[dict[str, Any], str]] = [
    ({"runtimeConfig": "Small"}, f".runtimeConfig: expected {NAME}; found 'Small'"),
    ({"runtimeConfig": "a" * 254}, f".runtimeConfig: expected {NAME}; found '{'a' * 254}'"),
    ({"runtimeConfig": "-a"}, f".runtimeConfig: expected {NAME}; found '-a'"),
    ({"runtimeConfig": "a..b"}, f".runtimeConfig: expected {NAME}; found 'a..b'"),
    ({"runtimeConfig": ""}, ".runtimeConfig: it is empty"),
    ({"runtimeConfig": 5}, ".runtimeConfig: expected text, found 5; write it in quotes"),
    ({"runtimeConfig": {"name": "a"}}, ".runtimeConfig: expected text, found a mapping"),
    ({"pullSecrets": "a"}, ".pullSecrets: expected a list, found text"),
    ({"pullSecrets": {"name": "a"}}, ".pullSecrets: expected a list, found a mapping"),
    ({"pullSecrets": []}, ".pullSecrets: it is empty"),
    ({"pullSecrets": ["a", ""]}, ".pullSecrets[1]: it is empty"),
    ({"pullSecrets": ["a", None]}, ".pullSecrets[1]: it is empty"),
    ({"pullSecrets": ["a", 1]}, ".pullSecrets[1]: expected text, found 1; write it in quotes"),
    ({"pullSecrets": [{"name": "a"}]}, ".pullSecrets[0]: expected text, found a mapping"),
    ({"pullSecrets": ["a_b"]}, f".pullSecrets[0]: expected {NAME}; found 'a_b'"),
    ({"pullPolicy": "always"}, ".pullPolicy: expected Always, IfNotPresent or Never, found 'always'"),
    ({"pullPolicy": False}, ".pullPolicy: expected text, found false; write it in quotes"),
    ({"activationPolicy": "Auto"}, ".activationPolicy: expected Automatic or Manual, found 'Auto'"),
    (
        {"historyLimit": "3"},
        '.historyLimit: expected a whole number, found the text "3"; write it without quotes',
    ),
    ({"historyLimit": "few"}, '.historyLimit: expected a whole number, found the text "few"'),
    ({"historyLimit": 1.5}, ".historyLimit: expected a whole number, found 1.5"),
    ({"historyLimit": True}, ".historyLimit: expected a whole number, found true"),
    ({"historyLimit": []}, ".historyLimit: expected a whole number, found a list"),
    ({"historyLimit": -1}, ".historyLimit: expected a whole number from 0 to 2,147,483,647"),
    ({"historyLimit": 2**31}, ".historyLimit: expected a whole number from 0 to 2,147,483,647"),
    ({"labels": []}, ".labels: expected a mapping, found a list"),
    ({"labels": {}}, ".labels: it is empty"),
    ({"labels": {"a": 1}}, ".labels.a: expected text, found 1; write it in quotes"),
    ({"labels": {"a": True}}, ".labels.a: expected text, found true; write it in quotes"),
    ({"labels": {"a": None}}, '.labels.a: it is empty; write ""'),
    ({"labels": {"x/a": "b c"}}, f".labels[x/a]: expected {LABEL_VALUE}; found 'b c'"),
    ({"labels": {"a": "-b"}}, f".labels.a: expected {LABEL_VALUE}; found '-b'"),
    ({"labels": {"a": "b" * 64}}, f".labels.a: expected {LABEL_VALUE}; found '{'b' * 64}'"),
    ({"labels": {"": "b"}}, f".labels: expected {LABEL_KEY}; found ''"),
    ({"labels": {"a b": "b"}}, f".labels: expected {LABEL_KEY}; found 'a b'"),
    ({"labels": {"a" * 64: "b"}}, f".labels: expected {LABEL_KEY}; found '{'a' * 64}'"),
    ({"labels": {"a_": "b"}}, f".labels: expected {LABEL_KEY}; found 'a_'"),
    ({"labels": {"/a": "b"}}, f".labels: expected {LABEL_KEY}; found '/a'"),
    ({"labels": {"x/": "b"}}, f".labels: expected {LABEL_KEY}; found 'x/'"),
    ({"labels": {"x/y/z": "b"}}, f".labels: expected {LABEL_KEY}; found 'x/y/z'"),
    ({"labels": {"X.org/a": "b"}}, f".labels: expected {LABEL_KEY}; found 'X.org/a'"),
    ({"labels": {f"{'p' * 254}/a": "b"}}, f".labels: expected {LABEL_KEY}; found '{'p' * 254}/a'"),
    ({"annotations": "a"}, ".annotations: expected a mapping, found text"),
    ({"annotations": {}}, ".annotations: it is empty"),
    ({"annotations": {"a": 1.5}}, ".annotations.a: expected text, found 1.5; write it in quotes"),
    ({"annotations": {"a": {}}}, ".annotations.a: expected text, found a mapping"),
    ({"annotations": {"x_y/a": "b"}}, f".annotations: expected {ANNOTATION_KEY}; found 'x_y/a'"),
    ({"annotations": {"a:b": "b"}}, f".annotations: expected {ANNOTATION_KEY}; found 'a:b'"),
    ({"runtimeConfg": "a"}, ".runtimeConfg: unknown key; did you mean runtimeConfig?"),
    ({"label": {"a": "b"}}, ".label: unknown key; did you mean labels?"),
    (
        {},
        ": it has no effect; give at least one of runtimeConfig, pullSecrets, pullPolicy, activationPolicy, "
        "historyLimit, labels, annotations",
    ),
]


@pytest.mark.parametrize(("fields", "problem"), BAD, ids=[str(fields)[:60] for fields, _ in BAD])
def test_everything_else_is_a_problem_with_its_place(fields: dict[str, Any], problem: str) -> None:
    entry = {"prefix": ACME, **fields}

    assert problems_of(entry) == [f"xplock.yaml: overrides[0]{problem}"]
    assert not is_valid(entry)


def test_a_field_without_a_value_has_no_effect_either() -> None:
    (problem,) = problems_of({"prefix": ACME, "labels": None})

    assert problem.startswith("xplock.yaml: overrides[0]: it has no effect")


def test_an_entry_needs_a_prefix() -> None:
    assert problems_of({"pullPolicy": "Never"}) == ["xplock.yaml: overrides[0].prefix: it is missing"]
    assert not is_valid({"pullPolicy": "Never"})


def test_an_entry_of_nothing_lacks_both() -> None:
    _, problems = parse("overrides: [null]")

    places = sorted(problem.split(": ")[1] for problem in problems)
    assert places == ["overrides[0]", "overrides[0].prefix"]


@pytest.mark.parametrize("prefix", ["acme", "xpkg.example.org/acme:v1", "https://xpkg.example.org"])
def test_a_prefix_is_the_beginning_of_a_source(prefix: str) -> None:
    (problem,) = problems_of({"prefix": prefix, "pullPolicy": "Never"})

    assert problem.startswith(f"xplock.yaml: overrides[0].prefix: {prefix!r} is neither a source nor")


def test_two_entries_for_one_prefix_are_a_problem_however_they_spell_it() -> None:
    _, problems = parse("""
overrides:
- {prefix: xpkg.example.org/acme, pullPolicy: Never}
- {prefix: xpkg.example.org/acme/store, pullPolicy: Never}
- {prefix: "XPKG.example.org:443/acme/", pullPolicy: Always}
""")

    assert problems == ["xplock.yaml: overrides[2].prefix: xpkg.example.org/acme has an entry already"]


@pytest.mark.parametrize("digits", ["9" * 5_000, "0x" + "f" * 5_000])
def test_a_number_of_thousands_of_digits_is_a_problem_like_any_other(digits: str) -> None:
    _, problems = parse(f"overrides: [{{prefix: a.b, historyLimit: {digits}}}]")

    assert len(problems) == 1
    assert problems[0].startswith("xplock.yaml: overrides[0].historyLimit: expected a whole number")
