"""Schemas without their descriptions, as text and as values: equal digests settle that nothing else changed."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from render.digests import digest_value

# A description with text on its line, and the lines that belong to it. A property of that name holds a mapping, which
# starts on the next line or with one of the characters that are left out.
# Possessive throughout, since going back over the spaces of every line would take most of the time.
_DESCRIPTION = re.compile(rb"\n( ++)description: ++(?![{\[&*!#])[^\n]*+(?:\n(?:\1 [^\n]*+|[ \t]*+(?=\n)))*+")
# Values that may hold text which only looks like a description.
_DATA = (b"default:\n", b"example:\n")
_DATA_BLOCK = re.compile(rb"\n( *)[^\n]*\n(?:\1[ -][^\n]*\n)*")
_MAPPING_IN_ENUM = re.compile(rb"enum:\n *- [^\n:]+:")
_LONG_TEXT = {b"|": (b"|\n", b"|-\n", b"|+\n"), b">": (b">\n", b">-\n", b">+\n")}

# Where a schema holds other schemas: one, a list of them, or one for each name.
SCHEMA_KEYS = ("items", "additionalProperties", "additionalItems", "not")
SCHEMA_LIST_KEYS = ("allOf", "anyOf", "oneOf")
SCHEMA_MAP_KEYS = ("properties", "patternProperties", "definitions", "dependencies")


def drop_descriptions(data: bytes) -> bytes:
    """Return the text of a definition without descriptions, or all of it where some may be data."""
    stripped = _DESCRIPTION.sub(b"", data)
    return data if _is_doubtful(data, stripped) else stripped


def _is_doubtful(data: bytes, stripped: bytes) -> bool:
    # Hardly any schema has one of these characters, and one character is found at once.
    if any(mark in stripped for sign, marks in _LONG_TEXT.items() if sign in stripped for mark in marks):
        return True
    if _MAPPING_IN_ENUM.search(stripped):
        return True
    marks = [mark for mark in _DATA if mark in stripped]
    return any(b"description: " in block for mark in marks for block in _blocks(data, mark))


def _blocks(data: bytes, mark: bytes) -> Iterator[bytes]:
    """Yield what stands below each line that ends with a mark."""
    at = data.find(mark)
    while at >= 0:
        block = _DATA_BLOCK.match(data, data.rfind(b"\n", 0, at))
        yield block[0] if block else b""
        at = data.find(mark, at + 1)


def digest_schema(schema: object) -> str:
    """Return the digest of a parsed schema without descriptions."""
    return digest_value(without_descriptions(schema))


def without_descriptions(schema: object) -> Any:
    """Return a parsed schema without descriptions, told by their position: a property may have that name."""
    if not isinstance(schema, Mapping):
        return schema
    return {key: _kept(key, value) for key, value in schema.items() if key != "description"}


def _kept(key: str, value: Any) -> Any:
    if key in SCHEMA_KEYS:
        # The older form of items is a list.
        return [*map(without_descriptions, value)] if isinstance(value, list) else without_descriptions(value)
    if key in SCHEMA_LIST_KEYS and isinstance(value, list):
        return [without_descriptions(item) for item in value]
    if key in SCHEMA_MAP_KEYS and isinstance(value, Mapping):
        return {name: without_descriptions(item) for name, item in value.items()}
    return value
