"""A scalar without quotes has the type that Kubernetes gives it."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from render.yaml.documents import type_name
from render.yaml.scalars import parse_plain_scalar

# As sigs.k8s.io/yaml types them, by its resolve.go.
SCALARS: list[tuple[str, Any]] = [
    *[(text, True) for text in ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")],
    *[(text, False) for text in ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")],
    *[(text, None) for text in ("", "~", "null", "Null", "NULL")],
    *[(text, text) for text in ("yEs", "nULL", "tRUE", "none", "None", "Y ", "oN", "~~")],
    ("0", 0),
    ("-0", 0),
    ("7", 7),
    ("+7", 7),
    ("-7", -7),
    ("0123", 83),
    ("-0123", -83),
    ("0o17", 15),
    ("0O17", 15),
    ("0x1f", 31),
    ("0X1F", 31),
    ("-0x1f", -31),
    ("0b101", 5),
    ("1_000", 1000),
    ("1__0_", 10),
    ("0_17", 15),
    ("0_", 0),
    ("08", 8.0),
    ("0o18", "0o18"),
    ("0b12", "0b12"),
    ("0x", "0x"),
    ("0x_", "0x_"),
    ("_1", "_1"),
    ("-", "-"),
    ("+", "+"),
    ("1e3", 1000.0),
    ("1E+3", 1000.0),
    ("1.10", 1.1),
    ("1.", 1.0),
    (".5", 0.5),
    ("-.5", -0.5),
    ("1_0.5", 10.5),
    (".5_0", ".5_0"),
    (".", "."),
    ("...", "..."),
    ("1.2.3", "1.2.3"),
    ("1e", "1e"),
    ("1e400", "1e400"),
    (".inf", math.inf),
    ("+.Inf", math.inf),
    ("-.INF", -math.inf),
    ("inf", "inf"),
    ("nan", "nan"),
    ("2001-01-01", "2001-01-01"),
    ("2001-99-99", "2001-99-99"),
    ("2001-01-01T00:00:00Z", "2001-01-01T00:00:00Z"),
    ("1:30", "1:30"),
    ("v1", "v1"),
    ("<<", "<<"),
    ("9" * 30, int("9" * 30)),
    ("9" * 5000, math.inf),
    ("٣", "٣"),
    ("1٣", "1٣"),
]


@pytest.mark.parametrize(("text", "value"), SCALARS)
def test_a_plain_one_has_the_type_kubernetes_gives_it(text: str, value: Any) -> None:
    found = parse_plain_scalar(text)

    assert (type(found), found) == (type(value), value)


def test_not_a_number_is_a_number() -> None:
    assert all(math.isnan(parse_plain_scalar(text)) for text in (".nan", ".NaN", ".NAN"))


@given(st.text(alphabet="0123456789_.+-eExXoObBaAfFinN~", min_size=1, max_size=12))
def test_no_text_is_too_odd(text: str) -> None:
    assert type_name(parse_plain_scalar(text)) in ("text", "a number", "true or false", "nothing")
