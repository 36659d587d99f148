"""Plain values → YAML that all readers read alike; xplock writes all its YAML here."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from render.errors import InvalidInput
from render.lean import Any

# Text that needs no quotes starts with a letter or a slash, so it is no number, date, marker or indicator,
# and holds neither ": " nor " #". Everything else is quoted: quotes are never wrong.
_WORD = r"[A-Za-z0-9_./@+~=-]"
_PLAIN = re.compile(rf"[A-Za-z/]{_WORD}*(?:[ :]{_WORD}+)*")
# Words that YAML 1.1 or 1.2 readers take for true, false, null or a number, in any case.
_RESERVED = frozenset(
    {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none"} | {"nan", "inf", "infinity"}
)

# The patterns for unusual texts are compiled when they are needed.
# Unprintable to YAML, a line break to some reader, or invisible to the person who reviews the file.
_ESCAPED = '["\\\\\x00-\x1f\x7f-\xa0\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff]'
# The same without quotes, backslashes, tabs and line feeds; and lines of nothing but blanks.
_UNLITERAL = (
    "(?m)[\x00-\x08\x0b-\x1f\x7f-\xa0\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff"
    "\ud800-\udfff]|^[ \t]+$"
)
_SHORT_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}
_SURROGATE = "[\ud800-\udfff]"
_INFINITE = float("inf")
# YAML 1.2, section 7.4.2: an implicit key has at most 1024 characters.
_LONGEST_KEY = 1_000
_INDENT = "  "

# Almost every value has one of these types; only others are tested for behaving like a mapping.
_MAPPINGS = (dict, Mapping)
_BLOCKS = (dict, list, tuple, Mapping)


class UnwritableText(InvalidInput):
    """Text that no YAML file can hold."""

    def __init__(self, text: str) -> None:
        super().__init__(
            "a text cannot be written",
            why=f"half of a UTF-16 pair is not a character: {text}",
            next="remove the character, or write it whole",
        )


def format_document(value: Any) -> str:
    """Return one document in block style, keys in the order given, without the marker ---."""
    if not _is_block(value):
        return _inline(value) + "\n"
    lines: list[str] = []
    _write_block(lines, value, "", "")
    lines.append("")
    return "\n".join(lines)


def _is_block(value: Any) -> bool:
    return isinstance(value, _BLOCKS) and len(value) > 0


def _write_block(lines: list[str], value: Any, indent: str, lead: str) -> None:
    """Write a mapping or list; its first line starts with `lead`, the others with `indent`."""
    if isinstance(value, _MAPPINGS):
        _write_mapping(lines, value, indent, lead)
    else:
        _write_list(lines, value, indent, lead)


def _write_mapping(lines: list[str], value: Mapping[str, Any], indent: str, lead: str) -> None:
    for key, item in value.items():
        head = lead + _key(key, indent)
        lead = indent
        if isinstance(item, str):
            lines.append(f"{head}: {_text(item, indent)}")
        elif _is_block(item):
            lines.append(f"{head}:")
            # As kubectl writes it: the items of a list are not indented below its key.
            inner = indent + _INDENT if isinstance(item, _MAPPINGS) else indent
            _write_block(lines, item, inner, inner)
        else:
            lines.append(f"{head}: {_inline(item)}")


def _write_list(lines: list[str], value: Sequence[Any], indent: str, lead: str) -> None:
    for item in value:
        if isinstance(item, str):
            lines.append(f"{lead}- {_text(item, indent)}")
        elif _is_block(item):
            _write_block(lines, item, indent + _INDENT, f"{lead}- ")
        else:
            lines.append(f"{lead}- {_inline(item)}")
        lead = indent


@lru_cache(maxsize=4_096)
def _key(key: Any, indent: str) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a key must be text, not {type(key).__name__}")
    text = _word(str(key))
    return text if len(text) <= _LONGEST_KEY else f"? {text}\n{indent}"


def _text(text: str, indent: str) -> str:
    return _literal(text, indent + _INDENT) if "\n" in text and _fits_literal(text) else _word(str(text))


def _fits_literal(text: str) -> bool:
    # Blanks or empty lines at either end would need an indicator, and readers differ about those.
    body = text.removesuffix("\n")
    return body.strip() == body != "" and not re.search(_UNLITERAL, text)


def _literal(text: str, indent: str) -> str:
    body = text.removesuffix("\n")
    lines = [indent + line if line else "" for line in body.split("\n")]
    return "\n".join(["|" if text.endswith("\n") else "|-", *lines])


def _inline(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _word(str(value))
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return _format_float(value)
    if isinstance(value, _BLOCKS):
        return "{}" if isinstance(value, _MAPPINGS) else "[]"
    raise TypeError(f"YAML cannot hold {type(value).__name__}")


def _format_float(value: float) -> str:
    if value != value:
        return ".nan"
    if abs(value) == _INFINITE:
        return ".inf" if value > 0 else "-.inf"
    # YAML 1.1 takes 1e+16 for text: its numbers have a point.
    digits, exponent, power = repr(value).partition("e")
    return f"{digits}{'' if '.' in digits else '.0'}{exponent}{power}"


@lru_cache(maxsize=4_096)
def _word(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.lower() not in _RESERVED:
        return text
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    if re.search(_SURROGATE, text):
        raise UnwritableText(text)
    return f'"{re.sub(_ESCAPED, _escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return _SHORT_ESCAPES.get(character) or f"\\u{ord(character):04x}"
