"""The record of inputs in a lock: one entry per input, with the digest of its value, not of its text."""

from collections.abc import Iterable, Mapping

from render.crd_dependencies import CatalogRow
from render.digests import digest_value
from render.rewrites import Rewrite
from render.settings import Settings
from render.versions.requests import CrdRoot, Root

# How the entry of an input starts; its source, prefix or key follows.
ROOT = "root "
CRD = "crd "
REWRITE = "rewrite "
CATALOG = "catalog "
SETTING = "setting "
# Settings that do not change the lock.
_RENDERING = frozenset({"waves", "overlay", "mirror", "environments"})


def make_record(
    roots: Iterable[Root],
    rewrites: Iterable[Rewrite],
    settings: Settings,
    crd_roots: Iterable[CrdRoot] = (),
    catalog: Iterable[CatalogRow] = (),
) -> Mapping[str, str]:
    """Return the record, sorted by its keys and without places."""
    entries: dict[str, object] = {f"{ROOT}{root.source}": _root_value(root) for root in roots}
    entries |= {f"{REWRITE}{rewrite.prefix}": rewrite.replacement for rewrite in rewrites}
    entries |= {f"{CRD}{one.crd}": _crd_value(one) for one in crd_roots}
    entries |= _catalog_values(catalog)
    entries |= {f"{SETTING}{key}": value for key, value in settings.given.items() if key not in _RENDERING}
    return {key: digest_value(entries[key]) for key in sorted(entries)}


def _crd_value(one: CrdRoot) -> dict[str, object]:
    return {"constraint": one.constraint.text, "name": one.name, "fields": one.fields}


def _catalog_values(rows: Iterable[CatalogRow]) -> dict[str, object]:
    """Return the rows of each catalog file, sorted, so that their order and comments do not count."""
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(f"{CATALOG}{row.place}", []).append(row.text)
    return {name: sorted(texts) for name, texts in found.items()}


def _root_value(root: Root) -> dict[str, object]:
    constraint = root.request.constraint
    return {
        "request": [constraint.text if constraint else None, root.request.tag, root.request.digest],
        "name": root.name,
        "kind": root.kind,
        "fields": root.fields,
    }
