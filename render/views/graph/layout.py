"""Where each package of a picture is: dependants above, what they need below, and lines that go around packages."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import isqrt
from typing import NamedTuple

from render.views.graph.layers import find_layers
from render.views.graph.model import Graph

WIDTH, HEIGHT = 220, 46
_GAP_X, _GAP_Y = 24, 64
_MARGIN = 20
# A layer with more packages than a row holds continues in a row below, so that a page stays readable.
_FEWEST_IN_ROW, _MOST_IN_ROW = 5, 14
_ROW_GAP = 34
# How far a line between two packages is from them, and from the next line.
_WAY_GAP, _LINE_GAP = 18, 12
_SWEEPS = 8
# In larger pictures, where there are too many lines to follow, each goes straight to its package, behind others.
_MOST_WAYS = 10_000


class Way(NamedTuple):
    """The place in a row where all lines to one package go through."""

    target: str
    row: int


Item = str | Way
Point = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Layout:
    """The left upper corner of every package, by its key, and the size of the whole picture."""

    corners: Mapping[str, Point]
    # Where the lines to a package go through the rows above it: the middle of the way, and the top of the row.
    ways: Mapping[Way, Point]
    # The row of every package.
    rows: Mapping[str, int]
    width: int
    height: int

    def between(self, start: str, end: str) -> list[Point]:
        """Return the places that a line goes through on its way from one package to another."""
        rows = range(self.rows[start] + 1, self.rows[end])
        return [self.ways[Way(end, row)] for row in rows if Way(end, row) in self.ways]


def lay_out(graph: Graph) -> Layout:
    """Place every package in a layer below the lowest of its dependants."""
    below, above = _neighbours(graph)
    layers = _order(find_layers([node.key for node in graph.nodes], below), below, above)
    most = min(max(isqrt(len(graph.nodes)), _FEWEST_IN_ROW), _MOST_IN_ROW)
    packages = [list(layer[i : i + most]) for layer in layers for i in range(0, len(layer), most)]
    firsts = {layer[0] for layer in layers}
    tops = list(_tops([row[0] in firsts for row in packages]))
    row_of = {key: i for i, row in enumerate(packages) for key in row}
    ways = _ways(graph, row_of)
    rows = [[*row, *ways.get(i, ())] for i, row in enumerate(packages)]
    middles = _place(rows, *_steps(graph, row_of, ways))
    left = min((middles[key] - WIDTH / 2 for key in row_of), default=0) - _MARGIN
    right = max((middles[key] + WIDTH / 2 for key in row_of), default=0) + _MARGIN
    for item, middle in middles.items():
        if isinstance(item, Way):
            left, right = min(left, middle - _MARGIN), max(right, middle + _MARGIN)
    return Layout(
        {key: (round(middles[key] - WIDTH / 2 - left), tops[row]) for key, row in row_of.items()},
        {way: (round(middles[way] - left), tops[way.row]) for row in ways.values() for way in row},
        row_of,
        round(right - left) if row_of else 2 * _MARGIN,
        (tops[-1] if tops else 0) + HEIGHT + _MARGIN,
    )


def _neighbours(graph: Graph) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    below: dict[str, list[str]] = {node.key: [] for node in graph.nodes}
    above: dict[str, list[str]] = {node.key: [] for node in graph.nodes}
    for edge in graph.edges:
        if edge.start != edge.end:
            below[edge.start].append(edge.end)
            above[edge.end].append(edge.start)
    return below, above


def _order(
    layers: list[list[str]], below: Mapping[str, Sequence[str]], above: Mapping[str, Sequence[str]]
) -> list[list[str]]:
    """Sort each layer by where the neighbours of its packages are, downwards and upwards in turns."""
    place = {key: i / max(len(layer) - 1, 1) for layer in layers for i, key in enumerate(layer)}
    for sweep in range(_SWEEPS):
        neighbours = below if sweep % 2 else above
        for layer in reversed(layers) if sweep % 2 else layers:
            layer.sort(key=lambda key: (_mean(neighbours[key], place, place[key]), key))
            place |= {key: i / max(len(layer) - 1, 1) for i, key in enumerate(layer)}
    return layers


def _mean(items: Sequence[str], place: Mapping[str, float], own: float) -> float:
    return round(sum(place[item] for item in items) / len(items), 6) if items else own


def _tops(starts_layer: Sequence[bool]) -> Iterator[int]:
    y = _MARGIN
    for i, starts in enumerate(starts_layer):
        if i:
            y += HEIGHT + (_GAP_Y if starts else _ROW_GAP)
        yield y


def _ways(graph: Graph, row_of: Mapping[str, int]) -> dict[int, list[Way]]:
    """Return by row the ways through it: one for each package further below that something above needs."""
    first: dict[str, int] = {}
    count = 0
    for edge in graph.edges:
        start, end = row_of[edge.start], row_of[edge.end]
        if start < end:
            first[edge.end] = min(first.get(edge.end, end), start)
            count += end - start - 1
    if count > _MOST_WAYS:
        return {}
    found: dict[int, list[Way]] = {}
    for target, start in first.items():
        for row in range(start + 1, row_of[target]):
            found.setdefault(row, []).append(Way(target, row))
    return found


Steps = dict[Item, list[Item]]


def _steps(graph: Graph, row_of: Mapping[str, int], ways: Mapping[int, Sequence[Way]]) -> tuple[Steps, Steps]:
    """Return what each package and each way is joined with in the rows above, and in those below."""
    above: dict[Item, dict[Item, None]] = {}
    below: dict[Item, dict[Item, None]] = {}
    known = {way for row in ways.values() for way in row}
    for edge in graph.edges:
        before: Item = edge.start
        through = [Way(edge.end, row) for row in range(row_of[edge.start] + 1, row_of[edge.end])]
        stops: list[Item] = [*(way for way in through if way in known), edge.end]
        for item in stops:
            if item != before:
                below.setdefault(before, {})[item] = None
                above.setdefault(item, {})[before] = None
            before = item
    return {item: list(found) for item, found in above.items()}, {
        item: list(found) for item, found in below.items()
    }


def _place(rows: Sequence[list[Item]], above: Steps, below: Steps) -> dict[Item, float]:
    """Return the middle of everything: near to what it is joined with, in an order with few crossings."""
    middles: dict[Item, float] = {}
    # No row is wider than the one that needs most space.
    half = max((_offsets(row)[-1] for row in rows), default=0) / 2
    for row in rows:
        middles |= _spread(row, [0.0] * len(row), half)
    for sweep in range(_SWEEPS):
        is_upwards = sweep % 2 == 1
        joined = below if is_upwards else above
        for row in reversed(rows) if is_upwards else rows:
            wanted = {item: _middle(joined.get(item, ()), middles, middles[item]) for item in row}
            row.sort(key=lambda item: (wanted[item], str(item)))
            middles |= _spread(row, [wanted[item] for item in row], half)
    return middles


def _middle(items: Sequence[Item], middles: Mapping[Item, float], own: float) -> float:
    return round(sum(middles[item] for item in items) / len(items), 3) if items else own


def _spread(row: Sequence[Item], wanted: Sequence[float], half: float) -> dict[Item, float]:
    """Place a row in its order without overlaps, as near to the wanted places as can be.

    Least squares under an order: neighbours that would overlap become a block, which takes the mean of its places.
    """
    offsets = _offsets(row)
    blocks: list[tuple[float, int]] = []
    for place, offset in zip(wanted, offsets, strict=True):
        mean, count = place - offset, 1
        while blocks and blocks[-1][0] >= mean:
            other, size = blocks.pop()
            mean, count = (other * size + mean * count) / (size + count), size + count
        blocks.append((mean, count))
    starts = [min(max(mean, -half), half - offsets[-1]) for mean, count in blocks for _ in range(count)]
    return {item: start + offset for item, start, offset in zip(row, starts, offsets, strict=True)}


def _offsets(row: Sequence[Item]) -> list[float]:
    """Return how far the middle of each is from that of the first, without more space than they need."""
    return list(accumulate((_distance(*pair) for pair in pairwise(row)), initial=0.0))


def _distance(left: Item, right: Item) -> float:
    """Return how far the middles of two neighbours are from each other."""
    ways = isinstance(left, Way) + isinstance(right, Way)
    return (WIDTH + _GAP_X, WIDTH / 2 + _WAY_GAP, _LINE_GAP)[ways]
