"""Unquoted YAML scalars, typed as the YAML reader of Kubernetes types them."""

import re

from render.lean import Any

_CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(["", "~", "null", "Null", "NULL"], None),
    **dict.fromkeys(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"], True),
    **dict.fromkeys(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"], False),
}
_NUMERIC = frozenset("+-.0123456789")
# Patterns are compiled when they are needed: few numbers are unusual.
_INTEGER = r"([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|0[0-7]+|[1-9][0-9]*|0)"
_FLOAT = r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
_INFINITE = float("inf")
_MANY_DIGITS = 20


def parse_plain_scalar(text: str) -> Any:
    """Return the value of an unquoted scalar, with the type that Kubernetes gives it."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] not in _NUMERIC:
        return text
    if text == "0" or (text.isdecimal() and text.isascii() and text[0] != "0" and len(text) < _MANY_DIGITS):
        return int(text)
    # go-yaml, resolve.go: underscores are dropped from text that starts with a digit or a sign.
    plain = text if text[0] == "." else text.replace("_", "")
    integer = re.fullmatch(_INTEGER, plain)
    if integer:
        return _parse_integer(plain, integer[1], integer[2])
    if not re.fullmatch(_FLOAT, plain):
        return text
    if not plain[-1].isdigit() and plain[-1] != ".":
        # Python spells infinity and "not a number" without the dot.
        return float(plain.replace(".", ""))
    number = float(plain)
    return text if abs(number) == _INFINITE else number


def _parse_integer(plain: str, sign: str, digits: str) -> int | float:
    octal = len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()
    try:
        return int(f"{sign}0o{digits}" if octal else plain, 0)
    except ValueError:
        # Python refuses to read thousands of digits; it matters only that this is a number.
        return _INFINITE
