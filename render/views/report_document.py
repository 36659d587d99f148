"""The report of `lock` as JSON: one list for each kind of change."""

from typing import Any

from render.lock.aspects import Differences
from render.lock.changes import Changes, Moved, Pair, find_changes
from render.lock.diff import step_of
from render.lock.model import Lock, LockedPackage, Provided
from render.views.diff import change_document
from render.views.labels import step_document
from render.views.report import NOT_NEEDED, Needed, provided_aspects, removal, unchanged


def report_document(
    folder: str, before: Lock, after: Lock, needed: Needed = NOT_NEEDED, *, rewritten: bool = False
) -> dict[str, Any]:
    """Return the changes as JSON values: one list for each kind of change."""
    changes = find_changes(before, after)
    return {
        "folder": folder,
        "packages": len(after.packages),
        "deactivated": len(after.deactivated),
        "unchanged": unchanged(changes, after),
        "added": [_entry(package) for package in changes.added],
        "updated": [_change(pair) for pair in changes.updated],
        "moved": [_moved_document(moved) for moved in changes.moved],
        "off": [_entry(package) for package in changes.deactivated],
        "leaving": [
            {**_entry(package), "neededBy": list(needed.get(package.source, ()))}
            for package in changes.leaving
        ],
        "returned": [_change(pair) for pair in changes.returned],
        "released": [_entry(package) for package in changes.released],
        "removed": [{**_entry(package), "reason": removal(package, after)} for package in changes.removed],
        "detached": [_entry(package) for package in changes.detached],
        "attached": [_entry(package) for package in changes.attached],
        **_held_back(changes),
        "provided": [_provided_document(old, new) for old, new in changes.provided],
        "unneeded": [{"source": str(old.source), "folder": old.folder} for old in changes.unneeded],
        "changed": [
            {**_entry(one.package), "changes": _aspects_document(one.aspects)} for one in changes.changed
        ],
        "inputs": changes.inputs,
        "lock": changes.lock,
        # Whether the text of the file changes, and nothing else.
        "rewritten": rewritten and before == after,
    }


def _aspects_document(aspects: Differences) -> dict[str, Any]:
    return {name: change_document(name, *pair) for name, pair in aspects.items()}


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
    step = step_document(step_of(old, new))
    return {**_entry(new), "from": old.version, "fromDigest": old.digest, **step}


def _moved_document(moved: Moved) -> dict[str, Any]:
    return {
        "from": str(moved.replaced.source),
        "fromVersion": moved.old.version if moved.old else None,
        "to": [_entry(target) for target in moved.targets],
        "strategy": moved.replaced.strategy,
        "earlierStrategy": moved.earlier,
        "consent": moved.replaced.consent,
    }


def _provided_document(old: Provided | None, new: Provided) -> dict[str, Any]:
    return {
        "source": str(new.source),
        "version": new.version,
        "digest": new.digest,
        "folder": new.folder,
        "from": old.version if old else None,
        **step_document(step_of(old, new) if old else None),
        "changes": _aspects_document(provided_aspects(old, new)),
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
