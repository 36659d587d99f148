"""A picture as SVG, and as a page of one file that needs no network: text from outside is only ever a value."""

import hashlib
import json
from base64 import b64encode
from dataclasses import dataclass
from importlib.resources import files

from render.views.graph.layout import HEIGHT, WIDTH, Layout, lay_out
from render.views.graph.model import Edge, Graph, Node, graph_document
from render.views.templating import fill_template

_TEMPLATES = files("render.views") / "templates" / "graph"
# How many characters fit into a box.
_SHOWN = 29
# JSON inside of a script element must not end it, nor open a comment.
_IN_SCRIPT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


@dataclass(frozen=True, slots=True)
class Box:
    """A package in the picture."""

    node: Node
    x: int
    y: int
    title: str
    version: str
    # What a screen reader says of it.
    spoken: str


@dataclass(frozen=True, slots=True)
class Line:
    """An edge in the picture, as the path of a curve."""

    edge: Edge
    path: str


def format_svg(graph: Graph) -> str:
    """Write a picture as SVG, with colours for light and dark."""
    return _fill("picture.svg.j2", graph, standalone=True)


def format_page(graph: Graph, title: str) -> str:
    """Write a picture as a page to search, filter and click through."""
    script, style = _read("page.js"), _read("page.css")
    document = json.dumps(graph_document(graph), ensure_ascii=False, sort_keys=True)
    data = "".join(_IN_SCRIPT.get(character, character) for character in document)
    return fill_template(
        "graph/page.html.j2",
        title=title,
        graph=graph,
        picture=_fill("picture.svg.j2", graph, standalone=False),
        data=data,
        script=script,
        style=style,
        # The page may run this script and no other one, whatever a package is called.
        script_hash=_hash(script),
        picture_style=_read("picture.css"),
    )


def _fill(name: str, graph: Graph, *, standalone: bool) -> str:
    layout = lay_out(graph)
    return fill_template(
        f"graph/{name}",
        standalone=standalone,
        boxes=[_box(node, layout) for node in graph.nodes],
        lines=[Line(edge, _path(edge, layout)) for edge in graph.edges if edge.start != edge.end],
        style=_read("picture.css"),
        size=layout,
        box_width=WIDTH,
        box_height=HEIGHT,
    )


def _box(node: Node, layout: Layout) -> Box:
    x, y = layout.corners[node.key]
    version = f"{node.before} → {node.version}" if node.before and node.step else node.version
    spoken = ", ".join(
        [node.label, str(node.kind), version, *node.marks, *([node.change.value] if node.change else [])]
    )
    return Box(node, x, y, _cut_front(node.label), _cut(version), spoken)


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _cut_front(text: str) -> str:
    # The end of a source says most.
    return text if len(text) <= _SHOWN else f"…{text[1 - _SHOWN :]}"


def _path(edge: Edge, layout: Layout) -> str:
    (x1, y1), (x2, y2) = layout.corners[edge.start], layout.corners[edge.end]
    x1, y1, x2 = x1 + WIDTH // 2, y1 + HEIGHT, x2 + WIDTH // 2
    bend = max((y2 - y1) // 2, 24)
    return f"M{x1} {y1}C{x1} {y1 + bend} {x2} {y2 - bend} {x2} {y2}"


def _hash(script: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def _read(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")
