"""Package → edges to its dependencies, with missing registries completed and moves applied."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from render.errors import RenderError
from render.packages import Dependency, Package
from render.references import Source
from render.resolve.model import Edge
from render.versions.requests import Request

_NO_MOVES: Mapping[Source, tuple[Source, ...]] = MappingProxyType({})


class RefusedPartial(RenderError):
    """A dependency without a registry, while partialDependencies is `refuse`."""


def dependency_edges(
    dependant: Source,
    package: Package,
    *,
    complete: bool,
    moves: Mapping[Source, tuple[Source, ...]] = _NO_MOVES,
) -> tuple[Edge, ...]:
    """Return the dependencies of a package; a replaced source becomes an edge to each of its replacements."""
    edges = [_edge(dependant, dependency, complete=complete) for dependency in package.metadata.dependencies]
    return tuple(
        replace(edge, source=source, instead_of=edge.source) if source != edge.source else edge
        for edge in edges
        for source in moves.get(edge.source, (edge.source,))
    )


def _edge(dependant: Source, dependency: Dependency, *, complete: bool) -> Edge:
    source, request = dependency.source, Request.of(dependency.constraint)
    if isinstance(source, Source):
        return Edge(source, request, dependant, dependency=dependency)
    if not complete:
        raise RefusedPartial(
            f"{dependant} depends on {dependency.package!r}, which names no registry",
            why="partialDependencies is set to refuse",
            next="ask its maintainers to write the full name, or set partialDependencies: complete",
        )
    return Edge(source.complete(dependant), request, dependant, dependency=dependency, completed=True)
