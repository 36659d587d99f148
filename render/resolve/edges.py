"""Package → what it depends on, with missing registries filled in."""

from render.errors import RenderError
from render.packages import Dependency, Package
from render.references import Source
from render.resolve.model import Edge
from render.roots import Request


class RefusedPartial(RenderError):
    """A dependency without a registry, where those are not to be completed."""


def dependency_edges(dependant: Source, package: Package, *, complete: bool) -> tuple[Edge, ...]:
    """Return what a package depends on."""
    return tuple(
        _edge(dependant, dependency, complete=complete) for dependency in package.metadata.dependencies
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
