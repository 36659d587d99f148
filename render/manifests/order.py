"""The packages in layers: each one is above everything it needs."""

from collections import Counter
from collections.abc import Mapping, Sequence

from render.errors import Differs
from render.lock.model import LockedPackage


class CircularLock(Differs):
    """Packages that need each other, so that none of them can come first."""

    def __init__(self, source: str) -> None:
        super().__init__(
            "the packages of the lock cannot be put in order",
            why=f"{source} needs itself, or something that does",
            next="run `xplock lock`",
        )


def find_layers(packages: Sequence[LockedPackage]) -> list[list[LockedPackage]]:
    """Return first what needs nothing, then always what needs only that; each layer sorted by source."""
    known = {str(package.source): package for package in packages}
    dependants = {
        source: [name for name in package.required_by if name in known] for source, package in known.items()
    }
    missing = Counter(name for names in dependants.values() for name in names)
    layers: list[list[str]] = []
    ready = [source for source in known if not missing[source]]
    while ready:
        layers.append(sorted(ready))
        ready = _next_ready(ready, dependants, missing)
    _check_complete(known, layers)
    return [[known[source] for source in layer] for layer in layers]


def _next_ready(
    ready: Sequence[str], dependants: Mapping[str, Sequence[str]], missing: Counter[str]
) -> list[str]:
    found = []
    for name in (name for source in ready for name in dependants[source]):
        missing[name] -= 1
        if not missing[name]:
            found.append(name)
    return found


def _check_complete(known: Mapping[str, LockedPackage], layers: Sequence[Sequence[str]]) -> None:
    left = known.keys() - {source for layer in layers for source in layer}
    if left:
        raise CircularLock(min(left))
