"""The differences between a lock and the Lock of a cluster, in the fields that both have."""

from pathlib import PurePath

from render.commands import as_path, shell
from render.crossplane import has_predictable_revisions, keeps_stale_entries
from render.live.lock import LiveLock
from render.lock.aspects import Aspects, find_differences
from render.lock.diff import ChangedPackage, DiffedPackage, LockDiff, format_dependencies
from render.lock.graph import LockGraph
from render.lock.model import Lock, LockedPackage
from render.names import revision_name
from render.versions.semantic import step_between
from render.versions.version import Version


def diff_live(
    lock: Lock, live: LiveLock, crossplane: Version | None, folder: str | PurePath = "."
) -> LockDiff:
    """Compare a cluster's Lock (before) with ours (after): only attached, active packages are expected there.

    The folder is for advice.
    """
    named = has_predictable_revisions(crossplane)
    before = _found(live, named=named)
    attached = [package for package in lock.packages.values() if not package.detached]
    after = {str(package.cluster_source): _expected(package, named=named) for package in attached}
    rest = _Unexpected(lock, crossplane, folder)
    only_there = sorted(before.keys() - after.keys())
    explained = {source: text for source in only_there if (text := rest.explain(source, before[source]))}
    return LockDiff(
        added=tuple(DiffedPackage(source, after[source]) for source in sorted(after.keys() - before.keys())),
        removed=tuple(
            DiffedPackage(source, before[source], rest.note(source))
            for source in only_there
            if source not in explained
        ),
        changed=tuple(
            _changed(source, before[source], after[source])
            for source in sorted(before.keys() & after.keys())
            if before[source] != after[source]
        ),
        explained=tuple(explained.values()),
    )


def _changed(source: str, before: Aspects, after: Aspects) -> ChangedPackage:
    (old, *more), (new, *_) = before["version"], after["version"]
    step = step_between(old, new) if old != new and not more else None
    return ChangedPackage(source, find_differences(before, after), new, step=step)


def _found(live: LiveLock, *, named: bool) -> dict[str, Aspects]:
    found: dict[str, Aspects] = {}
    for entry in live.packages:
        # A source that stands there twice stops Crossplane; here it shows as two versions.
        known = found.get(entry.source, {})
        aspects = {"version": (entry.version,), "dependencies": entry.dependencies, "revision": (entry.name,)}
        found[entry.source] = {
            key: known.get(key, ()) + aspects[key] for key in aspects if named or key != "revision"
        }
    return found


def _expected(package: LockedPackage, *, named: bool) -> Aspects:
    revision = {"revision": (revision_name(package.object_name, package.digest),)} if named else {}
    return {"version": (package.version,), "dependencies": format_dependencies(package), **revision}


class _Unexpected:
    """Judges entries of a cluster's Lock that are not those of attached, active packages."""

    def __init__(self, lock: Lock, crossplane: Version | None, folder: str | PurePath) -> None:
        self._folder = folder
        self._crossplane = crossplane
        self._active = {str(package.cluster_source): package for package in lock.packages.values()}
        self._deactivated = {str(source): package for source, package in lock.deactivated.items()}
        self._provided = {str(package.cluster_source): package for package in lock.provided.values()}
        successors = LockGraph(lock).successors
        self._successors = {str(source): successors[source] for source in successors}

    def explain(self, source: str, entry: Aspects) -> str:
        """Return why an unexpected entry may be there, or an empty text."""
        version = ", ".join(entry["version"])
        if source in self._active and self._is_stale(self._active[source], entry):
            return f"{source} {version} is detached; its entry stays until its bytes change"
        if source in self._deactivated and self._may_be_deactivated(self._deactivated[source], entry):
            return f"{source} {version} is deactivated; from Crossplane v2.4 on its entry may stay"
        if source in self._provided:
            return f"{source} {version} is there for {self._provided[source].folder}"
        return ""

    def note(self, source: str) -> str:
        """Return why an entry should not be there although the lock knows of its source."""
        if source in self._active:
            command = shell("xplock", "adopt", "--to", as_path(self._folder))
            attached = f"; if it was attached before it was locked: {command}"
            return f"it is detached, and should have no entry{attached if keeps_stale_entries(self._crossplane) else ''}"
        successors = self._successors.get(source, ())
        return f"replaced by {' and '.join(map(str, successors))}" if successors else ""

    def _is_stale(self, package: LockedPackage, entry: Aspects) -> bool:
        """Return whether this is the entry that a package had before it was detached."""
        named = {text.partition(" ")[0] for text in entry["dependencies"]}
        # A package without dependencies leaves an empty entry, which the lock does not record.
        same = entry["version"] == (package.version,) and named <= set(package.stale_entry)
        return same and keeps_stale_entries(self._crossplane)

    def _may_be_deactivated(self, package: LockedPackage, entry: Aspects) -> bool:
        below = self._crossplane is not None and keeps_stale_entries(self._crossplane)
        return not below and entry["version"] == (package.version,)
