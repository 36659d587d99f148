"""Digests of values are those of their JSON, however they are written."""

import hashlib
import json
import math
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from render.digests import digest_value, format_canonical, sha256_hex
from render.packages import Kind

_LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_the_hash_of_a_text_is_the_one_of_its_utf8(text: str) -> None:
    assert sha256_hex(text) == hashlib.sha256(text.encode()).hexdigest()


@given(_VALUES)
def test_the_canonical_form_is_json_with_sorted_keys_and_without_blanks(value: Any) -> None:
    expected = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)

    assert format_canonical(value) == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Kind.PROVIDER, '"Provider"'),
        (("a", Kind.FUNCTION), '["a","Function"]'),
        ({"b": [], "a": {}}, '{"a":{},"b":[]}'),
        ('"', '"\\""'),
        ("é\n", '"\\u00e9\\n"'),
        (1.0, "1.0"),
    ],
)
def test_words_and_odd_texts_are_written_as_json_has_them(value: object, text: str) -> None:
    assert format_canonical(value) == text


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_does_not_have_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        format_canonical({"a": [number]})


def test_the_digest_of_a_value_is_the_one_of_its_canonical_form() -> None:
    expected = hashlib.sha256(b'{"a":[null,true],"b":"c"}').hexdigest()

    assert digest_value({"b": "c", "a": [None, True]}) == f"sha256:{expected}"


def test_neither_openssl_nor_json_is_imported_for_names() -> None:
    script = (
        "import sys; from render.digests import digest_value; digest_value({'a': ['b', 1, None, True]}); "
        "print(sorted({'hashlib', '_hashlib', 'json'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
