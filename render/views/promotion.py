"""What a promotion does to a folder, as text and JSON."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from render.definitions.model import Comparison
from render.lean import dataclass
from render.lock.changes import find_changes
from render.lock.diff import step_of
from render.lock.fleets import wanted_of
from render.lock.model import Lock, LockedPackage
from render.references import Source
from render.texts import visible
from render.views.definitions.lines import classes_document, format_class_lines
from render.views.labels import format_locked, format_step, step_document
from render.views.report import format_report
from render.views.report_document import report_document

_WIDTH = len("Promoted")
# The report of `lock` has these lines, too, and knows nothing of the origin.
_TOLD = ("Updated ", "Added ", "Lock ")


@dataclass(frozen=True, slots=True)
class Promoted:
    """A folder before and after a promotion."""

    folder: str
    before: Lock
    after: Lock
    # Where the versions come from, as people read it, and the packages there.
    origin: str
    packages: Mapping[Source, LockedPackage]
    # The files that change beside the lock.
    files: Sequence[str]
    # Whether a copy of the origin's lock would be the same, byte for byte.
    is_copy: bool
    changes: bool
    # What it does to definitions; None if that is not compared.
    definitions: Comparison | None = None


def format_promoted(one: Promoted, command: str = "", *, several: bool) -> str:
    """Write one line for each package that a promotion changes, and for each that it does not concern.

    Those for definitions name the command that shows more.
    """
    changes = find_changes(one.before, one.after)
    lines = [
        f"Promoted {_versions(old, new)} ({_step(old, new)}{_from(new, one)})" for old, new in changes.updated
    ]
    lines += [f"{'Added':<{_WIDTH}} {_pin(new)} ({_from(new, one)})" for new in changes.added]
    lines += [f"{'Kept':<{_WIDTH}} {_pin(package)} (only here)" for package in _kept(one)]
    lines += [f"{'Edited':<{_WIDTH}} {visible(f'{one.folder}/{name}')}" for name in one.files]
    report = format_report(
        one.folder, one.before, one.after, several=several, rewritten=one.changes
    ).splitlines()
    head = [f"{one.folder}:"] if several else []
    rest = [line for line in report if not line.startswith(_TOLD) and line not in head]
    text = "".join(f"{line}\n" for line in [*head, *lines, *rest])
    return text + format_class_lines(one.definitions or Comparison(), command)


def promotion_document(one: Promoted) -> dict[str, Any]:
    """Return what a promotion does as JSON values."""
    promoted = one.after.promoted
    return {
        **report_document(one.folder, one.before, one.after, rewritten=one.changes),
        **(classes_document(one.definitions) if one.definitions is not None else {}),
        "origin": one.origin,
        "promoted": [
            {
                "source": str(new.source),
                "from": old.version,
                "version": new.version,
                "digest": new.digest,
                **step_document(step_of(old, new)),
            }
            for old, new in find_changes(one.before, one.after).updated
            if _is_from(new, one)
        ],
        "kept": [{"source": str(package.source), "version": package.version} for package in _kept(one)],
        "files": list(one.files),
        "isCopy": one.is_copy,
        "provenance": {
            "from": promoted.origin,
            "lockDigest": promoted.lock_digest,
            "packages": promoted.packages,
        }
        if promoted
        else None,
    }


def _kept(one: Promoted) -> Collection[LockedPackage]:
    """Return the packages that the origin does not have, or that are not promoted."""
    return [package for source, package in wanted_of(one.after).items() if source not in one.packages]


def _is_from(package: LockedPackage, one: Promoted) -> bool:
    known = one.packages.get(package.source)
    return known is not None and known.digest == package.digest


def _from(package: LockedPackage, one: Promoted) -> str:
    return f"as in {visible(one.origin)}" if _is_from(package, one) else "only here"


def _versions(old: LockedPackage, new: LockedPackage) -> str:
    return f"{new.source} {format_locked(old)} -> {format_locked(new)}"


def _step(old: LockedPackage, new: LockedPackage) -> str:
    step = step_of(old, new)
    return f"{format_step(step)}; " if step else ""


def _pin(package: LockedPackage) -> str:
    return f"{package.source} {format_locked(package)}"
