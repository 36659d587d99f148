"""What differs between two locks, or between a lock and the one in a cluster."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from render.lock.live import LiveLock
from render.lock.model import Lock, LockedPackage
from render.lock.staleness import compare_inputs
from render.names import revision_name
from render.versions import Version

# What can differ about a package: one text, or a list of them.
Aspects: TypeAlias = Mapping[str, tuple[str, ...]]

# From this version on a revision's name also depends on how often its package was edited.
_UNPREDICTABLE_NAMES = (2, 4)


@dataclass(frozen=True, slots=True)
class DiffedPackage:
    """A package that only one of the two has."""

    source: str
    aspects: Aspects


@dataclass(frozen=True, slots=True)
class ChangedPackage:
    """A package that both have, and the aspects in which they differ: before and after."""

    source: str
    changes: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class LockDiff:
    """What differs, sorted by source."""

    added: tuple[DiffedPackage, ...] = ()
    removed: tuple[DiffedPackage, ...] = ()
    changed: tuple[ChangedPackage, ...] = ()
    inputs: tuple[str, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return not (self.added or self.removed or self.changed or self.inputs)


def diff_locks(old: Lock, new: Lock) -> LockDiff:
    """Compare two locks."""
    before, after = ({str(p.source): _aspects(p) for p in lock.packages.values()} for lock in (old, new))
    return _diff(before, after, tuple(compare_inputs(old, new.inputs)))


def diff_live(lock: Lock, live: LiveLock, crossplane: Version | None) -> LockDiff:
    """Compare a cluster's Lock (before) with ours (after), in what can be known of both."""
    named = crossplane is not None and crossplane.precedence[:2] < _UNPREDICTABLE_NAMES
    before: dict[str, dict[str, tuple[str, ...]]] = {}
    for entry in live.packages:
        # A source that stands there twice stops Crossplane; here it shows as two versions.
        known = before.setdefault(entry.source, {})
        found = {"version": (entry.version,), "dependencies": entry.dependencies, "revision": (entry.name,)}
        before[entry.source] = {
            key: known.get(key, ()) + found[key] for key in found if named or key != "revision"
        }
    after = {str(package.source): _live_aspects(package, named=named) for package in lock.packages.values()}
    return _diff(before, after, ())


def _diff(before: Mapping[str, Aspects], after: Mapping[str, Aspects], inputs: tuple[str, ...]) -> LockDiff:
    return LockDiff(
        added=tuple(DiffedPackage(source, after[source]) for source in sorted(after.keys() - before.keys())),
        removed=tuple(
            DiffedPackage(source, before[source]) for source in sorted(before.keys() - after.keys())
        ),
        changed=tuple(
            ChangedPackage(source, _changes(before[source], after[source]))
            for source in sorted(before.keys() & after.keys())
            if before[source] != after[source]
        ),
        inputs=inputs,
    )


def _changes(old: Aspects, new: Aspects) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    names = [*new, *[name for name in old if name not in new]]
    pairs = {name: (old.get(name, ()), new.get(name, ())) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _aspects(package: LockedPackage) -> Aspects:
    aspects = {
        "version": (package.version,),
        "tag": _optional(package.tag),
        "digest": (package.digest,),
        "kind": (str(package.kind),),
        "object": (package.object_name,),
        "root": _optional(package.root),
        "requiredBy": tuple(sorted(package.required_by)),
        "dependencies": _dependencies(package),
        "objects": tuple(f"{count} {kind}" for kind, count in sorted(package.objects.items())),
        "objectsDigest": _optional(package.objects_digest or None),
        "family": _optional(package.family),
        "crossplane": _optional(package.crossplane),
        "fields": tuple(
            f"{key}: {json.dumps(package.fields[key], sort_keys=True)}" for key in sorted(package.fields)
        ),
    }
    return {name: lines for name, lines in aspects.items() if lines}


def _live_aspects(package: LockedPackage, *, named: bool) -> Aspects:
    revision = {"revision": (revision_name(package.object_name, package.digest),)} if named else {}
    return {"version": (package.version,), "dependencies": _dependencies(package), **revision}


def _dependencies(package: LockedPackage) -> tuple[str, ...]:
    return tuple(sorted(f"{item.package} {item.constraints}" for item in package.dependencies))


def _optional(text: str | None) -> tuple[str, ...]:
    return () if text is None else (text,)
