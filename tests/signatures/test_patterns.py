"""Expressions fit what they fit in Go; what this reader does not know is refused, and no text takes long."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from render.signatures.patterns import UnusableExpression, matches

URL = "https://git.example.org/acme/provider"
_PIECES = [
    "a",
    "b",
    ".",
    "*",
    "+",
    "?",
    "|",
    "(",
    ")",
    "(?:",
    "[ab]",
    "[^a]",
    "[a-c]",
    "^",
    "$",
    r"\d",
    r"\W",
    r"\b",
]
_PIECES += ["{2}", "{1,2}", "{0,}", "x{", r"\.", "-"]


@pytest.mark.parametrize(
    ("expression", "text", "fits"),
    [
        # Without an anchor, a part of the text is enough.
        ("https://git.example.org/acme", "https://git.example.org/acme-evil/x", True),
        (r"^https://git\.example\.org/acme/", "https://git.example.org/acme-evil/x", False),
        (r"^https://git\.example\.org/acme/.*$", URL, True),
        (r"\Ahttps://.+\z", URL, True),
        ("", "", True),
        ("^$", "", True),
        # The end is the end, and not the line break before it.
        ("provider$", f"{URL}\n", False),
        ("a.b", "a\nb", False),
        ("(?i)ACME", "acme", True),
        ("(?i)k", "\u212a", True),
        ("(?i)[^A]", "a", False),
        ("[a-c]{2,3}$", "xabc", True),
        ("(a|b)+?c", "abac", True),
        (r"[\w.-]+@example\.org", "robin.1-x@example.org", True),
        ("a{,2}", "a{,2}", True),
    ],
)
def test_an_expression_fits_as_in_go(expression: str, text: str, fits: bool) -> None:
    assert matches(expression, text) is fits


@pytest.mark.parametrize(
    "expression",
    ["(", ")", "a**", "*a", "{2}", "a{3,2}", "a{1001}", "(?=a)", "(?!a)", "(?P<x>a)", r"\1", r"\Z", r"\pL", "a(?i)b",
     "[a", "[z-a]", "[[:alpha:]]", "[]a]", "a\\", "(" * 60 + ")" * 60, "a" * 1_025, "((a{900}){900})"],
)  # fmt: skip
def test_an_unusual_expression_is_refused(expression: str) -> None:
    with pytest.raises(UnusableExpression):
        matches(expression, "aaa")


def test_an_expression_that_makes_others_slow_is_answered_in_few_steps() -> None:
    assert not matches("^(a+)+(a*)*$", "a" * 2_000 + "!")


@given(st.lists(st.sampled_from(_PIECES), max_size=7).map("".join), st.text("ab1 -.x{", max_size=6))
def test_what_python_reads_in_the_same_way_fits_in_the_same_way(expression: str, text: str) -> None:
    try:
        fits = matches(expression, text)
    except UnusableExpression:
        return
    try:
        theirs = re.search(expression.replace("$", r"\Z"), text, re.ASCII)
    except re.error:
        # Repeats of borders are allowed in Go.
        return
    assert fits is bool(theirs)
