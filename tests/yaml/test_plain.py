"""What is read without a parser is what a parser reads; everything else is left to one."""

import random
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rig.builders.locks import lock, package
from rig.builders.random_locks import any_locks
from rig.properties import examples

from render.limits import LimitExceeded, Limits
from render.lock.text.format import format_lock
from render.yaml.documents import InvalidDocument, file_rules
from render.yaml.libyaml import parse_stream
from render.yaml.plain import parse_plain
from render.yaml.writer import format_document

EXAMPLES = Path(__file__).parents[2] / "examples"
UNBOUNDED = Limits(file_nodes=10**9)


def read(text: str, limits: Limits = UNBOUNDED) -> list[Any] | None:
    return parse_plain(text, depth=limits.file_depth, nodes=limits.file_nodes)


def read_fully(text: str, limits: Limits = UNBOUNDED) -> list[Any] | str:
    """What the full parser says: the documents, or what is wrong."""
    try:
        return list(parse_stream(text, file_rules(limits)))
    except (InvalidDocument, LimitExceeded) as error:
        return str(error)


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are the same in type, order and value: 1 is neither 1.0 nor true."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return same(list(one.items()), list(other.items()))
    if isinstance(one, list | tuple):
        return all(same(a, b) for a, b in zip_longest(one, other, fillvalue=read))
    return bool(one == other) or one != one


def agrees(text: str, limits: Limits = UNBOUNDED) -> bool:
    """Tell whether both readers say the same, or the plain one says nothing."""
    found = read(text, limits)
    return found is None or same(found, read_fully(text, limits))


# What is expected is what YAML 1.1 says of each of these.
READ: list[tuple[str, list[Any]]] = [
    ("", []),
    ("\n", []),
    ("# nothing\n", []),
    ("---\n", [None]),
    ("---\n---\n", [None, None]),
    ("a: 1\n---\n", [{"a": 1}, None]),
    ("# head\n---\na: 1\n---  \nb: 2", [{"a": 1}, {"b": 2}]),
    ("a:", [{"a": None}]),
    ("a:\n", [{"a": None}]),
    ("a: \nb:   # comment\nc: # comment\n", [{"a": None, "b": None, "c": None}]),
    ("a:\n  b:\n    c: d\n  e: f\ng: h\n", [{"a": {"b": {"c": "d"}, "e": "f"}, "g": "h"}]),
    ("a:\n- b\n- c\nd: e\n", [{"a": ["b", "c"], "d": "e"}]),
    ("a:\n  - b\n  - c\nd: e\n", [{"a": ["b", "c"], "d": "e"}]),
    ("- a: b\n  c: d\n- e: f\n", [[{"a": "b", "c": "d"}, {"e": "f"}]]),
    ("- - a\n  -   - b\n      - c\n- d\n", [[["a", ["b", "c"]], "d"]]),
    ("- -   a: b\n      c: d\n  - e\n", [[[{"a": "b", "c": "d"}, "e"]]]),
    ("-   a: b\n    c:\n    - d\n", [[{"a": "b", "c": ["d"]}]]),
    ("a:\n\n  # comment\n\n  b: c\n# comment\n", [{"a": {"b": "c"}}]),
    ("  a: b\n  c: d\n", [{"a": "b", "c": "d"}]),
    ("a: {}\nb: []\nc:\n- {}\n- [] # none\n", [{"a": {}, "b": [], "c": [{}, []]}]),
    (
        "a: b # c\nd: e#f\ng: 'h # i' # j\nk: \"l # m\" # n\n",
        [{"a": "b", "d": "e#f", "g": "h # i", "k": "l # m"}],
    ),
    ("a: b:c\nd:e: f\nhttp://x: http://y\n", [{"a": "b:c", "d:e": "f", "http://x": "http://y"}]),
    ("'a: b': 1\n\"c\\\"d\": 2\n'<<': 3\n", [{"a: b": 1, 'c"d': 2, "<<": 3}]),
    ("- 'a': 'b'\n- \"c: d\": e\n", [[{"a": "b"}, {"c: d": "e"}]]),
    (
        "- \"a: b\"\n- 'c: d'\n- 'it''s'\n- \"\\u00e9\\t\\\\\"\n- ''\n",
        [["a: b", "c: d", "it's", "é\t\\", ""]],
    ),
    ("a: |\n  b\n\n   c\nd: |-\n  e # f\n\n\ng: h\n", [{"a": "b\n\n c\n", "d": "e # f", "g": "h"}]),
    ("- |\n  a: b\n  - c\n- |-\n d\n", [["a: b\n- c\n", "d"]]),
    (
        "a: 1\nb: 010\nc: 1.5\nd: yes\ne: ~\nf: v1\n",
        [{"a": 1, "b": 8, "c": 1.5, "d": True, "e": None, "f": "v1"}],
    ),
    ("a: -1\nb: -x\n", [{"a": -1, "b": "-x"}]),
    ("1: a\nyes: b\n~: c\n-d: e\na, b: f\n", [{"1": "a", "yes": "b", "~": "c", "-d": "e", "a, b": "f"}]),
    ("a: Übersicht – 概要\n", [{"a": "Übersicht – 概要"}]),
]


