"""Moves to offer for packages that cannot be installed side by side; one paste is enough for all of them."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, reduce
from pathlib import Path
from typing import NamedTuple

from render.moves import Move, add_moves, format_moves
from render.packages import Kind
from render.references import DOCKER_HUB, PartialSource, Source
from render.resolve.model import Resolution
from render.versions.requests import Root
from render.versions.version import Version

KNOWN_MOVES_FILE = Path(__file__).with_name("known_moves.json")


class KnownMove(NamedTuple):
    """One entry of the file, which also explains the `*`."""

    source: str
    targets: tuple[str, ...]


def known_direction(one: Source, other: Source) -> tuple[Source, Source] | None:
    """Return the older and the newer of two sources, if known moves connect them."""
    if _spelled(one) in _origins(other):
        return one, other
    if _spelled(other) in _origins(one):
        return other, one
    return None


def known_targets(old: Source, among: Collection[Source]) -> tuple[Source, ...]:
    """Return the sources among these at which known moves of a source end; several if one package became many."""
    start = _spelled(old)
    reached = [source for source in among if start in _origins(source)]
    passed = {origin for source in reached for origin in _origins(source)}
    return tuple(sorted(source for source in reached if _spelled(source) not in passed))


@cache
def _known_moves() -> tuple[KnownMove, ...]:
    # Read late: only suggestions need it.
    entries = json.loads(KNOWN_MOVES_FILE.read_bytes())["moves"]
    return tuple(KnownMove(entry["from"], tuple(entry["to"])) for entry in entries)


@cache
def _origins(target: Source) -> frozenset[str]:
    """Return all sources that known moves connect to this one, directly or not."""
    found: set[str] = set()
    left = [_spelled(target)]
    while left:
        steps = set(_steps_to(left.pop())) - found
        found |= steps
        left += steps
    return frozenset(found)


def _steps_to(target: str) -> Iterator[str]:
    # Backwards: matching `to` gives the text of the `*`, which then completes `from`.
    for move in _known_moves():
        for pattern in move.targets:
            part = _part(pattern, target)
            if part is not None:
                yield move.source.replace("*", part)


def _part(pattern: str, text: str) -> str | None:
    """Return the text that the `*` of a pattern matches, or None if the pattern does not match."""
    start, star, end = pattern.partition("*")
    if not star:
        return "" if text == pattern else None
    part = text.removeprefix(start).removesuffix(end)
    return part if "/" not in part and text == start + part + end else None


def _spelled(source: Source) -> str:
    return f"docker.io/{source.repository}" if source.registry in DOCKER_HUB else str(source)


IF_SUCCESSOR = "if one of them is the other's successor"
# For a family in more organisations than this, no direction can be guessed.
_MOST_PLACES = 5


def suggest_moves(resolution: Resolution, groups: Iterable[Collection[Source]]) -> dict[Source, Move]:
    """Return moves that leave one package of each group and kind."""
    left_behind: dict[Source, set[Source]] = defaultdict(set)
    for group in groups:
        for old, new in _directions(resolution, group):
            left_behind[old].add(new)
    moves = [
        Move(old, _targets(resolution, old, successors)) for old, successors in sorted(left_behind.items())
    ]
    return add_moves({}, [*_family_moves(resolution, moves), *moves])


def suggest_family_moves(resolution: Resolution, places: Collection[Sequence[Source]]) -> dict[Source, Move]:
    """Return moves of a family's members to its newest organisation, if that is clear."""
    newest = _newest(resolution, places) if len(places) <= _MOST_PLACES else None
    if newest is None:
        return {}
    members = [member for place in places if place != newest for member in place]
    return add_moves({}, [Move(member, (_beside(newest[0], member),)) for member in members])


def format_offer(
    resolution: Resolution, moves: Mapping[Source, Move], installed: Collection[Source], condition: str
) -> list[str]:
    """Return advice under a condition: the `moves` lines to paste, and the roots to change."""
    if not moves:
        return []
    # `lock` refuses a move of a source that is neither installed nor required.
    known = _named_after(resolution, moves).union(installed)
    declared = [move for move in moves.values() if move.source in known]
    lines = [f"{condition}, add to xplock.yaml:", *format_moves(declared)] if declared else [f"{condition}:"]
    asked = {root.source for root in resolution.roots}
    return lines + [
        f"  {_asked_instead(root, moves[root.source].targets, asked)}"
        for root in resolution.roots
        if root.source in moves
    ]


