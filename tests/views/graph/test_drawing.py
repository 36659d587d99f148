"""Drawings of any lock: well-formed, without overlaps, the same bytes each time."""

import shutil
import subprocess
from itertools import combinations
from xml.etree import ElementTree

from hypothesis import given
from rig.builders.locks import lock, package
from rig.builders.random_locks import any_locks

from render.lock.model import Lock
from render.views.graph.languages import format_dot, format_mermaid
from render.views.graph.layout import HEIGHT, WIDTH, lay_out
from render.views.graph.make import make_graph
from render.views.graph.picture import format_svg


@given(any_locks())
def test_no_two_packages_overlap(one: Lock) -> None:
    layout = lay_out(make_graph(one))

    for (x1, y1), (x2, y2) in combinations(layout.corners.values(), 2):
        assert abs(x1 - x2) >= WIDTH or abs(y1 - y2) >= HEIGHT
    for x, y in layout.corners.values():
        assert 0 <= x <= layout.width - WIDTH and 0 <= y <= layout.height - HEIGHT


def test_what_a_package_needs_is_below_it() -> None:
    graph = make_graph(
        lock([package("app v1.0.0", "base", "net"), package("base v1.0.0", "net"), package("net v1.0.0")])
    )

    corners = lay_out(graph).corners
    assert all(corners[edge.start][1] < corners[edge.end][1] for edge in graph.edges)


def test_a_wide_layer_continues_below() -> None:
    packages = [package(f"p{i} v1.0.0") for i in range(100)]

    layout = lay_out(make_graph(lock(packages)))

    assert layout.width < 20 * WIDTH
    assert len({y for _, y in layout.corners.values()}) > 1


@given(any_locks())
def test_no_line_goes_through_a_package(one: Lock) -> None:
    graph = make_graph(one)

    layout = lay_out(graph)

    for edge in graph.edges:
        for x, y in layout.between(edge.start, edge.end):
            row = [left for left, top in layout.corners.values() if top == y]
            assert all(x < left or x > left + WIDTH for left in row)
            assert 0 <= x <= layout.width


def test_a_long_line_goes_around_what_is_between() -> None:
    graph = make_graph(
        lock([package("app v1.0.0", "base", "net"), package("base v1.0.0", "net"), package("net v1.0.0")])
    )
    layout = lay_out(graph)
    names = {node.label: node.key for node in graph.nodes}

    (way,) = layout.between(names["app"], names["net"])

    assert way[1] == layout.corners[names["base"]][1]
    assert layout.between(names["app"], names["base"]) == []


def test_a_row_is_as_narrow_as_it_can_be() -> None:
    chain = [
        package(f"p{i} v1.0.0", *[f"p{i + step}" for step in (1, 2) if i + step < 60]) for i in range(60)
    ]

    assert lay_out(make_graph(lock(chain))).width < 2 * WIDTH


def test_a_cycle_is_drawn_all_the_same() -> None:
    graph = make_graph(lock([package("a v1.0.0", "b"), package("b v1.0.0", "a"), package("c v1.0.0", "c")]))

    assert len({y for _, y in lay_out(graph).corners.values()}) == 2
    assert format_svg(graph).count('class="node ') == 3


@given(any_locks())
def test_a_drawing_is_well_formed_and_always_the_same(one: Lock) -> None:
    graph = make_graph(one)

    text = format_svg(graph)

    assert len(ElementTree.fromstring(text).findall(".//{*}g[@data-key]")) == len(graph.nodes)
    assert text == format_svg(make_graph(one))


def test_mermaid_reads_no_markup_in_names() -> None:
    graph = make_graph(lock([package("app v1.0.0", detached=("]",), root='a"b')]))

    text = format_mermaid(graph)

    assert text.splitlines()[:2] == ["flowchart TD", '  p0["app<br>Provider v1.0.0<br>detached"]']


def test_mermaid_codes_what_it_would_take_for_its_own() -> None:
    graph = make_graph(lock([package("app v1.0.0", "base"), package("base v1.0.0")]))
    hostile = graph.edges[0].__class__(graph.edges[0].start, graph.edges[0].end, 'x"]; click p0 "<a>')

    text = format_mermaid(graph.__class__(graph.nodes, (hostile,)))

    assert '  p0 -->|"x#34;#93;#59; click p0 #34;#60;a#62;"| p1' in text.splitlines()


def test_graphviz_reads_every_drawing() -> None:
    dot = shutil.which("dot")
    assert dot, "install the Debian package graphviz: make tools"
    graph = make_graph(lock([package("app v1.0.0", "base"), package("base v1.0.0", detached=('a"\\b',))]))

    done = subprocess.run([dot, "-Tplain"], input=format_dot(graph).encode(), capture_output=True, timeout=60)

    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.count(b"\nnode ") == 2
