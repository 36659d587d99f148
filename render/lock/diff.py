"""The differences between two locks, package by package."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from typing import TypeVar

from render.lock.aspects import Aspects, Differences, aspects_of, find_differences
from render.lock.freshness import compare_inputs
from render.lock.graph import Target
from render.lock.model import Lock, LockedPackage, State
from render.versions.semantic import Step, step_between

T = TypeVar("T", bound=Target)

# The fields of a lock that are compared entry by entry.
_LISTED = frozenset({"packages", "deactivated", "provided", "inputs", "crds"})
_SAME_MEANING = "entries are written in another way, with the same meaning"


def pair_packages(before: Iterable[T], after: Iterable[T]) -> list[tuple[T | None, T | None]]:
    """Pair the packages of two locks: by their object in the cluster, or else by their source."""
    pairs: list[tuple[T | None, T | None]] = []
    olds, news = list(before), list(after)
    for key in (_object, _cluster_source):
        found, olds, news = _pair_by(key, olds, news)
        pairs += found
    pairs += [(old, None) for old in olds]
    pairs += [(None, new) for new in news]
    return sorted(pairs, key=_place)


def _pair_by(
    key: Callable[[T], object], olds: list[T], news: list[T]
) -> tuple[list[tuple[T | None, T | None]], list[T], list[T]]:
    """Return the pairs with one key, and what is left of both; a damaged lock may have one key several times."""
    waiting: dict[object, list[T]] = {}
    for old in olds:
        waiting.setdefault(key(old), []).append(old)
    pairs: list[tuple[T | None, T | None]] = []
    left = []
    for new in news:
        same = waiting.get(key(new))
        if same:
            pairs.append((same.pop(0), new))
        else:
            left.append(new)
    return pairs, [old for rest in waiting.values() for old in rest], left


def _object(package: Target) -> object:
    return package.kind, package.object_name


def _cluster_source(package: Target) -> object:
    return package.cluster_source


def step_of(old: Target, new: Target) -> Step | None:
    """Return the size of a step; None, if nothing changed or the versions cannot be compared.

    Versions of two sources cannot: each counts its own.
    """
    same = (old.version_tag, old.digest) == (new.version_tag, new.digest)
    return None if same or old.source != new.source else step_between(old.version_tag, new.version_tag)


def _place(pair: tuple[Target | None, Target | None]) -> tuple[str, str]:
    item = pair[1] or pair[0]
    return (str(item.display_source), item.object_name) if item else ("", "")


@dataclass(frozen=True, slots=True)
class DiffedPackage:
    """A package that only one of the two has."""

    source: str
    aspects: Aspects
    # Why the other does not have it, where that is not plain.
    note: str = ""


@dataclass(frozen=True, slots=True)
class ChangedPackage:
    """A package that both have, and the aspects in which they differ: before and after."""

    source: str
    changes: Differences
    # The version after, and of a package that has moved its source before and the strategy.
    version: str = ""
    moved_from: str = ""
    strategy: str = ""
    # The size of the step between the versions, unless it has moved.
    step: Step | None = None


@dataclass(frozen=True, slots=True)
class LockDiff:
    """The differences, sorted by source."""

    added: tuple[DiffedPackage, ...] = ()
    removed: tuple[DiffedPackage, ...] = ()
    changed: tuple[ChangedPackage, ...] = ()
    inputs: tuple[str, ...] = ()
    # Differences of the lock as a whole.
    lock: tuple[str, ...] = ()
    # Seeming differences that are expected, with the reason.
    explained: tuple[str, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return not (self.added or self.removed or self.changed or self.inputs or self.lock)


def diff_locks(old: Lock, new: Lock) -> LockDiff:
    """Compare two locks."""
    pairs = pair_packages(_everything(old), _everything(new))
    both = [(before, after) for before, after in pairs if before and after]
    found = LockDiff(
        added=tuple(_diffed(after) for before, after in pairs if after and not before),
        removed=tuple(_diffed(before) for before, after in pairs if before and not after),
        changed=tuple(_changed(*pair) for pair in both if _identity(pair[0]) != _identity(pair[1])),
        inputs=tuple(compare_inputs(old, new.inputs)),
        lock=tuple(compare_whole(old, new)),
    )
    # Values that are written in full in one lock and left out in the other have the same texts.
    return replace(found, lock=(_SAME_MEANING,)) if found.equal and old != new else found


def compare_whole(old: Lock, new: Lock) -> Iterator[str]:
    """Yield the differences of two locks that belong to no package and to no input."""
    for one in fields(Lock):
        before, after = getattr(old, one.name), getattr(new, one.name)
        if one.name not in _LISTED and before != after:
            told = ["none" if value is None else str(value) for value in (before, after)]
            yield f"{one.name}: {' -> '.join(told)}"
    yield from (f"{answer} is gone" for answer in old.crds if answer not in new.crds)
    yield from (str(answer) for answer in new.crds if answer not in old.crds)


def format_dependencies(package: LockedPackage) -> tuple[str, ...]:
    """Return a line for every dependency, as a cluster's Lock has it."""
    return tuple(sorted(f"{item.package} {item.constraints}" for item in package.dependencies))


def _everything(lock: Lock) -> list[Target]:
    return [*lock.installed(), *lock.provided.values()]


def _identity(package: Target) -> tuple[str, Aspects]:
    return str(package.display_source), aspects_of(package)


def _diffed(package: Target) -> DiffedPackage:
    return DiffedPackage(*_identity(package))


def _changed(old: Target, new: Target) -> ChangedPackage:
    (before, old_aspects), (after, new_aspects) = _identity(old), _identity(new)
    # A deactivated package has not moved.
    moved = before != after and not _is_deactivated(new)
    return ChangedPackage(
        after,
        find_differences(old_aspects, new_aspects),
        new.version,
        before if moved else "",
        strategy_of(old, new) if moved else "",
        step_of(old, new),
    )


def _is_deactivated(package: Target) -> bool:
    return isinstance(package, LockedPackage) and package.state is State.DEACTIVATED


def strategy_of(old: Target, new: Target) -> str:
    """Return how one package took the object of another, if that is known."""
    records = new.replaces if isinstance(new, LockedPackage) else ()
    return next((one.strategy for one in records if one.source in (old.source, old.cluster_source)), "")
