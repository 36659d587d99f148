"""Rules about one folder: its files and its lock are valid, and agree."""

import re
from collections.abc import Iterator

from render.checks.model import Checked, CheckedFolder, Finding, Place
from render.checks.positions import (
    find_told_place,
    lock_place,
    read_entry_place,
    read_lock_place,
    read_settings_place,
)
from render.errors import InvalidInput, RenderError
from render.inputs.problems import InvalidInputs
from render.inputs.projects import Inputs, NothingAsked
from render.inputs.record import REWRITE, ROOT, SETTING
from render.lean import replace
from render.lock.freshness import MissingLock, StaleLock
from render.lock.model import Lock
from render.lock.text.parse import InvalidLock
from render.settings import SETTINGS_FILE
from render.system.files import LOCK_FILE

_APPLIED = "if it were applied, it would overwrite the cluster's Lock; only two annotations prevent that"
_GENERATED = "the generated object changes with every lock, and may become larger than Kubernetes can store"


def inputs_invalid(checked: Checked) -> Iterator[Finding]:
    """The files of a folder are invalid, or contradict each other."""
    for one in checked.folders:
        if isinstance(one.inputs, RenderError):
            yield _with_problems("inputs-invalid", one, one.inputs, SETTINGS_FILE)


def lock_missing(checked: Checked) -> Iterator[Finding]:
    """A folder has no lock."""
    for one in checked.folders:
        # A folder that asks for nothing cannot be locked, and is reported for that.
        if one.lock is None and not isinstance(one.inputs, NothingAsked):
            yield Finding.of("lock-missing", one, MissingLock(one.folder), _asking_place(one))


def lock_invalid(checked: Checked) -> Iterator[Finding]:
    """A lock cannot be read: it is damaged, was edited, or holds a merge conflict."""
    for one in checked.folders:
        if isinstance(one.lock, RenderError):
            yield _with_problems("lock-invalid", one, one.lock, LOCK_FILE)


def lock_stale(checked: Checked) -> Iterator[Finding]:
    """A lock does not answer what the files of its folder ask for, or contradicts itself."""
    for one in checked.folders:
        if isinstance(one.lock, Lock) and one.stale:
            error = StaleLock(str(one.folder / LOCK_FILE), list(one.stale))
            places = tuple(_changed_place(one, one.lock, text) for text in error.why)
            finding = Finding.of("lock-stale", one, error, lock_place(one))
            yield replace(finding, places=places, lead="the lock is out of date: ")


def lock_listed(checked: Checked) -> Iterator[Finding]:
    """A kustomization lists a lock, which must not be applied."""
    for one in checked.folders:
        for listing in one.listings:
            yield Finding(
                "lock-listed",
                one.name,
                f"{listing.kustomization} lists a lock",
                (f"{listing.key} is {listing.text}", _GENERATED if "Generator" in listing.key else _APPLIED),
                ("remove that entry: rendering finds the lock without it",),
                InvalidInput.exit_code,
                read_entry_place(listing.kustomization, listing.text),
            )


def not_renderable(checked: Checked) -> Iterator[Finding]:
    """A lock is up to date, but cannot be rendered."""
    for one in checked.folders:
        if isinstance(one.objects, RenderError):
            overlaid = isinstance(one.inputs, Inputs) and one.inputs.settings.overlay
            place = read_settings_place(one, "overlay") if overlaid else lock_place(one)
            yield Finding.of("not-renderable", one, one.objects, place)


def _with_problems(rule: str, one: CheckedFolder, error: RenderError, default: str) -> Finding:
    finding = Finding.of(rule, one, error, find_told_place(one, error.why, default))
    # Other errors explain one problem in several lines.
    if not isinstance(error, InvalidInputs | InvalidLock):
        return finding
    return replace(finding, places=tuple(find_told_place(one, [text], default) for text in error.why))


def _changed_place(one: CheckedFolder, lock: Lock, reason: str) -> Place:
    """Return the line of the input that a reason names, or that of a package in the lock which contradicts itself.

    Mostly an input has changed and the lock has not, so that only the input is in a pull request's diff.
    """
    if isinstance(one.inputs, Inputs):
        for told in _input_places(one.inputs):
            if reason.startswith(f"{told[0]} "):
                return find_told_place(one, [f"{told[1]}: "], SETTINGS_FILE)
    if reason.startswith(SETTING):
        return read_settings_place(one, reason.removeprefix(SETTING).partition(" ")[0])
    named = [word for word in re.split(r"[\s,;()]+", reason) if word in map(str, lock.packages)]
    return read_lock_place(one, f"source: {named[0]}\n") if named else lock_place(one)


def _input_places(inputs: Inputs) -> Iterator[tuple[str, str]]:
    """Yield the names that roots and rewrites have in the record, with their first places."""
    for root in inputs.roots:
        yield f"{ROOT}{root.source}", root.place.partition(" and ")[0]
    for rewrite in inputs.rewrites:
        yield f"{REWRITE}{rewrite.prefix}", rewrite.place


def _asking_place(one: CheckedFolder) -> Place:
    """Return the place of the first root, since there is no lock that could be shown."""
    asked = (
        [f"{root.place.partition(' and ')[0]}: " for root in one.inputs.roots]
        if isinstance(one.inputs, Inputs)
        else []
    )
    return find_told_place(one, asked, SETTINGS_FILE)
