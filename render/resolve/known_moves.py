"""Moves of real packages that everyone can know of: hints for what to offer, and no consent to anything."""

import json
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from render.references import DOCKER_HUB, Source

KNOWN_MOVES_FILE = Path(__file__).with_name("known_moves.json")


class KnownMove(NamedTuple):
    """One entry of the file; what a * in it means is told there."""

    source: str
    targets: tuple[str, ...]


def known_direction(one: Source, other: Source) -> tuple[Source, Source] | None:
    """Return the older of two sources and the newer one, where moves are known to lead from one to the other."""
    if _spelled(one) in _origins(other):
        return one, other
    if _spelled(other) in _origins(one):
        return other, one
    return None


def known_targets(old: Source, among: Collection[Source]) -> tuple[Source, ...]:
    """Return where known moves of a source end, of all that is there; several where one package became many."""
    start = _spelled(old)
    reached = [source for source in among if start in _origins(source)]
    passed = {origin for source in reached for origin in _origins(source)}
    return tuple(sorted(source for source in reached if _spelled(source) not in passed))


@cache
def _known_moves() -> tuple[KnownMove, ...]:
    # Only a suggestion needs it.
    entries = json.loads(KNOWN_MOVES_FILE.read_bytes())["moves"]
    return tuple(KnownMove(entry["from"], tuple(entry["to"])) for entry in entries)


@cache
def _origins(target: Source) -> frozenset[str]:
    """Return every source from which known moves lead to this one, in one step or in many."""
    found: set[str] = set()
    left = [_spelled(target)]
    while left:
        steps = set(_steps_to(left.pop())) - found
        found |= steps
        left += steps
    return frozenset(found)


def _steps_to(target: str) -> Iterator[str]:
    # Backwards, since there a * has always been filled: what it stands for in `from`, it stands for in `to` as well.
    for move in _known_moves():
        for pattern in move.targets:
            part = _part(pattern, target)
            if part is not None:
                yield move.source.replace("*", part)


def _part(pattern: str, text: str) -> str | None:
    """Return what the * of a pattern stands for in a text that fits, or nothing where it does not fit."""
    start, star, end = pattern.partition("*")
    if not star:
        return "" if text == pattern else None
    part = text.removeprefix(start).removesuffix(end)
    return part if "/" not in part and text == start + part + end else None


def _spelled(source: Source) -> str:
    return f"docker.io/{source.repository}" if source.registry in DOCKER_HUB else str(source)
