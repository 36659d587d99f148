"""JSON documents with changes that no honest signer makes: other types, missing and doubled keys, odd texts."""

import copy
from collections.abc import Iterator
from typing import Any

# Among them half of a surrogate pair, a terminal sequence, and a digest in other letters.
_ODD: list[Any] = [None, True, -1, 10**30, 1.5, "", "\ud800", "\x1b[2J\u202e", "sha256:" + "AB" * 32, "AA=="]
_ODD += ["x" * 5_000, [], {}, [{}], {"a": "b"}, ["x"] * 300]


def changed(value: Any) -> Iterator[Any]:
    """Yield a document with one part changed, for each part and each change."""
    for way in list(_ways(value)):
        for odd in _ODD:
            yield _with(value, way, odd)
        copied = copy.deepcopy(value)
        owner = _at(copied, way[:-1])
        taken = owner.pop(way[-1])
        yield copy.deepcopy(copied)
        if isinstance(owner, dict):
            owner[way[-1].upper()] = taken
            yield copied


def _ways(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield (*way, key)
        yield from _ways(value[key], (*way, key))


def _at(value: Any, way: tuple[Any, ...]) -> Any:
    for key in way:
        value = value[key]
    return value


def _with(value: Any, way: tuple[Any, ...], odd: Any) -> Any:
    copied = copy.deepcopy(value)
    _at(copied, way[:-1])[way[-1]] = odd
    return copied
