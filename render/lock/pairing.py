"""Which package of one lock is which of another."""

from collections.abc import Iterable
from typing import TypeVar

from render.lock.model import LockedPackage, State
from render.lock.serving import Target
from render.references import Source

T = TypeVar("T", bound=Target)


def pair_packages(before: Iterable[T], after: Iterable[T]) -> list[tuple[T | None, T | None]]:
    """Return every package with what it was before: the same object in the cluster, or else the same source."""
    olds, news = ({(item.kind, item.object_name): item for item in items} for items in (before, after))
    pairs: list[tuple[T | None, T | None]] = [(olds[key], news[key]) for key in olds.keys() & news.keys()]
    left = {item.cluster_source: item for key, item in olds.items() if key not in news}
    for key, item in news.items():
        if key not in olds:
            pairs.append((left.pop(item.cluster_source, None), item))
    pairs += [(item, None) for item in left.values()]
    return sorted(pairs, key=_place)


def known_as(package: Target) -> Source:
    """Return the source that a package is told of by: its own, or where it is switched off the cluster's."""
    off = isinstance(package, LockedPackage) and package.state is State.DEACTIVATED
    return package.cluster_source if off else package.source


def _place(pair: tuple[Target | None, Target | None]) -> tuple[str, str]:
    item = pair[1] or pair[0]
    return (str(known_as(item)), item.object_name) if item else ("", "")
