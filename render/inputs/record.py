"""The record of what resolution read: one entry per input, with the digest of what it says and not of its text."""

import hashlib
import json
from collections.abc import Iterable, Mapping

from render.inputs.settings import Settings
from render.registry.rewrites import Rewrite
from render.roots import Root


def make_record(roots: Iterable[Root], rewrites: Iterable[Rewrite], settings: Settings) -> Mapping[str, str]:
    """Return the record, sorted by its keys; places are no part of it."""
    entries: dict[str, object] = {f"root {root.source}": _root_value(root) for root in roots}
    entries |= {f"rewrite {rewrite.prefix}": rewrite.replacement for rewrite in rewrites}
    entries |= {f"setting {key}": value for key, value in settings.given.items()}
    return {key: digest_value(entries[key]) for key in sorted(entries)}


def digest_value(value: object) -> str:
    """Return the digest of a plain value's canonical JSON form."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _root_value(root: Root) -> dict[str, object]:
    constraint = root.request.constraint
    return {
        "request": [constraint.text if constraint else None, root.request.tag, root.request.digest],
        "name": root.name,
        "kind": root.kind,
        "fields": root.fields,
    }
