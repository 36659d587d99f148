"""Whether an expression fits a text, and which texts it leaves open."""

import re
from functools import lru_cache

from render.signatures.expressions.machine import Machine, UnusableExpression
from render.signatures.expressions.parser import at_end, at_start, parse

_LONGEST = 1_024
_KEPT = 256
# Names of no one: hosts below .invalid never exist.
_STRANGERS = ("https://stranger.invalid", "https://stranger.invalid/x/y@refs/tags/v1", "x@stranger.invalid")
# What ends so names a whole host or organisation, or a whole file in front of an @; no longer one begins like it.
_WHOLE = re.compile(r"/.*@|/\)*$")


@lru_cache(_KEPT)
def matches(expression: str, text: str) -> bool:
    """Return whether an expression fits some part of a text."""
    return _compile(expression).fits(text)


def fits_everyone(expression: str) -> bool:
    """Return whether an expression fits names that nobody has; one that cannot be used fits none."""
    try:
        return any(matches(expression, one) for one in _STRANGERS)
    except UnusableExpression:
        return False


def open_ends(expression: str) -> list[str]:
    """Return what an expression lacks, so that it fits longer names as well: ^ in front, or $ at the end."""
    try:
        machine = _compile(expression)
    except UnusableExpression:
        return []
    named = re.sub(r"\.[*+]\$?$", "", expression)
    is_open = named != expression or machine.ends_without(at_end)
    return [
        *(["begin it with ^"] if machine.ends_without(at_start) else []),
        *(["end it with $, or its name with a slash"] if is_open and not _WHOLE.search(named) else []),
    ]


@lru_cache(_KEPT)
def _compile(expression: str) -> Machine:
    if len(expression) > _LONGEST:
        raise UnusableExpression(expression, f"it is longer than {_LONGEST:,} characters")
    return parse(expression)
