"""What we write as YAML is read back as the same value, by every reader, as one document."""

import json
import math
from types import MappingProxyType
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from render.limits import MIB, Limits
from render.yaml.documents import file_rules, meta_rules, parse_documents
from render.yaml.writer import UnwritableText, format_document

ODD_TEXTS = [
    *["", " ", "a ", " a", "\ta", "a\t", "a  b", "-", "- a", "?", "? a", ":", "a:", "a: b", "a :b", ": a"],
    *["a #b", "#a", "a#b", "&a", "*a", "!a", "!!str a", "|", ">", "|-", "%TAG", "@a", "`a`", "'a'", '"a"'],
    *["[a]", "{a}", "{}", "[]", "a, b", ",", "---", "--- a", "...", "<<", "=", "~", "\\", "\\n", "a\\"],
    *["yes", "No", "ON", "off", "y", "N", "true", "False", "null", "NULL", "Null", "none", "nan", "inf"],
    *["0", "-1", "+1", "1_000", "007", "0o7", "0x1F", "0b11", "1.5", ".5", "5.", "1e3", "1.0e+3", "-.inf"],
    *[".inf", ".NaN", "1:30", "190:20:30.15", "2001-12-14", "2001-12-14t21:59:43.10-05:00", "12e03", "0."],
    *["v1.2.3", "1.2.3", "1.10", ">=v1.0.0", "^1.2", "sha256:" + "0" * 64, "host:5000/a/b", "a/b@c"],
    *["\n", "\n\n", "a\n", "a\nb", "a\n\n", "\na", " a\nb", "a\n b", "a\nb ", "a \nb", "a\n\nb", "a\n \nb\n"],
    *[
        "a\n\tb",
        "\ta\nb",
        "a\tb\nc",
        "a\r\nb",
        "a\rb",
        "# a\nb",
        "- a\n- b",
        "a: b\nc: d",
        "---\na",
        "a\n---\nb",
    ],
    *["a\n...\nb\n", "%YAML 1.1\na", 'say "so"\nor \\n', "\x00", "\x07\n", "\x1b[2J", "\x7f", "\x80", "\x85"],
    *["a\x85b", "a\u2028b", "a\u2029b\n", "\ufeff", "\ufeffa\nb", "\u202ea", "a\u200bb", "\ufffe", "\uffff"],
    *["é", "日本語\nですね", "😀", "😀\n😀\n", "\xa0", "a\xa0", "\u3000a\nb", "x" * 5_000, "x\n" * 5_000],
]

texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.text(st.sampled_from("ab:#-?{}[],&*!|>'\"%@`~=<. \t\n\r0123456789eExX_+\x85\u2028\ufeff\\/")),
    st.sampled_from(ODD_TEXTS),
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(min_value=-(2**63), max_value=2**64 - 1),
    st.floats(allow_nan=False),
    texts,
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


def read_back(text: str) -> list[Any]:
    return parse_documents(text.encode(), meta_rules(Limits(meta_bytes=MIB * 10)))


@given(values)
def test_every_reader_gives_back_what_was_written(value: Any) -> None:
    text = format_document(value)

    assert read_back(text) == [value]
    assert list(yaml.safe_load_all(text)) == [value]
    assert list(yaml.load_all(text, Loader=yaml.CSafeLoader)) == [value]


@given(values, values)
@example({"a": "x\n---\nkind: Y"}, ["...\n"])
@example("--- a", {"a\n---\nb": "\n---\n"})
def test_documents_cannot_be_broken_out_of(first: Any, second: Any) -> None:
    stream = "".join(f"---\n{format_document(value)}" for value in (first, second))

    assert read_back(stream) == [first, second]
    assert list(yaml.safe_load_all(stream)) == [first, second]
    assert [line for line in stream.split("\n") if line.startswith(("---", "..."))] == ["---", "---"]


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_a_text_stays_a_text_wherever_it_stands(text: str) -> None:
    value = {"a": text, "b": [text, [text], {"k": text}], text + "?": {"k": text}, "z": {text: 1}}

    written = format_document(value)

    assert read_back(written) == [value]
    assert yaml.safe_load(written) == value
    assert yaml.load(written, Loader=yaml.CSafeLoader) == value