@pytest.mark.parametrize(("text", "documents"), READ)
def test_plain_text_is_read_as_a_parser_reads_it(text: str, documents: list[Any]) -> None:
    assert same(read(text), documents)
    assert same(read_fully(text), documents)


LEFT = [
    *["text\n", "'text'\n", "{}\n", "[a]\n", "--- text\n", "---a: b\n", "...\n", "a: b\n...\n"],
    *[
        "%YAML 1.1\n---\na: b\n",
        "? a\n: b\n",
        "? a: b\n",
        ": a\n",
        "a : b\n",
        "'a' : b\n",
    ],
    *["a: &b c\n", "a: *b\n", "a: !!str b\n", "<<: {}\n", "a: [b]\n", "a: {b: c}\n", "a: { }\n", "[a]: b\n"],
    *[
        "a: b\n  c\n",
        "- a\n  b\n",
        "a: 'b\n  c'\n",
        'a: "b\n  c"\n',
        "a:\n  b\n",
        "a: >\n  b\n",
        "a: |+\n  b\n",
    ],
    *["a: |2\n  b\n", "a: |\nb: c\n", "a: |\n\n  b\n", "a: |\n  b\n \n  c\n", "a: |\n  b", "a: |\n"],
    *[
        "a: b: c\n",
        "a: b:\n",
        "a: - b\n",
        "-\n  a: b\n",
        "- \n",
        "-\n",
        "a: 'b' c\n",
        "a: 'b'#c\n",
    ],
    *["a: `b`\n", "a: @b\n", "a: %b\n", "a: ,b\n", "a: ?b\n", "a: :b\n", "a: ]\n", "a: - \n", "a: --b\n"],
    *["a: b\na: c\n", "a: b\n'a': c\n", "a:\n  b: c\n d: e\n", " a: b\nc: d\n", "- a\nb: c\n", "a: b\n- c\n"],
    *[
        "a:\n  - b\n - c\n",
        "a:\tb\n",
        "a: b\r\n",
        "\ta: b\n",
        "# a\tb\n",
        "a: |\n  b\tc\n",
        "a: b\x85c: d\n",
        "a: b\u2028\n",
        "a: \ufeffb\n",
    ],
    *[
        "a: b\x07\n",
        "a: \x7f\n",
        "a: \u00a0b\n",
        'a: "\\x41"\n',
        'a: "\\ud800"\n',
        'a: "\\"\n',
        'a: "\\u12"\n',
    ],
    *[f"{'a' * 1_001}: b\n", f"'{'a' * 1_001}': b\n"],
]


@pytest.mark.parametrize("text", LEFT)
def test_what_is_not_plain_is_left_to_a_parser(text: str) -> None:
    assert read(text) is None


def test_a_line_that_recurs_makes_a_value_of_its_own_each_time() -> None:
    text = "- a: {}\n- a: {}\n- a: []\n- a: []\n"

    found, again = read(text), read(text)

    assert found == again == [[{"a": {}}, {"a": {}}, {"a": []}, {"a": []}]]
    assert len({id(entry["a"]) for documents in (found, again) for entry in documents[0]}) == 8


def test_a_document_may_be_as_deep_as_the_limit_and_no_deeper() -> None:
    deep, deeper, with_empty = "a:\n b:\n  c: d\n", "a:\n b:\n  c:\n  - d\n", "a:\n b:\n  c: []\n"
    limits = Limits(file_depth=3)

    assert same(read(deep, limits), read_fully(deep, limits))
    assert [read(deeper, limits), read(with_empty, limits)] == [None, None]
    assert "nested deeper than 3 levels" in str(read_fully(deeper, limits))
    assert "nested deeper than 3 levels" in str(read_fully(with_empty, limits))


def test_a_document_with_more_values_than_the_limit_is_left_to_a_parser() -> None:
    text = "a:\n- b: c\n"
    limits = Limits(file_nodes=6)

    assert "too many values" in str(read_fully(text, Limits(file_nodes=5)))
    assert agrees(text, Limits(file_nodes=5))
    assert same(read_fully(text, limits), [{"a": [{"b": "c"}]}])
    assert agrees(text, limits)


