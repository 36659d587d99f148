"""Edges to the dependencies of a package, with missing registries completed."""

import pytest
from rig.builders.catalogs import FakeCatalog, digest_of, named, written

from render.packages import Dependency
from render.references import Reference
from render.resolve.edges import RefusedPartial, dependency_edges
from render.resolve.model import Edge
from render.versions.requests import Request

APP = "h.example/acme/sub/app"


def edges_of(*dependencies: Dependency, complete: bool = True) -> tuple[Edge, ...]:
    catalog = FakeCatalog({f"{APP} v1.0.0": {str(i): wish for i, wish in enumerate(dependencies)}})
    package = catalog.package(Reference(named(APP), "v1.0.0"))
    return dependency_edges(named(APP), package, complete=complete)


def test_dependencies_keep_their_order_and_their_dependant() -> None:
    edges = edges_of(written("x.example/b/two", ">=1"), written("x.example/a/one"))

    assert [str(edge.source) for edge in edges] == ["x.example/b/two", "x.example/a/one"]
    assert {edge.dependant for edge in edges} == {named(APP)}
    assert [str(edge.request) for edge in edges] == [">=1", "*"]
    assert not any(edge.completed for edge in edges)


@pytest.mark.parametrize(
    ("text", "completed"),
    [
        ("crossplane-contrib/provider-x", "h.example/crossplane-contrib/provider-x"),
        ("provider-x", "h.example/acme/sub/provider-x"),
    ],
)
def test_a_missing_registry_is_that_of_the_immediate_dependant(text: str, completed: str) -> None:
    [edge] = edges_of(written(text))

    assert (str(edge.source), edge.completed) == (completed, True)


def test_a_missing_registry_is_refused_by_setting() -> None:
    with pytest.raises(RefusedPartial) as caught:
        edges_of(written("acme/provider-x"), complete=False)

    assert caught.value.exit_code == 1
    assert caught.value.what == f"{APP} depends on 'acme/provider-x', which names no registry"


def test_a_digest_constraint_is_a_digest_request() -> None:
    [edge] = edges_of(written("x.example/a/one", digest_of("bytes")))

    assert edge.request == Request(digest=digest_of("bytes"))
