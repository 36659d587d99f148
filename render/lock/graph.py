"""Which locked packages answer a dependency: the one it names, what replaced that, or what another folder provides."""

from render.lean import TypeAlias
from render.lock.model import Lock, LockedDependency, LockedPackage, Provided, named_source
from render.references import Source

Target: TypeAlias = LockedPackage | Provided


class Serving:
    """Finds what answers the dependencies of a lock's packages."""

    def __init__(self, lock: Lock) -> None:
        self._lock = lock
        self._replacements = lock.replacements()
        self._targets: dict[Source, tuple[Target, ...]] = {}

    def source(self, dependant: Source, dependency: LockedDependency) -> Source:
        """Return the source that a dependency names, in full."""
        return named_source(dependency, dependant)

    def targets(self, dependant: Source, dependency: LockedDependency) -> tuple[Target, ...]:
        """Return what answers a dependency; nothing, if the lock does not hold it."""
        source = self.source(dependant, dependency)
        found = self._targets.get(source)
        if found is None:
            found = self._targets[source] = self._find(source)
        # A package that still depends on what it replaces is served by itself.
        return found if source == dependant else tuple([item for item in found if item.source != dependant])

    def answers(self, dependant: Source, dependency: LockedDependency) -> bool:
        """Tell whether anything answers a dependency, be it the dependant itself."""
        return bool(self.targets(dependant, dependency)) or self.serves_itself(dependant, dependency)

    def serves_itself(self, dependant: Source, dependency: LockedDependency) -> bool:
        """Tell whether a package depends on what it has replaced itself, and is all that answers this."""
        if self.targets(dependant, dependency):
            return False
        return bool(self._targets[self.source(dependant, dependency)])

    def _find(self, source: Source) -> tuple[Target, ...]:
        lock = self._lock
        # Nobody depends on what is switched off.
        named = [source] if source in lock.packages or source in lock.provided else []
        serving = named or self._replacements.get(source, ())
        found = [lock.packages.get(one) or lock.provided.get(one) for one in serving]
        return tuple(item for item in found if item is not None)