_WORDS = st.text(st.characters(codec="ascii", categories=["L", "N", "P", "S", "Zs"]), max_size=12)
_ODD_WORDS = st.sampled_from(
    ["yes", "~", "1", "0x1f", "1e3", ".5", "", "null", "- a", "a: b", "a #b", "é", "<<"]
)
_LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | _WORDS | _ODD_WORDS
_KEYS = _WORDS | _ODD_WORDS
_TREES = st.recursive(
    _LEAVES | st.lists(_WORDS.map(lambda word: f"a{word}b"), min_size=1, max_size=4).map("\n".join),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(_KEYS, _TREES, min_size=1, max_size=4), min_size=1, max_size=3))
def test_whatever_we_write_is_read_without_a_parser(documents: list[dict[str, Any]]) -> None:
    text = "---\n".join(format_document(document) for document in documents)

    found = read(text)

    assert found is not None
    assert same(found, read_fully(text))


@given(any_locks())
def test_a_lock_of_any_kind_is_read_as_a_parser_reads_it(written: Any) -> None:
    assert agrees(format_lock(written))


def test_an_ordinary_lock_is_read_without_a_parser() -> None:
    text = format_lock(lock([package("app v1.0.0", "net >=v1.0.0"), package("net v1.2.0")]))

    assert read(text) is not None


@pytest.mark.parametrize(
    "path", [pytest.param(path, id=path.name) for path in sorted(EXAMPLES.rglob("*.yaml"))]
)
def test_a_file_of_an_example_is_read_as_a_parser_reads_it(path: Path) -> None:
    assert agrees(path.read_text(encoding="utf-8"))


_PIECES = st.sampled_from([
    *" \n:-#'\"|>{}[]&*!%?,~<=.\\aé19", "\n  ", "\n- ", "\n", "  ", "- ", ": ", ":\n", "- a: ", "a: ", "b:\n",
    ": |\n  ", ": |-\n", "---\n", "\n---", "{}", "[]", " #", "''", "'x'", '"y"', "\\u0041", "key", "\t", "\r",
    "\u2028", "\ufeff", "\x85", "\u00a0", "\n    ", "0x1F", "yes", "<<: ", "\n\n",
])  # fmt: skip


@examples(500)
@given(st.lists(_PIECES, max_size=30).map("".join), st.integers(1, 6), st.integers(1, 60))
@example("<<:: ", 5, 60)
@example("a:\n- |\n \nb: c\n", 5, 60)
@example("- |\n  a\n\n \n   \nb: c\n", 5, 60)
@example("a: 'b' #c'\n", 5, 60)
@example("a: b", 5, 2)
def test_no_text_is_read_otherwise_than_by_a_parser(text: str, depth: int, nodes: int) -> None:
    assert agrees(text)
    assert agrees(text, Limits(file_depth=depth, file_nodes=nodes))


_SEEDS = [
    format_lock(lock([package("app v1.0.0", "net >=v1.0.0"), package("net v1.2.0")])),
    *[path.read_text(encoding="utf-8") for path in sorted(EXAMPLES.glob("*/*.yaml"))],
    "".join(text for text, documents in READ if len(documents) == 1 and isinstance(documents[0], dict)),
    "a: |\n  one\n\n    two\n# c\nb: |-\n   three\n\nc:\n- |\n  four\n- d: 'five'\n  e: \"six\\n\" # seven\n",
]


@examples(500)
@given(st.integers(0, 2**32), st.sampled_from(_SEEDS), st.lists(_PIECES, min_size=1, max_size=4))
def test_no_edit_of_a_real_text_is_read_otherwise_than_by_a_parser(
    seed: int, text: str, pieces: list[str]
) -> None:
    chance = random.Random(seed)
    start = chance.randrange(len(text))
    edited = text[text.find("\n", start) + 1 :][:600]

    for piece in pieces:
        at = chance.randrange(len(edited) + 1)
        edited = edited[:at] + piece + edited[at + chance.choice([0, 0, 1, 3]) :]

    assert agrees(edited)


def test_a_plain_file_is_read_without_importing_a_parser() -> None:
    script = (
        "import sys; from render.yaml.documents import file_rules, parse_documents; from render.limits import Limits; "
        "parse_documents(b'a: b', file_rules(Limits())); print('yaml' in sys.modules); "
        "parse_documents(b'a: [b]', file_rules(Limits())); print('yaml' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["False", "True"]
