"""The differences between two locks, package by package."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from render.lock.freshness import compare_inputs
from render.lock.graph import Target
from render.lock.model import KeptPin, Lock, LockedPackage, Provided, State, pin_places
from render.semantic import Step, step_between

T = TypeVar("T", bound=Target)


def pair_packages(before: Iterable[T], after: Iterable[T]) -> list[tuple[T | None, T | None]]:
    """Pair the packages of two locks: by their object in the cluster, or else by their source."""
    olds, news = ({(item.kind, item.object_name): item for item in items} for items in (before, after))
    pairs: list[tuple[T | None, T | None]] = [(olds[key], news[key]) for key in olds.keys() & news.keys()]
    left = {item.cluster_source: item for key, item in olds.items() if key not in news}
    for key, item in news.items():
        if key not in olds:
            pairs.append((left.pop(item.cluster_source, None), item))
    pairs += [(item, None) for item in left.values()]
    return sorted(pairs, key=_place)


def step_of(old: Target, new: Target) -> Step | None:
    """Return the size of a step; None, if nothing changed or the versions cannot be compared.

    Versions of two sources cannot: each counts its own.
    """
    same = (old.version_tag, old.digest) == (new.version_tag, new.digest)
    return None if same or old.source != new.source else step_between(old.version_tag, new.version_tag)


def _place(pair: tuple[Target | None, Target | None]) -> tuple[str, str]:
    item = pair[1] or pair[0]
    return (str(item.display_source), item.object_name) if item else ("", "")


# The comparable texts of a package, by aspect.
Aspects: TypeAlias = Mapping[str, tuple[str, ...]]


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
    changes: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]
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
    # Seeming differences that are expected, with the reason.
    explained: tuple[str, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return not (self.added or self.removed or self.changed or self.inputs)


def diff_locks(old: Lock, new: Lock) -> LockDiff:
    """Compare two locks."""
    pairs = pair_packages(_everything(old), _everything(new))
    both = [(before, after) for before, after in pairs if before and after]
    return LockDiff(
        added=tuple(_diffed(after) for before, after in pairs if after and not before),
        removed=tuple(_diffed(before) for before, after in pairs if before and not after),
        changed=tuple(_changed(*pair) for pair in both if _identity(pair[0]) != _identity(pair[1])),
        inputs=tuple(compare_inputs(old, new.inputs)),
    )


def find_differences(old: Aspects, new: Aspects) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return the aspects in which two packages differ."""
    names = [*new, *[name for name in old if name not in new]]
    pairs = {name: (old.get(name, ()), new.get(name, ())) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def format_dependencies(package: LockedPackage) -> tuple[str, ...]:
    """Return a line for every dependency, as a cluster's Lock has it."""
    return tuple(sorted(f"{item.package} {item.constraints}" for item in package.dependencies))


def _everything(lock: Lock) -> list[Target]:
    return [*lock.installed(), *lock.provided.values()]


def _identity(package: Target) -> tuple[str, Aspects]:
    return str(package.display_source), _aspects(package)


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
        _strategy(old, new) if moved else "",
        step_of(old, new),
    )


def _is_deactivated(package: Target) -> bool:
    return isinstance(package, LockedPackage) and package.state is State.DEACTIVATED


def _strategy(old: Target, new: Target) -> str:
    """Return how one package took the object of another, if that is known."""
    records = new.replaces if isinstance(new, LockedPackage) else ()
    return next((one.strategy for one in records if one.source in (old.source, old.cluster_source)), "")


def _aspects(package: Target) -> Aspects:
    aspects = _provided_aspects(package) if isinstance(package, Provided) else _locked_aspects(package)
    return {name: lines for name, lines in aspects.items() if lines}


def _provided_aspects(package: Provided) -> Aspects:
    return {
        **_common_aspects(package),
        "providedBy": (package.folder,),
        "replaces": _texts(package.replaces),
        "detached": (f"in {package.folder}",) if package.detached else (),
    }


def _locked_aspects(package: LockedPackage) -> Aspects:
    return {
        **_common_aspects(package),
        # Most packages are wanted, so that is not shown.
        "state": () if package.state is State.WANTED else (str(package.state),),
        "released": ("yes",) if package.released else (),
        "root": _optional(package.root),
        "requiredBy": tuple(sorted(package.required_by)),
        "replaces": tuple(
            f"{one.source} by {one.strategy}, consent: {one.consent}" for one in package.replaces
        ),
        "replacedBy": _texts(package.replaced_by),
        "detached": package.detached,
        "staleEntry": package.stale_entry,
        "dependencies": format_dependencies(package),
        "objects": tuple(f"{count} {kind}" for kind, count in sorted(package.objects.items())),
        "objectsDigest": _optional(package.objects_digest or None),
        "groups": package.groups,
        "family": _optional(package.family),
        "crossplane": _optional(package.crossplane),
        "fields": _fields(package.fields),
        "overrides": _fields(package.overrides),
        "keptPins": tuple(_pin(package, pin) for pin in package.kept_pins),
    }


def _common_aspects(package: Target) -> Aspects:
    return {
        "version": (package.version,),
        "tag": _optional(package.tag),
        "digest": (package.digest,),
        "kind": (str(package.kind),),
        "object": (package.object_name,),
        "installedAs": _texts([package.installed_as] if package.installed_as else []),
    }


def _pin(package: LockedPackage, pin: KeptPin) -> str:
    """Return the reference of a pin and its digest, with the source of its bytes where that differs."""
    named, place = pin_places(package, pin)
    return (
        f"{named}:{pin.tag}@{pin.digest}" if named == place else f"{named}:{pin.tag} at {place}@{pin.digest}"
    )


def _fields(fields: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(f"{key}: {json.dumps(fields[key], sort_keys=True)}" for key in sorted(fields))


def _texts(values: Iterable[object]) -> tuple[str, ...]:
    return tuple(map(str, values))


def _optional(text: str | None) -> tuple[str, ...]:
    return () if text is None else (text,)
