"""The report of `lock` as text: what happened to each package, why, and what to do next."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from render.lifecycle.retiring.commands import retire_command
from render.lock.aspects import Differences, find_changed
from render.lock.changes import Changes, Held, Moved, Pair, find_changes
from render.lock.derived.detaching import stays_attached
from render.lock.diff import step_of
from render.lock.graph import Target
from render.lock.model import Lock, LockedPackage, Provided, State
from render.moves import Consent, Strategy
from render.references import Source
from render.system.files import LOCK_FILE
from render.texts import counted, first_names, visible
from render.versions.semantic import Step
from render.views.diff import format_change
from render.views.fitting import short_names
from render.views.labels import format_locked, format_step
from render.views.report_lines import Told, fit_lines, fits, format_lines

# Keys: the words of the report, and steps.
Counts: TypeAlias = dict[str | Step, int]

# The packages that other folders need of one, with these folders.
Needed: TypeAlias = Mapping[Source, Sequence[str]]
NOT_NEEDED: Needed = MappingProxyType({})

_SHOWN_DEPENDANTS = 2
_BREAKING = [step for step in Step if step.may_break]
# Without packages and inputs that differ, only the text of the file does.
_REWRITTEN = "only its text, as xplock writes it"
_CONSENTS = {Consent.MOVES: "your moves say so", Consent.CLAIM: "the new one claims it"}


def format_report(
    folder: str,
    before: Lock,
    after: Lock,
    *,
    several: bool,
    needed: Needed = NOT_NEEDED,
    rewritten: bool = False,
    fitted: bool = False,
    everyone: bool = False,
) -> str:
    """Write one line for each change, and a summary; `rewritten` says that the text of the file changes.

    A fitted report has 80 columns, and the first few of those who require a package, or everyone.
    """
    changes = find_changes(before, after)
    where = LOCK_FILE if folder == "." else f"{folder}/{LOCK_FILE}"

    def tell(reason: Callable[[LockedPackage], str]) -> Iterator[Told]:
        yield from _lines(changes, after, folder, needed, reason)
        yield from _lock_lines(changes, first=not before.inputs)
        if rewritten and before == after:
            yield "Changed", f"{where} ({_REWRITTEN})"

    lines = format_lines(tell(_reason))
    if fitted and not fits(lines):
        names = short_names(str(one.display_source) for lock in (before, after) for one in lock.installed())
        lines = list(fit_lines(tell(_short_reason(names, everyone=everyone)), names))
    head = [f"{folder}:"] if several and lines else []
    return "".join(f"{line}\n" for line in [*head, *lines, f"{where}: {_summary(changes, after)}"])


def _lines(
    changes: Changes, after: Lock, folder: str, needed: Needed, reason: Callable[[LockedPackage], str]
) -> Iterator[Told]:
    """Yield the first word of every line, and the rest of it."""
    # Reviewers look for the steps that may break something, and a long report is cut at its end.
    for old, new in sorted(changes.updated, key=lambda pair: not _may_break(pair)):
        yield "Updated", f"{new.source} {_versions(old, new)} ({_step(old, new)}{reason(new)})"
    yield from (("Added", f"{_pin(new)} ({reason(new)})") for new in changes.added)
    yield from (("Moved", _moved(moved)) for moved in changes.moved)
    yield from (("Off", f"{_pin(new)} ({_off(new, folder)})") for new in changes.deactivated)
    yield from (("Leaving", f"{_pin(new)} ({_leaving(new, folder, needed)})") for new in changes.leaving)
    for old, new in changes.returned:
        was = "was deactivated" if old.state is State.DEACTIVATED else "was leaving"
        yield "Returned", f"{new.source} {_versions(old, new)} ({_step(old, new)}{reason(new)}; it {was})"
    yield from (("Released", f"{_pin(new)} ({_released(new, folder)})") for new in changes.released)
    yield from (("Removed", f"{_pin(old)} ({removal(old, after)})") for old in changes.removed)
    yield from _attachment_lines(changes)
    yield from (("Held", _held(held)) for held in changes.held)
    yield from (("Provided", _provided(old, new)) for old, new in changes.provided)
    yield from (("Provided", f"{_pin(old)} (no longer needed)") for old in changes.unneeded)
    yield from (("Changed", f"{_pin(one.package)} ({_aspects(one.aspects)})") for one in changes.changed)


def _lock_lines(changes: Changes, *, first: bool) -> Iterator[Told]:
    """Yield what changed beside the packages; in a first lock every input is new."""
    if changes.inputs and not first:
        yield "Inputs", visible("; ".join(changes.inputs))
    yield from (("Lock", text) for text in changes.lock)


def _aspects(aspects: Differences) -> str:
    return "; ".join(visible(format_change(name, *pair)) for name, pair in aspects.items())


def _attachment_lines(changes: Changes) -> Iterator[Told]:
    for package in changes.detached:
        yield "Detached", f"{_pin(package)} ({'; '.join(map(visible, package.detached))})"
    for package in changes.attached:
        yield "Attached", f"{_pin(package)} (Crossplane checks its dependencies again)"
    for unpinned in changes.unpinned:
        tags = ", ".join(visible(pin.tag) for pin in unpinned.pins)
        yield "Unpinned", f"{_pin(unpinned.package)} (pins of earlier versions go: {tags})"


def _summary(changes: Changes, after: Lock) -> str:
    parts = format_counts(count_changes(changes))
    total = counted(len(after.packages), "package")
    off = f" and {len(after.deactivated):,} deactivated" if after.deactivated else ""
    return f"{total}{off}, {', '.join([*parts, f'{unchanged(changes, after):,} unchanged'])}"


def count_changes(changes: Changes) -> Counts:
    """Return how many packages were added, updated and so on, and how many steps may break something."""
    steps = [step for pair in changes.updated if (step := step_of(*pair))]
    return {
        "added": len(changes.added),
        "updated": len(changes.updated),
        **{step: steps.count(step) for step in _BREAKING},
        "moved": len(changes.moved),
        "leaving": len(changes.leaving),
        "returned": len(changes.returned),
        "released": len(changes.released),
        "removed": len(changes.removed),
        "changed": len(changes.changed),
    }


def format_counts(counts: Mapping[str | Step, int]) -> list[str]:
    """Write the counts that are not zero; steps that may break something stand behind the updates."""
    steps = ", ".join(f"{counts[step]:,} {step.value}" for step in _BREAKING if counts.get(step))
    notes = {"updated": f" ({steps})" if steps else ""}
    return [
        f"{count:,} {name}{notes.get(name, '')}"
        for name, count in counts.items()
        if count and not isinstance(name, Step)
    ]


def unchanged(changes: Changes, after: Lock) -> int:
    """Return how many active packages have not changed."""
    return len(after.packages.keys() - changes.touched())


def removal(package: LockedPackage, after: Lock) -> str:
    """Return why a package was removed from the lock."""
    provided = after.provided.get(package.source)
    if provided:
        return f"{visible(provided.folder)} provides it now"
    retired = package.released or package.state is State.DEACTIVATED
    return "retired" if retired else "nothing requires it any more"


def _moved(moved: Moved) -> str:
    replaced, old = moved.replaced, moved.old
    targets = " and ".join(map(_pin, moved.targets))
    was = f" {format_locked(old)}" if old else ""
    how = f" by {replaced.strategy}" if replaced.strategy is not Strategy.PLAIN else ""
    earlier = f", no longer by {moved.earlier}" if moved.earlier not in (None, replaced.strategy) else ""
    return f"{replaced.source}{was} -> {targets}{how}{earlier} ({_consequence(moved)}; {_CONSENTS[replaced.consent]})"


def _consequence(moved: Moved) -> str:
    match moved.replaced.strategy:
        case Strategy.ALIAS:
            return f"{_object(moved.targets[0])} keeps its name and its source, and gets the new bytes"
        case Strategy.REPOINT:
            return f"{_object(moved.targets[0])} keeps its name"
        case Strategy.DEACTIVATE:
            return "the old one is deactivated"
        case Strategy.PLAIN:
            return f"{moved.replaced.source} was never installed from here"


def _off(package: LockedPackage, folder: str) -> str:
    successors = " and ".join(map(str, package.replaced_by))
    return f"replaced by {successors}; retire when everyone has moved: {retire_command([package], [folder])}"


def _leaving(package: LockedPackage, folder: str, needed: Needed) -> str:
    users = needed.get(package.source)
    if users:
        return f"nothing requires it here, but {', '.join(map(visible, users))} does; ask for it again"
    if package.required_by:
        return f"only {', '.join(map(visible, package.required_by))} requires it, which is leaving too"
    return f"nothing requires it any more; held until: {retire_command([package], [folder])}"


def _released(package: LockedPackage, folder: str) -> str:
    command = retire_command([package], [folder], synced=True)
    return f"its guard is off; once every cluster has synced: {command}"


def _held(held: Held) -> str:
    package = held.package
    stays = f"{package.source} stays at {format_locked(package)}"
    if not held.holders:
        return f"{stays} until the cluster has synced this lock; after that it may change"
    attached = " and ".join(str(holder.source) for holder in held.holders if stays_attached(holder))
    if attached:
        return (
            f"{stays} while {attached} stays attached to it (skipDependencyResolution: false in its manifest)"
        )
    holders = " and ".join(str(holder.source) for holder in held.holders)
    return f"{stays} until another version of {holders} is locked and synced (the cluster's Lock still names it there)"


def _provided(old: Provided | None, new: Provided) -> str:
    before = f"{format_locked(old)} -> " if old and old.version != new.version else ""
    step = _step(old, new) if old else ""
    others = _aspects(provided_aspects(old, new))
    more = f"; {others}" if others else ""
    return f"{new.source} {before}{format_locked(new)} ({step}by {visible(new.folder)}{more})"


def provided_aspects(old: Provided | None, new: Provided) -> Differences:
    """Return what changed about a provided package beside its version."""
    found = find_changed(old, new) if old else {}
    return {name: pair for name, pair in found.items() if name not in ("version", "digest")}


def _reason(package: LockedPackage) -> str:
    if package.root is not None:
        return "asked for"
    return "required by " + ", ".join(map(visible, package.required_by))


def _short_reason(names: Mapping[str, str], *, everyone: bool) -> Callable[[LockedPackage], str]:
    """Return what tells why a package is there by short names, with the first dependants or everyone."""

    def reason(package: LockedPackage) -> str:
        if package.root is not None:
            return _reason(package)
        told = [
            " ".join(names.get(word, word) for word in visible(text).split(" "))
            for text in package.required_by
        ]
        return f"required by {first_names(told, len(told) if everyone else _SHOWN_DEPENDANTS)}"

    return reason


def _versions(old: LockedPackage, new: LockedPackage) -> str:
    same = (old.version, old.digest) == (new.version, new.digest)
    return format_locked(new) if same else f"{format_locked(old)} -> {format_locked(new)}"


def _step(old: Target, new: Target) -> str:
    step = step_of(old, new)
    return f"{format_step(step)}; " if step else ""


def _may_break(pair: Pair) -> bool:
    step = step_of(*pair)
    return step is not None and step.may_break


def _pin(package: Target) -> str:
    return f"{package.display_source} {format_locked(package)}"


def _object(package: LockedPackage) -> str:
    return f"{package.kind} {package.object_name}"
