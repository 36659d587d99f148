"""The record of inputs in a lock: one entry per input, with the digest of its value, not of its text."""

from collections.abc import Iterable, Mapping

from render.digests import digest_value
from render.requests import Root
from render.rewrites import Rewrite
from render.settings import Settings

# How the entry of an input starts; its source, prefix or key follows.
ROOT = "root "
REWRITE = "rewrite "
SETTING = "setting "
# Settings that change manifests and not the lock.
_RENDERING = frozenset({"waves", "overlay", "mirror"})


def make_record(roots: Iterable[Root], rewrites: Iterable[Rewrite], settings: Settings) -> Mapping[str, str]:
    """Return the record, sorted by its keys and without places."""
    entries: dict[str, object] = {f"{ROOT}{root.source}": _root_value(root) for root in roots}
    entries |= {f"{REWRITE}{rewrite.prefix}": rewrite.replacement for rewrite in rewrites}
    entries |= {f"{SETTING}{key}": value for key, value in settings.given.items() if key not in _RENDERING}
    return {key: digest_value(entries[key]) for key in sorted(entries)}


def _root_value(root: Root) -> dict[str, object]:
    constraint = root.request.constraint
    return {
        "request": [constraint.text if constraint else None, root.request.tag, root.request.digest],
        "name": root.name,
        "kind": root.kind,
        "fields": root.fields,
    }
