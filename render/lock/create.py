"""Resolution → Lock."""

from collections.abc import Mapping, Sequence

from render.lock.model import Lock, LockedDependency, LockedPackage
from render.packages import count_kinds, digest_objects
from render.references import Source
from render.resolve.model import Edge, Resolution


def create_lock(resolution: Resolution, names: Mapping[Source, str], record: Mapping[str, str]) -> Lock:
    """Write down what was decided, with everything that rendering will need."""
    packages = {
        source: _lock_package(resolution, source, names[source]) for source in sorted(resolution.packages)
    }
    return Lock(packages, dict(sorted(record.items())))


def _lock_package(resolution: Resolution, source: Source, name: str) -> LockedPackage:
    chosen, edges = resolution.packages[source], resolution.edges_to(source)
    root = next((root for root in resolution.roots if root.source == source), None)
    metadata = chosen.package.metadata
    tag = chosen.candidate.tag
    by_digest = tag is None or any(edge.request.digest and not edge.request.tag for edge in edges)
    return LockedPackage(
        source=source,
        version=chosen.package.digest if by_digest else str(tag),
        digest=chosen.package.digest,
        kind=chosen.kind,
        object_name=name,
        dependencies=lock_dependencies(chosen.dependencies),
        required_by=tuple(sorted({str(edge.dependant) for edge in edges if edge.dependant})),
        root=str(root.request) if root else None,
        tag=tag if by_digest else None,
        objects=count_kinds(chosen.package.objects),
        objects_digest=digest_objects(chosen.package.objects),
        family=metadata.family,
        crossplane=metadata.crossplane.text if metadata.crossplane else None,
        fields=root.fields if root else {},
    )


def lock_dependencies(edges: Sequence[Edge]) -> tuple[LockedDependency, ...]:
    """Return a package's dependencies as the lock holds them."""
    return tuple(_lock_dependency(edge) for edge in edges)


def _lock_dependency(edge: Edge) -> LockedDependency:
    dependency = edge.dependency
    if dependency is None:
        raise AssertionError("a package's own dependencies come from its metadata")
    # A name that was completed is written in full; every other one as the package has it, since Crossplane
    # compares the text.
    package = str(edge.source) if edge.completed else dependency.package
    return LockedDependency(package, dependency.constraint.text, dependency.kind, dependency.api_version)
