"""What a picture shows: nodes, edges, states and changes."""

import json
from dataclasses import replace

from hypothesis import given
from rig.builders.locks import deactivated, digest, lock, package, provided, replaced, source
from rig.builders.random_locks import any_locks

from render.definitions.model import Comparison, Finding, NotCompared
from render.definitions.rules import Risk
from render.lock.model import Lock, State
from render.views.graph.make import make_graph
from render.views.graph.model import Change, Graph, Life, Node, graph_document
from render.views.graph.picture import format_svg
from render.views.graph.safety import with_findings


def node(graph: Graph, ending: str) -> Node:
    """Return the package whose source ends so."""
    (found,) = [one for one in graph.nodes if one.key.endswith(f"/{ending}")]
    return found


def test_every_package_is_a_node_and_every_dependency_an_edge() -> None:
    graph = make_graph(lock([package("app v1.0.0", "base"), package("base v1.2.0")]))

    assert [(one.label, one.version) for one in graph.nodes] == [("app", "v1.0.0"), ("base", "v1.2.0")]
    assert [(edge.start.rpartition("/")[2], edge.end.rpartition("/")[2]) for edge in graph.edges] == [
        ("app", "base")
    ]


def test_a_label_is_the_shortest_ending_that_no_other_source_has() -> None:
    graph = make_graph(lock([package("acme/net v1.0.0"), package("labs/net v1.0.0"), package("base v1.0.0")]))

    assert sorted(one.label for one in graph.nodes) == ["acme/net", "base", "labs/net"]


def test_the_most_important_state_is_shown() -> None:
    graph = make_graph(
        lock(
            [
                package("new v1.0.0", replaces=(replaced("old"),)),
                package("lost v1.0.0", state=State.ORPHANED, detached=("a reason",)),
                package("loose v1.0.0", detached=("a reason",)),
            ],
            deactivated=[deactivated("old v0.9.0", "new")],
            provided=[provided("theirs v1.0.0")],
        )
    )

    assert {one.label: one.life for one in graph.nodes} == {
        "new": Life.ATTACHED,
        "lost": Life.ORPHANED,
        "loose": Life.DETACHED,
        "old": Life.DEACTIVATED,
        "theirs": Life.PROVIDED,
    }


def test_a_replaced_package_hangs_on_its_successor() -> None:
    graph = make_graph(
        lock(
            [package("new v1.0.0", replaces=(replaced("old"),))],
            deactivated=[deactivated("old v0.9.0", "new")],
        )
    )

    (edge,) = graph.edges
    assert (edge.start.rpartition("/")[2], edge.end.rpartition("/")[2], edge.replaces) == ("new", "old", True)


def test_two_locks_say_what_happened_to_every_package() -> None:
    kept = package("kept v1.0.0")
    before = lock([kept, package("up v1.0.0"), package("gone v1.0.0"), package("other v1.0.0")])
    moved = replace(package("other v1.0.0"), detached=("a reason",))
    after = lock([kept, package("up v1.1.0"), moved, package("new v1.0.0")])

    graph = make_graph(after, before)

    assert {one.label: one.change for one in graph.nodes} == {
        "kept": None,
        "up": Change.UPDATED,
        "gone": Change.REMOVED,
        "other": Change.CHANGED,
        "new": Change.ADDED,
    }
    assert (node(graph, "up").before, node(graph, "up").step) == ("v1.0.0", "minor")


def test_other_bytes_of_one_version_are_an_update() -> None:
    before = lock([package("up v1.0.0")])
    after = lock([package("up v1.0.0", digest=digest("beef"))])

    up = node(make_graph(after, before), "up")

    assert (up.change, up.step) == (Change.UPDATED, "same version, other digest")


def test_an_object_with_another_source_has_moved() -> None:
    before = lock([package("app v1.0.0", "store"), package("store v1.1.0")])
    alias = replace(
        package("storage v2.0.0", replaces=(replaced("store", "alias"),)),
        object_name=before.packages[source("store")].object_name,
        installed_as=source("store"),
    )

    graph = make_graph(lock([package("app v1.0.0", "store"), alias]), before)

    assert [one.label for one in graph.nodes] == ["app", "storage"]
    moved = node(graph, "storage")
    assert (moved.change, moved.before, moved.step) == (Change.MOVED, "v1.1.0", None)
    assert (moved.moved_from, moved.strategy) == (str(source("store")), "alias")
    assert [(edge.end, edge.change) for edge in graph.edges] == [(moved.key, None)]


def test_dependencies_that_came_and_went_are_edges() -> None:
    before = lock([package("app v1.0.0", "old", "kept"), package("old v1.0.0"), package("kept v1.0.0")])
    after = lock([package("app v2.0.0", "new", "kept"), package("new v1.0.0"), package("kept v1.0.0")])

    found = {edge.end.rpartition("/")[2]: edge.change for edge in make_graph(after, before).edges}

    assert found == {"new": Change.ADDED, "kept": None, "old": Change.REMOVED}


def test_what_happens_to_definitions_is_told_at_their_package() -> None:
    before, after = lock([package("net v1.0.0")]), lock([package("net v2.0.0")])
    name = "nets.example.org"
    lost = Finding(
        "field-gone",
        Risk.LOST,
        name,
        "CustomResourceDefinition",
        "v1",
        ".spec.old",
        package=str(source("net")),
    )
    note = replace(lost, rule="field-added", risk=Risk.NOTE, path=".spec.new")
    unknown = NotCompared(str(source("dns")), "v1.0.0", "it is not cached")

    graph = with_findings(make_graph(after, before), Comparison((lost, note), (unknown,)))

    net = node(graph, "net")
    assert net.risk == "lost"
    assert (
        len(net.findings) == 2 and net.findings[0].startswith("lost field-gone: ") and name in net.findings[0]
    )
    assert graph.not_compared == (f"{source('dns')} v1.0.0: it is not cached",)
    assert 'class="words"' in format_svg(graph) and "major, lost" in format_svg(graph)


def test_no_text_hides_anything() -> None:
    odd = "\x1b[31m\u202e"
    made = package("app v1.0.0", object_name=odd, root=odd, detached=(odd,), objects={odd: 1})

    document = json.dumps(graph_document(make_graph(lock([made]))), ensure_ascii=False)

    assert "\x1b" not in document and "\\u001b" not in document and "\u202e" not in document


@given(any_locks(), any_locks())
def test_any_two_locks_can_be_drawn(before: Lock, after: Lock) -> None:
    graph = make_graph(after, before)

    keys = [one.key for one in graph.nodes]
    assert keys == sorted(set(keys))
    assert {end for edge in graph.edges for end in (edge.start, edge.end)} <= set(keys)
    assert set(make_graph(after, after).changes) <= {None}
    assert graph_document(graph) == graph_document(make_graph(after, before))
