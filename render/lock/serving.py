"""Which locked packages answer a dependency: the one it names, what replaced that, or what another folder provides."""

from typing import TypeAlias

from render.lock.model import Lock, LockedDependency, LockedPackage, Provided
from render.references import PartialSource, Source, parse_dependency_source

Target: TypeAlias = LockedPackage | Provided


class Serving:
    """Finds what answers the dependencies of a lock's packages; every text is read once."""

    def __init__(self, lock: Lock) -> None:
        self._lock = lock
        self._replacements = lock.replacements()
        self._named: dict[str, Source | PartialSource] = {}
        self._targets: dict[Source, tuple[Target, ...]] = {}

    def source(self, dependant: Source, dependency: LockedDependency) -> Source:
        """Return the source that a dependency names, in full."""
        text = dependency.package
        named = self._named.get(text)
        if named is None:
            named = self._named[text] = parse_dependency_source(text)
        # A text without a registry means something else below another dependant.
        return named.complete(dependant) if isinstance(named, PartialSource) else named

    def targets(self, dependant: Source, dependency: LockedDependency) -> tuple[Target, ...]:
        """Return what answers a dependency; nothing, if the lock does not hold it."""
        source = self.source(dependant, dependency)
        if source not in self._targets:
            self._targets[source] = self._find(source)
        found = self._targets[source]
        # A package that still depends on what it replaces is served by itself.
        return found if source == dependant else tuple(item for item in found if item.source != dependant)

    def answers(self, dependant: Source, dependency: LockedDependency) -> bool:
        """Tell whether anything answers a dependency, be it the dependant itself."""
        return bool(self.targets(dependant, dependency)) or self.serves_itself(dependant, dependency)

    def serves_itself(self, dependant: Source, dependency: LockedDependency) -> bool:
        """Tell whether a package depends on what it has replaced itself, and is all that answers this."""
        source = self.source(dependant, dependency)
        return not self.targets(dependant, dependency) and bool(self._targets[source])

    def _find(self, source: Source) -> tuple[Target, ...]:
        lock = self._lock
        # Nobody depends on what is switched off.
        named = [source] if source in lock.packages or source in lock.provided else []
        serving = named or self._replacements.get(source, ())
        found = [lock.packages.get(one) or lock.provided.get(one) for one in serving]
        return tuple(item for item in found if item is not None)
