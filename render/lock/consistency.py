"""Whether a lock holds together: everything that is needed is there, and suits everyone who needs it."""

from collections.abc import Iterator
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter

from render.constraints import parse_constraint
from render.lean import dataclass, field
from render.lock.detaching import check_detaching
from render.lock.graph import Serving, Target
from render.lock.model import Lock, LockedDependency, LockedPackage, State
from render.moves import Strategy
from render.references import Source
from render.versions import InvalidVersion, Version, parse_version


def check_lives(lock: Lock) -> list[str]:
    """Return what contradicts itself about packages that are leaving, were replaced, or are aliases."""
    problems = [problem for package in lock.packages.values() for problem in _check_package(package)]
    return sorted([*problems, *_check_orphans(lock), *_check_moves(lock), *_check_deactivated(lock)])


def _check_package(package: LockedPackage) -> Iterator[str]:
    source, alias = package.source, package.installed_as
    if package.released and package.state is State.WANTED:
        yield f"{source} is released, but it is not leaving"
    if package.stale_entry and not package.detached:
        yield f"{source} has a staleEntry, but it is not detached"
    if alias and not any(one.source == alias and one.strategy is Strategy.ALIAS for one in package.replaces):
        yield f"{source} is installedAs {alias}, but it does not replace that as an alias"


def _check_orphans(lock: Lock) -> Iterator[str]:
    orphans = [package for package in lock.packages.values() if package.state is State.ORPHANED]
    # Few locks have any, and only those need the texts of all sources.
    wanted = {str(p.source) for p in lock.packages.values() if p.state is State.WANTED} if orphans else set()
    for orphan in orphans:
        if orphan.root is not None:
            yield f"{orphan.source} is orphaned, but it is asked for: {orphan.root}"
        for dependant in wanted.intersection(orphan.required_by):
            yield f"{orphan.source} is orphaned, but {dependant} needs it"


def _check_moves(lock: Lock) -> Iterator[str]:
    """Find sources that are active although they were replaced, or that were replaced in two ways."""
    found: dict[Source, list[tuple[Source, Strategy]]] = {}
    # Of an orphan it is history: what it once replaced may have returned.
    for package in (package for package in lock.packages.values() if package.state is State.WANTED):
        for replaced in package.replaces:
            found.setdefault(replaced.source, []).append((package.source, replaced.strategy))
    for source, successors in found.items():
        ways = sorted(f"{successor} ({strategy})" for successor, strategy in successors)
        strategies = {strategy for _, strategy in successors}
        if source in lock.packages:
            yield f"{source} is active, but it is replaced by {' and '.join(ways)}"
        if len(strategies) > 1 or (len(ways) > 1 and strategies & {Strategy.ALIAS, Strategy.REPOINT}):
            yield f"{source} is replaced in two ways: by {' and by '.join(ways)}"


def _check_deactivated(lock: Lock) -> Iterator[str]:
    """Find packages that are switched off and whose successors are others than they say, or none."""
    replacements = lock.replacements()
    for source, package in lock.deactivated.items():
        recorded, found = set(package.replaced_by), set(replacements.get(source, ()))
        for successor in recorded - found:
            yield f"{source} is replacedBy {successor}, which does not replace it"
        for successor in found - recorded:
            yield f"{successor} replaces {source}, whose replacedBy does not say so"


def check_closure(lock: Lock) -> list[str]:
    """Return everything that a lock contradicts itself in; both sides are named."""
    graph = _Graph(lock, Serving(lock))
    problems = list(graph.walk())
    for source, dependants in graph.dependants.items():
        problems += _check_required_by(lock.packages[source], dependants)
    problems += _check_reachable(lock, graph) + _check_cycle(graph) + check_lives(lock)
    # What is missing or wrong is told first; of a lock in such a state nobody asks who is detached.
    return problems or check_detaching(lock)


def unmet_dependencies(lock: Lock) -> list[str]:
    """Return which dependencies nothing answers, or something that does not suit; both sides are named."""
    return list(_Graph(lock, Serving(lock)).walk())


def installed_version(package: Target) -> Version | None:
    """Return the version of an installed package as Crossplane reads it: a locked v1.2 counts as 1.2.0."""
    try:
        return parse_version(package.version_tag) if package.version_tag else None
    except InvalidVersion:
        return None


@dataclass(slots=True)
class _Graph:
    """Who needs whom, as the dependencies of the packages say it."""

    lock: Lock
    serving: Serving
    dependants: dict[Source, set[str]] = field(default_factory=dict)
    needs: dict[Source, list[Source]] = field(default_factory=dict)

    def walk(self) -> Iterator[str]:
        """Follow every dependency; yield those that are not met."""
        packages = self.lock.in_order()
        self.dependants = {package.source: set() for package in packages}
        for package in packages:
            self.needs[package.source] = []
            for dependency in package.dependencies:
                yield from self._follow(package, dependency)

    def _follow(self, package: LockedPackage, dependency: LockedDependency) -> Iterator[str]:
        targets = self.serving.targets(package.source, dependency)
        if not targets and not self.serving.serves_itself(package.source, dependency):
            named = self.serving.source(package.source, dependency)
            yield f"{_named(package)} needs {named} ({dependency.constraints}), which is not in the lock"
        for found in targets:
            if found.source in self.lock.packages:
                self.needs[package.source].append(found.source)
                self.dependants[found.source].add(str(package.source))
            if not _accepts(dependency.constraints, found):
                named = self.serving.source(package.source, dependency)
                served = "" if found.source == named else f", served by {found.source}"
                yield f"{_named(package)} accepts {dependency.constraints} of {named}{served}; {_there(found)}"


def _accepts(text: str, found: Target) -> bool:
    digest = parse_constraint(text).digest
    return _suits(text, found.version_tag or "") if digest is None else found.digest == digest


@lru_cache(maxsize=8_192)
def _suits(constraint: str, tag: str) -> bool:
    # The locks of several folders say the same of the packages that they have in common.
    try:
        return parse_constraint(constraint).accepts(parse_version(tag))
    except InvalidVersion:
        return False


def _check_required_by(package: LockedPackage, dependants: set[str]) -> Iterator[str]:
    recorded = set(package.required_by)
    for source in sorted(dependants - recorded):
        yield f"{source} needs {package.source}, whose requiredBy does not say so"
    for source in sorted(recorded - dependants):
        yield f"{package.source} is requiredBy {source}, which does not depend on it"


def _check_reachable(lock: Lock, graph: _Graph) -> list[str]:
    packages = lock.packages.values()
    waiting = [p.source for p in packages if p.root is not None or p.state is State.ORPHANED]
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


def _there(found: Target) -> str:
    if isinstance(found, LockedPackage):
        return f"locked is {found.version}"
    return f"{found.folder} provides {found.version}"


def _named(package: LockedPackage) -> str:
    return f"{package.source} {package.version}"
