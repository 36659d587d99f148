"""The packages of a lock as a graph: which package serves a dependency, who depends on whom, who replaced what.

It is on the render path: nothing here knows the solver.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property

from render.crd_dependencies import CrdAnswer, CrdRequest, required_by_crd
from render.lean import TypeAlias, TypeVar, dataclass
from render.lock.model import Lock, LockedDependency, LockedPackage, Provided, Replaced, named_source
from render.references import Source

Target: TypeAlias = LockedPackage | Provided
K = TypeVar("K", bound=Hashable)

# The versions that a dependency on a CRD accepts, if it says nothing; also those that no constraint accepts.
ANY_VERSION = "*"


@dataclass(frozen=True, slots=True)
class Need:
    """A dependency of a package, and the packages that serve it; none, if the lock does not hold one."""

    dependency: LockedDependency
    # The source that the dependency names, in full.
    named: Source
    targets: tuple[Target, ...]
    # Whether the dependant has itself replaced the source that it names, and nothing else serves it.
    is_self_dependency: bool = False
    # Set if the dependant asks for a CRD, which the package that `dependency` names defines.
    crd: CrdRequest | None = None

    @property
    def is_served(self) -> bool:
        """Whether any package serves the dependency, the dependant included."""
        return self.is_self_dependency or bool(self.targets)


@dataclass(frozen=True, slots=True)
class Successor:
    """A package that replaced a source."""

    package: Target
    # How it did. Of a package that another folder provides, only that folder's lock records it.
    replaced: Replaced | None


class LockGraph:
    """The graph of one lock; each part is worked out when it is first used."""

    def __init__(self, lock: Lock) -> None:
        self.lock = lock
        self._serving: dict[Source, tuple[Target, ...]] = {}

    def need(self, dependant: Source, dependency: LockedDependency) -> Need:
        """Return which packages serve a dependency of a package: the one it names, or those that replaced that."""
        named = named_source(dependency, dependant)
        serving = self._serving.get(named)
        if serving is None:
            serving = self._serving[named] = self._find_serving(named)
        if named == dependant:
            return Need(dependency, named, serving)
        targets = tuple([target for target in serving if target.source != dependant])
        return Need(dependency, named, targets, bool(serving) and not targets)

    @cached_property
    def needs(self) -> dict[Source, list[Need]]:
        """The dependencies of every active package, in the order of the lock; those on CRDs come last."""
        return {
            package.source: [
                *[self.need(package.source, dependency) for dependency in package.dependencies],
                *[self._crd_need(answer) for answer in package.crds if answer.source != package.source],
            ]
            for package in self.lock.in_order()
        }

    def _crd_need(self, answer: CrdAnswer) -> Need:
        found = self.lock.packages.get(answer.source) or self.lock.provided.get(answer.source)
        dependency = LockedDependency(str(answer.source), answer.versions or ANY_VERSION)
        return Need(dependency, answer.source, (found,) if found else (), crd=answer.crd)

    @cached_property
    def dependencies(self) -> dict[Source, list[Source]]:
        """The active packages that serve the dependencies of each active package."""
        active = self.lock.packages
        return {
            source: [target.source for need in needs for target in need.targets if target.source in active]
            for source, needs in self.needs.items()
        }

    @cached_property
    def dependants(self) -> dict[Source, set[Source]]:
        """The active packages that depend on each active package."""
        found: dict[Source, set[Source]] = {source: set() for source in self.needs}
        for source, targets in self.dependencies.items():
            for target in targets:
                found[target].add(source)
        return found

    @cached_property
    def required_by(self) -> dict[Source, tuple[str, ...]]:
        """The lines about who requires each active package, sorted: a dependant, or a CRD that a dependant needs."""
        found: dict[Source, set[str]] = {source: set() for source in self.needs}
        for source, needs in self.needs.items():
            for need in needs:
                text = required_by_crd(need.crd, source) if need.crd else str(source)
                for target in need.targets:
                    if target.source in found:
                        found[target.source].add(text)
        return {source: tuple(sorted(texts)) for source, texts in found.items()}

    @property
    def needed_from_others(self) -> set[Source]:
        """The packages of other folders that packages here depend on."""
        targets = [target for needs in self.needs.values() for need in needs for target in need.targets]
        return {target.source for target in targets if isinstance(target, Provided)}

    @cached_property
    def records(self) -> dict[Source, list[Successor]]:
        """Every replaced source, with the packages that replaced it, those of other folders last."""
        return find_successors([*self.lock.in_order(), *self.lock.provided.values()])

    @cached_property
    def successors(self) -> dict[Source, tuple[Source, ...]]:
        """Every replaced source, with the sources of the packages that replaced it, all sorted."""
        return {
            source: tuple(sorted({successor.package.source for successor in self.records[source]}))
            for source in sorted(self.records)
        }

    def _find_serving(self, named: Source) -> tuple[Target, ...]:
        active, provided = self.lock.packages, self.lock.provided
        # No package depends on a deactivated one.
        sources = [named] if named in active or named in provided else self.successors.get(named, ())
        found = [active.get(source) or provided.get(source) for source in sources]
        return tuple([target for target in found if target is not None])


def find_successors(packages: Iterable[Target]) -> dict[Source, list[Successor]]:
    """Return for each source that one of these packages replaced all packages that did, in the given order."""
    found: dict[Source, list[Successor]] = {}
    for package in packages:
        for one in package.replaces:
            record = one if isinstance(one, Replaced) else None
            source = one.source if isinstance(one, Replaced) else one
            found.setdefault(source, []).append(Successor(package, record))
    return found


def reach(start: Iterable[K], steps: Mapping[K, Iterable[K]], *, depth: int | None = None) -> set[K]:
    """Return everything within a number of steps from some nodes, these included; without a number, all."""
    found = set(start)
    level = set(found)
    while level and depth != 0:
        level = {following for one in level for following in steps.get(one, ())} - found
        found |= level
        depth = None if depth is None else depth - 1
    return found


def find_layers(dependants: Mapping[K, Iterable[K]]) -> list[list[K]]:
    """Return the nodes that depend on nothing, then always those that depend only on earlier ones.

    Nodes in a circle, and those that depend on one, are left out.
    """
    missing = Counter(name for names in dependants.values() for name in names)
    layers: list[list[K]] = []
    ready = [node for node in dependants if not missing[node]]
    while ready:
        layers.append(ready)
        following: list[K] = []
        for name in (name for node in ready for name in dependants[node]):
            missing[name] -= 1
            if not missing[name]:
                following.append(name)
        ready = following
    return layers
