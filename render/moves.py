"""Moves: which source replaces another, who agreed, by which strategy, and where a chain of moves ends."""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from render.errors import InvalidInput
from render.lean import dataclass, replace
from render.references import Source
from render.texts import linked


class Strategy(StrEnum):
    """How a package replaces another one."""

    # The old object keeps its old source; its pin points to the new package.
    ALIAS = "alias"
    # The old object gets the new source.
    REPOINT = "repoint"
    # The new package has an object of its own, the old one is deactivated.
    DEACTIVATE = "deactivate"
    # The old one was never installed; its dependants get the new one.
    PLAIN = "plain"


class Consent(StrEnum):
    """Who agreed that a package replaces another one."""

    MOVES = "moves"
    CLAIM = "claim"


@dataclass(frozen=True, slots=True)
class Move:
    """One source that others replace."""

    source: Source
    # Several, where several packages replace one.
    targets: tuple[Source, ...]
    consent: Consent = Consent.MOVES
    # The strategy that the user asked for; without it, the table of strategies decides.
    strategy: Strategy | None = None
    place: str = ""


class CircularMoves(InvalidInput):
    """Moves in a circle."""


def follow_moves(moves: Iterable[Move]) -> dict[Source, Move]:
    """Return the move of each source, with the targets at the end of its chain."""
    known = {move.source: move for move in moves}
    ends: dict[Source, tuple[Source, ...]] = {}
    for source in sorted(known):
        if source not in ends:
            _find_ends(source, known, ends)
    return {source: replace(known[source], targets=ends[source]) for source in sorted(known)}


def add_moves(known: Mapping[Source, Move], more: Iterable[Move]) -> dict[Source, Move]:
    """Add moves of lower priority: none for a source that has one, and none that would make a circle."""
    found = dict(known)
    for move in more:
        if move.source not in found and move.source not in _reached(move.targets, found):
            found[move.source] = move
    return follow_moves(found.values())


def format_moves(moves: Iterable[Move]) -> list[str]:
    """Return the lines that declare moves in xplock.yaml, to be pasted."""
    lines = ["  moves:"]
    for move in moves:
        one = move.targets[0] if len(move.targets) == 1 else None
        many = [] if one else [f"        - {target}" for target in move.targets]
        lines += [f"    - from: {move.source}", f"      to: {one}" if one else "      to:", *many]
    return lines


def _find_ends(start: Source, known: Mapping[Source, Move], ends: dict[Source, tuple[Source, ...]]) -> None:
    # An explicit path instead of recursion, since a chain can be longer than Python's stack: each source on it, in
    # order, with its targets that are not visited yet.
    path = {start: iter(known[start].targets)}
    while path:
        source = next(reversed(path))
        onwards = next((target for target in path[source] if target in known and target not in ends), None)
        if onwards is None:
            ends[source] = _joined(known[source].targets, ends)
            del path[source]
        elif onwards in path:
            raise _circle(list(path), onwards)
        else:
            path[onwards] = iter(known[onwards].targets)


def _joined(targets: Iterable[Source], ends: Mapping[Source, tuple[Source, ...]]) -> tuple[Source, ...]:
    return tuple(dict.fromkeys(end for target in targets for end in ends.get(target, (target,))))


def _circle(path: list[Source], start: Source) -> CircularMoves:
    return CircularMoves(
        "moves lead in a circle",
        why=linked([*path[path.index(start) :], start]),
        next="keep the move to the source you want; to undo a move, replace it by its opposite",
    )


def _reached(sources: Iterable[Source], known: Mapping[Source, Move]) -> set[Source]:
    """Return these sources and all that replace them, directly or not."""
    found: set[Source] = set()
    left = list(sources)
    while left:
        source = left.pop()
        if source not in found:
            found.add(source)
            left += known[source].targets if source in known else ()
    return found
