"""Expressions fit what they fit in Go; what this reader does not know is refused, and no text takes long."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from render.signatures.expressions.machine import UnusableExpression
from render.signatures.expressions.matching import fits_everyone, matches, open_ends

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
        ("(?i)\u017f", "S", True),
        # A small i without its dot is no letter I, whatever Python says.
        ("(?i)I", "\u0131", False),
        ("(?i)[a-z]", "\u0130", False),
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


@pytest.mark.parametrize(
    ("expression", "lacking"),
    [
        ("https://git.example.org/acme", ["^", "$"]),
        ("^https://git.example.org/acme", ["$"]),
        ("^https://git.example.org/acme.*$", ["$"]),
        ("^https://git.example.org/acme/", []),
        ("^https://git.example.org/acme/.+$", []),
        ("^(https://a.example/|https://b.example/)", []),
        ("^https://git.example.org/acme/x/release.yml@refs/tags/v.*", []),
        ("^a|b$", ["^", "$"]),
        (r"(?i)(\Aa\z)", []),
        ("^robin@.*", ["$"]),
        # What cannot be read is told when it is used.
        ("(?=x)", []),
    ],
)
def test_an_expression_with_an_open_end_lacks_a_border(expression: str, lacking: list[str]) -> None:
    found = open_ends(expression)

    assert [sign for sign in "^$" if any(sign in advice for advice in found)] == lacking


@pytest.mark.parametrize("expression", ["", ".*", ".+", "^.*$", "^https://", "@", r"^\S+$", "(acme)?"])
def test_an_expression_that_fits_unknown_names_fits_everyone(expression: str) -> None:
    assert fits_everyone(expression)


@pytest.mark.parametrize("expression", ["acme", "^https://git.example.org/", r"@example\.org$", "(?=x)", "["])
def test_an_expression_that_names_someone_does_not_fit_everyone(expression: str) -> None:
    assert not fits_everyone(expression)
