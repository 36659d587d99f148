"""Objects of a running cluster, as `kubectl get ... -o yaml` or `-o json` prints them."""

import json
import re
from typing import Any

from render.errors import InvalidInput
from render.limits import LimitExceeded, Limits
from render.yaml.documents import InvalidDocument, lock_rules, parse_documents

_SOMETHING = re.compile(r"\S")


class InvalidLiveObjects(InvalidInput):
    """Text that kubectl did not print."""

    def __init__(self, why: str) -> None:
        super().__init__(
            "input is not kubectl output",
            why=why,
            next="give what `kubectl get ... -o yaml` prints; between the output of several calls goes a line ---",
        )


def parse_live_objects(data: bytes, limits: Limits) -> list[Any]:
    """Parse objects of a cluster: one, several documents, or a List of them."""
    if len(data) > limits.lock_bytes:
        raise LimitExceeded(
            "what the cluster has is too large", "lock_bytes", limits, found=f"{len(data):,} bytes"
        )
    try:
        # JSON is YAML but for its escapes of rare characters.
        is_json = data.lstrip().startswith(b"{")
        documents = _parse_json(data, limits) if is_json else parse_documents(data, lock_rules(limits))
    except InvalidDocument as error:
        raise InvalidLiveObjects(error.what) from None
    except (ValueError, RecursionError) as error:
        raise InvalidLiveObjects(str(error)) from None
    return [item for document in documents for item in _listed(document)]


def _parse_json(data: bytes, limits: Limits) -> list[Any]:
    text, decoder = data.decode(), json.JSONDecoder()
    found: list[Any] = []
    start = _SOMETHING.search(text)
    while start:
        if len(found) == limits.documents:
            raise LimitExceeded("there are too many objects", "documents", limits)
        value, end = decoder.raw_decode(text, start.start())
        found.append(value)
        start = _SOMETHING.search(text, end)
    return found


def _listed(document: Any) -> list[Any]:
    # Without a name, or with several, kubectl prints a List.
    items = document.get("items") if isinstance(document, dict) else None
    return items if isinstance(items, list) else [document]
