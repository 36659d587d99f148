"""A picture as SVG, and as a page of one file that needs no network: text from outside is only ever a value."""

import hashlib
import json
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files

from render.definitions.rules import Risk
from render.texts import visible
from render.views.graph.layout import HEIGHT, WIDTH, Layout, lay_out
from render.views.graph.model import UNCHANGED, Change, Edge, Graph, Life, Node, graph_document
from render.views.templating import fill_template

_TEMPLATES = files("render.views") / "templates" / "graph"
# How many characters of a name fit into a box as they are, and how many if they are set closer.
_FIT, _SQUEEZED = 29, 36
# How many characters fit into the line with the version.
_SECOND_LINE = 30
# JSON inside of a script element must not end it, nor open a comment.
_IN_SCRIPT = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})


@dataclass(frozen=True, slots=True)
class Box:
    """A package in the picture."""

    node: Node
    x: int
    y: int
    title: str
    is_squeezed: bool
    version: str
    # What happened to it, and its state, in a word or two.
    words: str
    # What a screen reader says of it, and what the mouse shows.
    spoken: str
    told: str


@dataclass(frozen=True, slots=True)
class Line:
    """An edge in the picture, as the path of a curve."""

    edge: Edge
    path: str

    @property
    def classes(self) -> str:
        """The classes that its look depends on."""
        change = [self.edge.change.value] if self.edge.change else []
        return " ".join([*(["replaces"] if self.edge.replaces else []), *change])


def format_svg(graph: Graph) -> str:
    """Write a picture as SVG, with colours for light and dark."""
    return _fill("picture.svg.j2", graph, standalone=True)


def format_page(graph: Graph, title: str) -> str:
    """Write a picture as a page to search, filter and click through."""
    script, style = _read("page.js"), _read("page.css")
    data = json.dumps(graph_document(graph), ensure_ascii=False, sort_keys=True).translate(_IN_SCRIPT)
    return fill_template(
        "graph/page.html.j2",
        title=visible(title),
        filters=_filters(graph),
        picture=_fill("picture.svg.j2", graph, standalone=False),
        data=data,
        script=script,
        style=style,
        # The page may run this script and no other one, whatever a package is called.
        script_hash=_hash(script),
        picture_style=_read("picture.css"),
    )


def _filters(graph: Graph) -> list[tuple[str, list[str]]]:
    """Return what the packages of a page are filtered by, and the values; one value alone needs no filter."""
    changes = [change.value if change else UNCHANGED for change in graph.changes]
    found = [("kind", graph.kinds), ("state", [life.value for life in graph.lives]), ("change", changes)]
    return [(name, words) for name, words in found if len(words) > 1]


def _fill(name: str, graph: Graph, *, standalone: bool) -> str:
    layout = lay_out(graph)
    return fill_template(
        f"graph/{name}",
        standalone=standalone,
        boxes=[_box(node, layout) for node in graph.nodes],
        lines=[Line(edge, _path(edge, layout)) for edge in _in_sight(graph.edges)],
        style=_read("picture.css"),
        size=layout,
        box_width=WIDTH,
        box_height=HEIGHT,
    )


def _in_sight(edges: Iterable[Edge]) -> list[Edge]:
    """Return the edges that are drawn, the new ones last: lines to one package lie above each other."""
    order = [Change.REMOVED, None, Change.ADDED]
    return sorted(
        (edge for edge in edges if edge.start != edge.end), key=lambda edge: order.index(edge.change)
    )


def _box(node: Node, layout: Layout) -> Box:
    x, y = layout.corners[node.key]
    version = f"{node.before} → {node.version}" if node.has_other_version else node.version
    change = [node.step or node.change.value] if node.change else []
    state = [] if node.life is Life.ATTACHED else [node.life.value]
    risk = [node.risk] if node.risk not in (None, Risk.NOTE.value) else []
    words = ", ".join([*change, *state, *risk])
    if node.before and len(version) + len(words) > _SECOND_LINE:
        version = f"→ {node.version}"
    return Box(
        node,
        x,
        y,
        _cut_front(node.label),
        len(node.label) > _FIT,
        _cut(version, _SECOND_LINE - len(words)),
        words,
        ", ".join([node.label, node.kind, version, *node.marks, *change, *risk]),
        "\n".join(_told(node)),
    )


def _told(node: Node) -> list[str]:
    """Return the lines that the mouse shows."""
    version = f"{node.before} → {node.version}" if node.has_other_version else node.version
    installs = [f"installs {count:,} {kind}" for kind, count in (node.objects or {}).items()]
    return [
        f"{node.key} {version}",
        node.digest,
        ", ".join([node.kind, *node.marks]),
        *node.detached,
        *installs,
    ]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _cut_front(text: str) -> str:
    # The end of a source says most.
    return text if len(text) <= _SQUEEZED else f"…{text[1 - _SQUEEZED :]}"


def _path(edge: Edge, layout: Layout) -> str:
    (x1, y1), (x2, y2) = layout.corners[edge.start], layout.corners[edge.end]
    x1, y1 = x1 + WIDTH // 2, y1 + HEIGHT
    parts = [f"M{x1} {y1}"]
    for x, y in layout.between(edge.start, edge.end):
        parts.append(f"{_curve(x1, y1, x, y)}V{y + HEIGHT}")
        x1, y1 = x, y + HEIGHT
    return "".join([*parts, _curve(x1, y1, x2 + WIDTH // 2, y2)])


def _curve(x1: int, y1: int, x2: int, y2: int) -> str:
    bend = max((y2 - y1) // 2, 24)
    return f"C{x1} {y1 + bend} {x2} {y2 - bend} {x2} {y2}"


def _hash(script: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def _read(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")
