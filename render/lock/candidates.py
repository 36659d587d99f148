"""Between the lock and the solver: a locked package as a candidate, and edges as locked dependencies."""

from collections.abc import Iterable

from render.crd_dependencies import AnswerPlace, CrdAnswer
from render.lock.graph import Target
from render.lock.model import Lock, LockedDependency, LockedPackage
from render.packages import CrdDependency
from render.references import Source
from render.resolve.crds.model import Answers, Asked
from render.resolve.model import Candidate, Edge
from render.versions.constraints import ANY
from render.versions.version import InvalidVersion, Version, parse_candidate, parse_version


def locked_candidate(package: LockedPackage) -> Candidate:
    """Return a locked package as the candidate that the solver chose for it."""
    tag = package.version_tag
    version = parse_candidate(tag) if tag else None
    return Candidate(tag, version, package.digest if package.by_digest else None)


def installed_candidate(package: Target) -> Candidate:
    """Return a package as Crossplane sees it once it is installed: its digest answers a request for it, too."""
    return Candidate(package.version_tag, _installed_version(package), package.digest)


def lock_dependencies(edges: Iterable[Edge]) -> tuple[LockedDependency, ...]:
    """Return a package's dependencies as the lock holds them; a source with several replacements is one dependency."""
    named = [edge for edge in edges if edge.crd is None]
    found = {id(edge.dependency): _lock_dependency(edge) for edge in named}
    return tuple(found.values())


def lock_answers(
    dependant: Source | None, asked: Iterable[CrdDependency], answers: Answers
) -> tuple[CrdAnswer, ...]:
    """Return the packages that answer dependencies on CRDs as the lock holds them."""
    found = {
        CrdAnswer(one.crd, source, answer.place, one.constraint.text if one.constraint != ANY else "")
        for one in asked
        if (answer := answers.get(Asked(dependant, one.crd)))
        for source in answer.sources
    }
    return tuple(sorted(found))


def catalog_answers(lock: Lock) -> dict[Asked, Source]:
    """Return the packages of a lock that answer dependencies on CRDs from the catalog."""
    asked = [(None, lock.crds), *((package.source, package.crds) for package in lock.packages.values())]
    return {
        Asked(dependant, answer.crd): answer.source
        for dependant, answers in asked
        for answer in answers
        if answer.place is AnswerPlace.CATALOG
    }


def _installed_version(package: Target) -> Version | None:
    # Crossplane reads an installed v1.2 as 1.2.0, although such a tag is no candidate.
    try:
        return parse_version(package.version_tag) if package.version_tag else None
    except InvalidVersion:
        return None


def _lock_dependency(edge: Edge) -> LockedDependency:
    dependency = edge.dependency
    if dependency is None:
        raise AssertionError("a package's own dependencies come from its metadata")
    # A name that was completed is written in full; every other one as the package has it, since Crossplane
    # compares the text.
    package = str(edge.instead_of or edge.source) if edge.completed else dependency.package
    return LockedDependency(package, dependency.constraint.text, dependency.kind, dependency.api_version)
