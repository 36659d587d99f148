"""What a run of `lock` changed, for people and programs."""

from collections.abc import Iterator
from typing import Any

from render.files import LOCK_FILE
from render.lock.model import Lock, LockedPackage
from render.texts import visible


def format_report(folder: str, before: Lock, after: Lock, *, several: bool) -> str:
    """Write what changed, one line each, and a summary."""
    lines = [*_changes(before, after)]
    summary = _summary(before, after)
    where = LOCK_FILE if folder == "." else f"{folder}/{LOCK_FILE}"
    head = [f"{folder}:"] if several and lines else []
    return "".join(f"{line}\n" for line in [*head, *lines, f"{where}: {summary}"])


def report_document(folder: str, before: Lock, after: Lock) -> dict[str, Any]:
    """Return what changed as JSON values."""
    added, updated, removed = _compare(before, after)
    return {
        "folder": folder,
        "packages": len(after.packages),
        "added": [_entry(package) for package in added],
        "updated": [{**_entry(new), "from": _version(old), "fromDigest": old.digest} for old, new in updated],
        "removed": [_entry(package) for package in removed],
    }


def _compare(
    before: Lock, after: Lock
) -> tuple[list[LockedPackage], list[tuple[LockedPackage, LockedPackage]], list[LockedPackage]]:
    added = [after.packages[source] for source in sorted(after.packages.keys() - before.packages.keys())]
    removed = [before.packages[source] for source in sorted(before.packages.keys() - after.packages.keys())]
    both = [
        (before.packages[source], after.packages[source])
        for source in sorted(after.packages.keys() & before.packages)
    ]
    return (
        added,
        [(old, new) for old, new in both if (old.version, old.digest) != (new.version, new.digest)],
        removed,
    )


def _changes(before: Lock, after: Lock) -> Iterator[str]:
    added, updated, removed = _compare(before, after)
    for package in added:
        yield f"Added    {package.source} {_version(package)} ({_reason(package)})"
    for old, new in updated:
        moved = " (its tag has moved)" if old.version == new.version else ""
        yield f"Updated  {new.source} {_version(old)} -> {_version(new)}{moved} ({_reason(new)})"
    for package in removed:
        yield f"Removed  {package.source} {_version(package)} (nobody needs it any more)"


def _summary(before: Lock, after: Lock) -> str:
    added, updated, removed = _compare(before, after)
    unchanged = len(after.packages) - len(added) - len(updated)
    counts = {"added": len(added), "updated": len(updated), "removed": len(removed)}
    parts = [f"{count} {name}" for name, count in counts.items() if count]
    total = f"{len(after.packages)} package{'s' if len(after.packages) != 1 else ''}"
    return f"{total}, {', '.join([*parts, f'{unchanged} unchanged'])}"


def _reason(package: LockedPackage) -> str:
    if package.root is not None:
        return "asked for"
    return "required by " + ", ".join(map(visible, package.required_by))


def _version(package: LockedPackage) -> str:
    return visible(package.version if not package.by_digest else package.digest[:19])


def _entry(package: LockedPackage) -> dict[str, Any]:
    return {
        "source": str(package.source),
        "version": package.version,
        "digest": package.digest,
        "kind": package.kind,
        "object": package.object_name,
        "root": package.root,
        "requiredBy": list(package.required_by),
    }
