"""What happens to values: the defaults of missing ones, and how those of several writers are merged."""

from collections.abc import Iterator

from render.definitions.findings import Difference
from render.definitions.rules import Risk
from render.definitions.schemas.nodes import Node, Schema, show
from render.digests import format_canonical

LIST_TYPE, LIST_KEYS, MAP_TYPE = (
    *("x-kubernetes-list-type", "x-kubernetes-list-map-keys"),
    "x-kubernetes-map-type",
)
_TWICE = "the API server refuses lists with two entries of one key"


def compare_defaults(node: Node) -> Iterator[Difference]:
    """Find another default, or none any more; a new one harms nothing."""
    if "default" not in node.old:
        return
    before = format_canonical(node.old["default"])
    if "default" not in node.new:
        yield node.differ("default-gone", before=show(node.old["default"]))
    elif before != format_canonical(node.new["default"]):
        shown = show(node.old["default"]), show(node.new["default"])
        yield node.differ("default-changed", before=shown[0], after=shown[1])


def compare_merging(node: Node) -> Iterator[Difference]:
    """Find lists and maps that server-side apply merges in another way than before."""
    before, after = node.old.get(LIST_TYPE, "atomic"), node.new.get(LIST_TYPE, "atomic")
    keys_before, keys_after = _keys(node.old), _keys(node.new)
    if before != after or keys_before != keys_after:
        shown = _list(before, keys_before), _list(after, keys_after)
        # Entries that differed by a key that no longer counts are equal now.
        is_unique = after in ("set", "map") and (before == "atomic" or not keys_before <= keys_after)
        risk, detail = (Risk.LOST, _TWICE) if is_unique else (Risk.WRITERS, "")
        yield node.differ("merge-keys", risk, before=shown[0], after=shown[1], detail=detail)
    before, after = node.old.get(MAP_TYPE, "granular"), node.new.get(MAP_TYPE, "granular")
    if before != after:
        yield node.differ("merge-keys", Risk.WRITERS, before=show(before), after=show(after))


def _keys(schema: Schema) -> frozenset[str]:
    found = schema.get(LIST_KEYS)
    return frozenset(map(show, found)) if isinstance(found, list) else frozenset()


def _list(name: object, keys: frozenset[str]) -> str:
    return f"{show(name)} by {', '.join(sorted(keys))}" if keys else show(name)
