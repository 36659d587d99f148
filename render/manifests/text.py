"""Objects → text: YAML documents that every reader splits alike, or one JSON list."""

from collections.abc import Mapping, Sequence

from render.lean import Any
from render.yaml.writer import format_document


def format_yaml(objects: Sequence[Mapping[str, Any]]) -> str:
    """Write objects as YAML, with a marker in front of each: without one, two of them would become one."""
    return "".join(f"---\n{format_document(value)}" for value in objects)


def format_json(objects: Sequence[Mapping[str, Any]]) -> str:
    """Write objects as one List, in ASCII, where nothing is invisible and no locale can change a byte."""
    # For those who ask for it.
    import json

    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}, indent=2) + "\n"
