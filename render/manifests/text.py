"""Objects → text: YAML documents, or one JSON list."""

from collections.abc import Mapping, Sequence

from render.lean import Any
from render.yaml.writer import format_document


def format_yaml(objects: Sequence[Mapping[str, Any]]) -> str:
    """Return objects as YAML documents, each with its own `---`, so that every reader splits them alike."""
    return "".join(f"---\n{format_document(value)}" for value in objects)


def format_json(objects: Sequence[Mapping[str, Any]]) -> str:
    """Return objects as one List in ASCII, so that no character is invisible and no locale changes a byte."""
    # Imported late: off the render path.
    import json

    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}, indent=2) + "\n"