@pytest.mark.parametrize("text", [text for text in ODD_TEXTS if "\n" not in text])
def test_what_another_reader_could_misread_is_quoted(text: str) -> None:
    written = format_document(text).removesuffix("\n")

    assert written.startswith('"') or (written == text and yaml.safe_load(f"[{text}]") == [text])


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("plain text", "plain text"),
        ("xpkg.upbound.io/upbound/provider-aws-s3", "xpkg.upbound.io/upbound/provider-aws-s3"),
        ("sha256:0a", "sha256:0a"),
        (">=v1.0.0", '">=v1.0.0"'),
        ("On", '"On"'),
        ("1.10", '"1.10"'),
        ("a\x1b\x85\u202e\xa0b", '"a\\u001b\\u0085\\u202e\\u00a0b"'),
        ('"\\\b\f\n\r\t', '"\\"\\\\\\b\\f\\n\\r\\t"'),
    ],
)
def test_quotes_and_escapes(text: str, written: str) -> None:
    assert format_document(text) == written + "\n"
    assert not written.startswith('"') or json.loads(written) == text


def test_the_whole_shape_of_a_document() -> None:
    value = {
        "apiVersion": "v1",
        "empty": {},
        "bare": [],
        "nothing": None,
        "numbers": [0, -1, 1.0, 1e16, 1e-07, 18446744073709551615],
        "truths": [True, False],
        "nested": {"list": [["a", "b"], [], {"k": "v", "l": ["x"]}, {}], "script": "set -e\n\n\techo\n"},
        "lines": ["a\nb", "\n"],
    }

    assert format_document(value) == (
        "apiVersion: v1\n"
        "empty: {}\n"
        "bare: []\n"
        "nothing: null\n"
        "numbers:\n"
        "- 0\n"
        "- -1\n"
        "- 1.0\n"
        "- 1.0e+16\n"
        "- 1.0e-07\n"
        "- 18446744073709551615\n"
        "truths:\n"
        "- true\n"
        "- false\n"
        "nested:\n"
        "  list:\n"
        "  - - a\n"
        "    - b\n"
        "  - []\n"
        "  - k: v\n"
        "    l:\n"
        "    - x\n"
        "  - {}\n"
        "  script: |\n"
        "    set -e\n"
        "\n"
        "    \techo\n"
        "lines:\n"
        "- |-\n"
        "  a\n"
        "  b\n"
        '- "\\n"\n'
    )


def test_a_tuple_is_written_as_a_list_and_any_mapping_as_one() -> None:
    value = MappingProxyType({"a": (1, ("b",), ()), "m": MappingProxyType({})})

    assert format_document(value) == format_document({"a": [1, ["b"], []], "m": {}})


def test_infinity_and_not_a_number_survive() -> None:
    read = yaml.safe_load(format_document([math.inf, -math.inf, math.nan]))

    assert read[:2] == [math.inf, -math.inf]
    assert math.isnan(read[2])


def test_keys_longer_than_yaml_allows_on_one_line_survive() -> None:
    value = {"a": [{"k" * 3_000: {"b": ["x"]}, "\n" * 2_000: "y", "é" * 1_001: "a\nb"}]}

    written = format_document(value)

    assert read_back(written) == [value]
    assert yaml.safe_load(written) == value


@pytest.mark.parametrize("value", ["\ud83d", {"a\udc00": 1}, ["a\n\ud800"]])
def test_half_a_character_is_refused(value: Any) -> None:
    with pytest.raises(UnwritableText, match="half of a UTF-16 pair"):
        format_document(value)


@pytest.mark.parametrize("value", [object(), {1: "a"}, [b"x"], {None: 1}, {"a": {1, 2}}])
def test_what_yaml_has_no_place_for_is_our_own_bug(value: Any) -> None:
    with pytest.raises(TypeError):
        format_document(value)


def test_deep_values_survive_as_deep_as_files_may_be() -> None:
    value: Any = "x"
    for _ in range(49):
        value = {"k": [value]}

    written = format_document(value)

    assert parse_documents(written.encode(), file_rules(Limits())) == [value]
