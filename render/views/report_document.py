"""What a run of `lock` changed, as JSON values."""

from typing import Any

from render.lock.changes import Changes, Moved, Pair, find_changes
from render.lock.model import Lock, LockedPackage, Provided
from render.views.report import removal, unchanged


def report_document(folder: str, before: Lock, after: Lock) -> dict[str, Any]:
    """Return what changed: a list for everything that can become of a package."""
    changes = find_changes(before, after)
    return {
        "folder": folder,
        "packages": len(after.packages),
        "deactivated": len(after.deactivated),
        "unchanged": unchanged(changes, after),
        "added": [_entry(package) for package in changes.added],
        "updated": [_change(pair) for pair in changes.updated],
        "moved": [_moved(moved) for moved in changes.moved],
        "off": [_entry(package) for package in changes.off],
        "leaving": [_entry(package) for package in changes.leaving],
        "returned": [_change(pair) for pair in changes.returned],
        "released": [_entry(package) for package in changes.released],
        "removed": [{**_entry(package), "reason": removal(package, after)} for package in changes.removed],
        "detached": [_entry(package) for package in changes.detached],
        "attached": [_entry(package) for package in changes.attached],
        **_held_back(changes),
        "provided": [_provided(old, new) for old, new in changes.provided],
    }


def _held_back(changes: Changes) -> dict[str, Any]:
    return {
        "unpinned": [
            {**_entry(one.package), "pins": [{"tag": pin.tag, "digest": pin.digest} for pin in one.pins]}
            for one in changes.unpinned
        ],
        "held": [
            {**_entry(held.package), "heldBy": [str(holder.source) for holder in held.holders]}
            for held in changes.held
        ],
    }


def _change(pair: Pair) -> dict[str, Any]:
    old, new = pair
    return {**_entry(new), "from": old.version, "fromDigest": old.digest}


def _moved(moved: Moved) -> dict[str, Any]:
    return {
        "from": str(moved.replaced.source),
        "fromVersion": moved.old.version if moved.old else None,
        "to": [_entry(target) for target in moved.targets],
        "strategy": moved.replaced.strategy,
        "earlierStrategy": moved.earlier,
        "consent": moved.replaced.consent,
    }


def _provided(old: Provided | None, new: Provided) -> dict[str, Any]:
    return {
        "source": str(new.source),
        "version": new.version,
        "digest": new.digest,
        "folder": new.folder,
        "from": old.version if old else None,
    }


def _entry(package: LockedPackage) -> dict[str, Any]:
    return {
        "source": str(package.source),
        "installedAs": str(package.installed_as) if package.installed_as else None,
        "version": package.version,
        "digest": package.digest,
        "kind": package.kind,
        "object": package.object_name,
        "state": package.state,
        "root": package.root,
        "requiredBy": list(package.required_by),
        "replacedBy": [str(source) for source in package.replaced_by],
        "detached": list(package.detached),
    }
