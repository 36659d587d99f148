"""The table of settings → the JSON Schema for editors."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from render.inputs.settings.keys import KEYS
from render.inputs.settings.table import (
    Choice,
    Entries,
    Flag,
    Group,
    Key,
    Number,
    OneOrMore,
    Shape,
    Text,
    TextMap,
    Texts,
)
from render.system.files import replace_file

SCHEMA_FILE = Path(__file__).parent.with_name("xplock.schema.json")

_DESCRIPTION = (
    "Settings of an xplock project, the file xplock.yaml beside its manifests. To have them checked and explained "
    "while typing, make this the first line of the file, with the path or address of this schema: "
    "# yaml-language-server: $schema=xplock.schema.json"
)


def format_schema() -> bytes:
    """Return the schema as it is shipped."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "xplock.yaml",
        "description": _DESCRIPTION,
        **_mapping(KEYS),
    }
    return (json.dumps(schema, indent=2, ensure_ascii=False) + "\n").encode()


def write_schema() -> None:
    """Write the shipped file again, after the table has changed."""
    replace_file(SCHEMA_FILE, format_schema())


def _mapping(keys: Sequence[Key]) -> dict[str, Any]:
    required = [key.name for key in keys if key.required]
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {key.name: _property(key) for key in keys},
        **({"required": required} if required else {}),
    }


def _property(key: Key) -> dict[str, Any]:
    examples = {"examples": list(key.examples)} if key.examples else {}
    return {"description": key.description, **_shape(key.shape), **examples}


def _shape(shape: Shape | Entries | Group) -> dict[str, Any]:
    match shape:
        case Entries():
            return {"type": "array", "items": _entry(shape)}
        case Group():
            return _mapping(shape.keys)
        case Text():
            return {"type": "string", **({} if shape.may_be_empty else {"minLength": 1}), **_pattern(shape)}
        case Texts():
            return {"type": "array", "minItems": 1, "items": _shape(shape.item)}
        case OneOrMore():
            return {"anyOf": [_shape(shape.item), _shape(Texts(shape.item))]}
        case TextMap():
            return {
                "type": "object",
                "minProperties": 1,
                "propertyNames": _pattern(shape.name),
                "additionalProperties": _shape(shape.value),
            }
        case Choice():
            return {"enum": list(shape.words), **({"default": shape.default} if shape.default else {})}
        case Flag():
            return {"type": "boolean", "default": shape.default}
        case Number():
            return {"type": "integer", "minimum": shape.least, "maximum": shape.most}


def _entry(shape: Entries) -> dict[str, Any]:
    least = sum(key.required for key in shape.keys) + 1
    return {**_mapping(shape.keys), **({"minProperties": least} if shape.needs_more else {})}


def _pattern(shape: Text) -> dict[str, Any]:
    return {"pattern": f"^(?:{shape.pattern})$"} if shape.pattern else {}


if __name__ == "__main__":
    write_schema()
