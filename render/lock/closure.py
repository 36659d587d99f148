"""Whether a lock holds together: everything that is needed is there, and suits everyone who needs it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from render.constraints import Constraint, parse_constraint
from render.lock.model import Lock, LockedDependency, LockedPackage
from render.references import PartialSource, Source, parse_dependency_source
from render.versions import InvalidVersion, Version, parse_version


def check_closure(lock: Lock) -> list[str]:
    """Return everything that a lock contradicts itself in; both sides are named."""
    graph = _Graph(lock.packages)
    problems = list(graph.walk())
    for package in lock.in_order():
        problems += _check_required_by(package, graph.dependants[package.source])
    return problems + _check_reachable(lock, graph) + _check_cycle(graph)


@dataclass(slots=True)
class _Graph:
    """Who needs whom, as the dependencies of the packages say it."""

    packages: Mapping[Source, LockedPackage]
    dependants: dict[Source, set[str]] = field(default_factory=dict)
    needs: dict[Source, list[Source]] = field(default_factory=dict)
    constraints: dict[str, Constraint] = field(default_factory=dict)
    sources: dict[str, Source | PartialSource] = field(default_factory=dict)
    versions: dict[Source, Version | None] = field(default_factory=dict)

    def walk(self) -> Iterator[str]:
        """Follow every dependency; yield those that are not met."""
        self.dependants = {source: set() for source in self.packages}
        for package in sorted(self.packages.values(), key=lambda package: str(package.source)):
            self.needs[package.source] = []
            for dependency in package.dependencies:
                yield from self._follow(package, dependency)

    def _follow(self, package: LockedPackage, dependency: LockedDependency) -> Iterator[str]:
        source = self._complete(dependency.package, package.source)
        found = self.packages.get(source)
        if found is None:
            yield f"{_named(package)} needs {source} ({dependency.constraints}), which is not in the lock"
            return
        self.needs[package.source].append(source)
        self.dependants[source].add(str(package.source))
        if not self._accepts(dependency.constraints, found):
            yield f"{_named(package)} accepts {dependency.constraints} of {source}; locked is {found.version}"

    def _complete(self, text: str, dependant: Source) -> Source:
        if text not in self.sources:
            self.sources[text] = parse_dependency_source(text)
        source = self.sources[text]
        return source.complete(dependant) if isinstance(source, PartialSource) else source

    def _accepts(self, text: str, found: LockedPackage) -> bool:
        if text not in self.constraints:
            self.constraints[text] = parse_constraint(text)
        constraint = self.constraints[text]
        if constraint.digest is not None:
            return found.digest == constraint.digest
        if found.source not in self.versions:
            self.versions[found.source] = _version(found)
        version = self.versions[found.source]
        return version is not None and constraint.accepts(version)


def _check_required_by(package: LockedPackage, dependants: set[str]) -> Iterator[str]:
    recorded = set(package.required_by)
    for source in sorted(dependants - recorded):
        yield f"{source} needs {package.source}, whose requiredBy does not say so"
    for source in sorted(recorded - dependants):
        yield f"{package.source} is requiredBy {source}, which does not depend on it"


def _check_reachable(lock: Lock, graph: _Graph) -> list[str]:
    waiting = [package.source for package in lock.packages.values() if package.root is not None]
    reached = set(waiting)
    while waiting:
        fresh = [source for source in graph.needs[waiting.pop()] if source not in reached]
        reached.update(fresh)
        waiting += fresh
    return [
        f"{source} is in the lock, but nothing asks for it"
        for source in sorted(lock.packages.keys() - reached)
    ]


def _check_cycle(graph: _Graph) -> list[str]:
    try:
        TopologicalSorter(graph.needs).prepare()
    except CycleError as error:
        return [f"packages need each other in a circle: {' needs '.join(map(str, reversed(error.args[1])))}"]
    return []


def _version(package: LockedPackage) -> Version | None:
    try:
        return parse_version(package.version_tag) if package.version_tag else None
    except InvalidVersion:
        return None


def _named(package: LockedPackage) -> str:
    return f"{package.source} {package.version}"
