"""Between the lock and the solver: a locked package as a candidate, and edges as locked dependencies."""

from collections.abc import Iterable

from render.lock.consistency import installed_version
from render.lock.graph import Target
from render.lock.model import LockedDependency, LockedPackage
from render.resolve.model import Candidate, Edge
from render.versions import parse_candidate


def locked_candidate(package: LockedPackage) -> Candidate:
    """Return a locked package as the candidate that the solver chose for it."""
    tag = package.version_tag
    version = parse_candidate(tag) if tag else None
    return Candidate(tag, version, package.digest if package.by_digest else None)


def installed_candidate(package: Target) -> Candidate:
    """Return an installed package as the solver sees it: its digest answers a request for that digest, too."""
    return Candidate(package.version_tag, installed_version(package), package.digest)


def lock_dependencies(edges: Iterable[Edge]) -> tuple[LockedDependency, ...]:
    """Return a package's dependencies as the lock holds them; a source with several replacements is one dependency."""
    found = {id(edge.dependency): _lock_dependency(edge) for edge in edges}
    return tuple(found.values())


def _lock_dependency(edge: Edge) -> LockedDependency:
    dependency = edge.dependency
    if dependency is None:
        raise AssertionError("a package's own dependencies come from its metadata")
    # A name that was completed is written in full; every other one as the package has it, since Crossplane
    # compares the text.
    package = str(edge.instead_of or edge.source) if edge.completed else dependency.package
    return LockedDependency(package, dependency.constraint.text, dependency.kind, dependency.api_version)