def namesakes(resolution: Resolution, names: Mapping[Source, str]) -> dict[tuple[Kind, str], list[Source]]:
    """Return the packages that have the same kind and object name, by these."""
    groups: dict[tuple[Kind, str], list[Source]] = defaultdict(list)
    for source, chosen in resolution.packages.items():
        groups[chosen.kind, names[source]].append(source)
    return {key: sources for key, sources in sorted(groups.items()) if len(sources) > 1}


def older_first(resolution: Resolution, one: Source, other: Source) -> tuple[Source, Source]:
    """Return the older source first: by known moves, otherwise the one with the lower version."""
    known = known_direction(one, other)
    if known:
        return known
    versions = [resolution.packages[source].candidate.version for source in (one, other)]
    if versions[0] and versions[1] and versions[1] < versions[0]:
        return other, one
    return one, other


def _directions(resolution: Resolution, group: Collection[Source]) -> Iterator[tuple[Source, Source]]:
    """Yield each older package of a group with the newest one of its kind."""
    kinds: dict[Kind, list[Source]] = defaultdict(list)
    for source in sorted(group):
        kinds[resolution.packages[source].kind].append(source)
    for sources in kinds.values():
        newest = reduce(lambda one, other: older_first(resolution, one, other)[1], sources)
        yield from ((source, newest) for source in sources if source != newest)


def _targets(resolution: Resolution, old: Source, successors: Collection[Source]) -> tuple[Source, ...]:
    if any(known_direction(old, new) == (old, new) for new in successors):
        kind = resolution.packages[old].kind
        return known_targets(old, [s for s, chosen in resolution.packages.items() if chosen.kind is kind])
    return tuple(sorted(successors))


def _family_moves(resolution: Resolution, moves: Iterable[Move]) -> Iterator[Move]:
    """Yield moves for all members that have a counterpart in the new organisation: a family moves together."""
    families: dict[tuple[str, str, str], list[Source]] = defaultdict(list)
    for source, chosen in resolution.packages.items():
        if family := chosen.package.metadata.family:
            families[family, source.registry, source.parent].append(source)
    for move in moves:
        family = resolution.packages[move.source].package.metadata.family or ""
        # Removed, since the first member that moves decides for the others.
        for member in families.pop((family, move.source.registry, move.source.parent), ()):
            there = _beside(move.targets[0], member)
            if there in resolution.packages or _is_known_to_move(member, there):
                yield Move(member, (there,))


def _newest(resolution: Resolution, places: Collection[Sequence[Source]]) -> Sequence[Source] | None:
    for place in places:
        others = [other for other in places if other != place]
        if all(_is_older(resolution, other, place) for other in others):
            return place
    return None


def _is_older(resolution: Resolution, ones: Sequence[Source], others: Sequence[Source]) -> bool:
    if any(_is_known_to_move(one, others[0]) for one in ones):
        return True
    if any(_is_known_to_move(other, ones[0]) for other in others):
        return False
    # The members of a family are released together, so their versions can be compared.
    highest, other_highest = _highest(resolution, ones), _highest(resolution, others)
    return highest is not None and other_highest is not None and highest < other_highest


def _is_known_to_move(member: Source, neighbour: Source) -> bool:
    there = _beside(neighbour, member)
    return known_direction(member, there) == (member, there)


def _highest(resolution: Resolution, members: Iterable[Source]) -> Version | None:
    versions = [resolution.packages[member].candidate.version for member in members]
    return max((version for version in versions if version), default=None)


def _beside(neighbour: Source, member: Source) -> Source:
    return PartialSource(member.name).complete(neighbour)


def _asked_instead(root: Root, targets: Sequence[Source], asked: Collection[Source]) -> str:
    others = " and ".join(str(target) for target in targets if target not in asked)
    return f"{f'ask for {others} instead of' if others else 'no longer ask for'} {root.source} ({root.place})"


def _named_after(resolution: Resolution, moves: Mapping[Source, Move]) -> set[Source]:
    """Return the sources that packages still name after these moves; replaced packages no longer count."""
    named: set[Source] = set()
    reached: set[Source] = set()
    left = [target for root in resolution.roots for target in _ends(root.source, moves)]
    while left:
        source = left.pop()
        if source not in reached and source in resolution.packages:
            reached.add(source)
            needs = [edge.source for edge in resolution.packages[source].dependencies]
            named.update(needs)
            left += [target for need in needs for target in _ends(need, moves)]
    return named


def _ends(source: Source, moves: Mapping[Source, Move]) -> tuple[Source, ...]:
    return moves[source].targets if source in moves else (source,)
