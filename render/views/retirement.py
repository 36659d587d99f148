"""The result of `retire` as text and JSON: what the cluster will do, and what to do next."""

from collections.abc import Sequence
from typing import Any

from render.lifecycle.ownership import format_counts
from render.lifecycle.retiring.commands import list_packages, retire_advice, retire_command
from render.lifecycle.retiring.retire import Retirement
from render.lifecycle.states import NOTHING_LEFT
from render.lock.model import LockedPackage, State
from render.packages import Kind
from render.system.files import LOCK_FILE
from render.texts import counted, visible
from render.views.labels import format_pin, life_document, target_document

_WIDTH = len("Released")
_SHOWN = 5
_NEXT_SYNC = "With its next sync that prunes"
_WITH_APPLICATION = f"{_NEXT_SYNC}, or with its Application,"
_SECOND_STEP = "After the second step"


def format_retirements(made: Sequence[Retirement]) -> str:
    """Write what happened to every named package, and the summaries of the folders."""
    lines: list[str] = []
    left = [package for one in made for package in (*one.released, *one.waiting)]
    then = f" (sync, then: {_command(made)})" if len(left) == 1 else ""
    for one in filter(_touched, made):
        lines += [f"{visible(one.folder.name)}:"] if len(made) > 1 else []
        lines += [f"{'Released':<{_WIDTH}} {format_pin(package)}{then}" for package in one.released]
        lines += [f"{'Dropped':<{_WIDTH}} {format_pin(package)}" for package in one.dropped]
        lines += [f"{'Waiting':<{_WIDTH}} {format_pin(package)}{then}" for package in one.waiting]
        lines.append(f"{_lock_file(one)}: {_summary(one)}")
    if len(left) > 1:
        lines.append(f"sync, then: {_command(made)}")
    return "".join(f"{line}\n" for line in lines)


def retirement_hints(made: Sequence[Retirement]) -> list[str]:
    """Return hints: what the cluster will do, and which other packages can be retired."""
    released = [package for one in made for package in one.released]
    waiting = [package for one in made for package in one.waiting]
    free = [package for one in made for package in one.free]
    empty = [one for one in made if one.dropped and not one.lock.installed()]
    when = _WITH_APPLICATION if empty else _NEXT_SYNC
    hints = [_deletion(package, when) for one in made for package in one.dropped]
    hints += [f"In {visible(one.folder.name)} {NOTHING_LEFT}." for one in empty]
    if released:
        hints.append(
            f"With its next sync Argo CD takes the guard off {_objects(released)}; that deletes nothing yet."
        )
    hints += [_deletion(package, _SECOND_STEP) for package in released]
    if waiting:
        hints.append(
            f"{list_packages(waiting)} stays for one more sync: dropped along with what needs it, "
            "Crossplane would install it again."
        )
    if free:
        folders = [one.folder.name for one in made if one.free]
        hints += retire_advice(
            f"Nothing else needs {list_packages(free)}; to retire that as well", free, folders
        )
    return hints


def retirement_document(one: Retirement) -> dict[str, Any]:
    """Return what changed in a folder as JSON values."""
    left = (*one.released, *one.waiting)
    return {
        "folder": one.folder.name,
        "packages": len(one.lock.packages),
        "deactivated": len(one.lock.deactivated),
        "released": [_entry(package) for package in one.released],
        "dropped": [_entry(package) for package in one.dropped],
        "waiting": [_entry(package) for package in one.waiting],
        "free": [_entry(package) for package in one.free],
        "next": retire_command(left, [one.folder.name], synced=True) if left else None,
    }


def _touched(one: Retirement) -> bool:
    return bool(one.released or one.dropped or one.waiting)


def _command(made: Sequence[Retirement]) -> str:
    packages = [package for one in made for package in (*one.released, *one.waiting)]
    # Names all folders again: their dependencies on each other count in the next step, too.
    command = retire_command(packages, [one.folder.name for one in made], synced=True)
    return visible(command, limit=len(command))


def _lock_file(one: Retirement) -> str:
    return LOCK_FILE if one.folder.name == "." else f"{visible(one.folder.name)}/{LOCK_FILE}"


def _summary(one: Retirement) -> str:
    counts = {"released": one.released, "dropped": one.dropped, "waiting": one.waiting}
    parts = [f"{len(packages):,} {word}" for word, packages in counts.items() if packages]
    left = len(one.lock.packages) + len(one.lock.deactivated)
    return f"{', '.join(parts)}, {counted(left, 'package')} left"


def _deletion(package: LockedPackage, when: str) -> str:
    start = f"{when} Argo CD deletes {_objects([package])}"
    if package.state is State.DEACTIVATED:
        lost = f" but for {visible(format_counts(package.unclaimed))}" if package.unclaimed else ""
        return f"{start}; what it installed stays{lost}, with {' and '.join(map(str, package.replaced_by))}."
    if package.kind is Kind.FUNCTION:
        return f"{start}; a Composition that still names it stops working."
    if not package.objects:
        return f"{start}."
    installed = ", ".join(f"{count:,} {visible(kind)}" for kind, count in sorted(package.objects.items()))
    rest = ", and every resource of the kinds that are defined there" if package.groups else ""
    return f"{start} and what it installed ({installed}){rest}."


def _objects(packages: Sequence[LockedPackage]) -> str:
    names = [f"{package.kind} {package.object_name}" for package in packages]
    return ", ".join(names) if len(names) <= _SHOWN else f"{len(names):,} packages"


def _entry(package: LockedPackage) -> dict[str, Any]:
    return {**target_document(package), **life_document(package)}
