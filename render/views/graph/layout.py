"""Where each package of a picture is: dependants above, what they need below, with few edges that cross."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from render.views.graph.model import Graph

WIDTH, HEIGHT = 200, 46
_GAP_X, _GAP_Y = 24, 70
_MARGIN = 20
# A layer with more packages continues in a row below, so that a page stays readable.
_MOST_IN_ROW = 14
_ROW_GAP = 16
_SWEEPS = 4


@dataclass(frozen=True, slots=True)
class Layout:
    """The left upper corner of every package, by its key, and the size of the whole picture."""

    corners: Mapping[str, tuple[int, int]]
    width: int
    height: int


def lay_out(graph: Graph) -> Layout:
    """Place every package one layer below the lowest of its dependants."""
    below, above = _neighbours(graph)
    layers = _order(_layers([node.key for node in graph.nodes], below), below, above)
    rows = [list(row) for layer in layers for row in _wrap(layer)]
    firsts = {layer[0] for layer in layers}
    widest = max((len(row) for row in rows), default=0)
    width = 2 * _MARGIN + max(widest * (WIDTH + _GAP_X) - _GAP_X, 0)
    corners: dict[str, tuple[int, int]] = {}
    y = _MARGIN
    for i, row in enumerate(rows):
        if i:
            y += HEIGHT + (_GAP_Y if row[0] in firsts else _ROW_GAP)
        left = (width - (len(row) * (WIDTH + _GAP_X) - _GAP_X)) // 2
        corners |= {key: (left + j * (WIDTH + _GAP_X), y) for j, key in enumerate(row)}
    return Layout(corners, width, y + HEIGHT + _MARGIN)


def _neighbours(graph: Graph) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    below: dict[str, list[str]] = {node.key: [] for node in graph.nodes}
    above: dict[str, list[str]] = {node.key: [] for node in graph.nodes}
    for edge in graph.edges:
        if edge.start != edge.end:
            below[edge.start].append(edge.end)
            above[edge.end].append(edge.start)
    return below, above


def _layers(keys: Sequence[str], below: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Return the keys by their longest way from a package that nothing depends on; a circle ends in the last layer."""
    missing = dict.fromkeys(keys, 0)
    for key in keys:
        for target in below[key]:
            missing[target] += 1
    layers, ready = [], [key for key in keys if not missing[key]]
    while ready:
        layers.append(sorted(ready))
        following = []
        for target in (target for key in ready for target in below[key]):
            missing[target] -= 1
            if not missing[target]:
                following.append(target)
        ready = following
    placed = {key for layer in layers for key in layer}
    left = sorted(set(keys) - placed)
    return [*layers, left] if left else layers


def _order(
    layers: list[list[str]], below: Mapping[str, Sequence[str]], above: Mapping[str, Sequence[str]]
) -> list[list[str]]:
    """Sort each layer by where the neighbours of its packages are, downwards and upwards in turns."""
    place = {key: i / max(len(layer) - 1, 1) for layer in layers for i, key in enumerate(layer)}
    for sweep in range(_SWEEPS):
        neighbours = below if sweep % 2 else above
        for layer in reversed(layers) if sweep % 2 else layers:
            layer.sort(key=lambda key: (_middle(neighbours[key], place, place[key]), key))
            place |= {key: i / max(len(layer) - 1, 1) for i, key in enumerate(layer)}
    return layers


def _middle(keys: Sequence[str], place: Mapping[str, float], own: float) -> float:
    return round(sum(place[key] for key in keys) / len(keys), 6) if keys else own


def _wrap(layer: Sequence[str]) -> list[Sequence[str]]:
    return [layer[i : i + _MOST_IN_ROW] for i in range(0, len(layer), _MOST_IN_ROW)]
