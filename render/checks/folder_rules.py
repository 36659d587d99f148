"""Rules about one folder: whether its files and its lock can be read, and agree."""

from collections.abc import Iterator

from render.checks.model import Checked, CheckedFolder, Finding, Place
from render.checks.positions import find_told_place, lock_place, read_entry_place, read_settings_place
from render.errors import InvalidInput, RenderError
from render.inputs.projects import Inputs
from render.lock.freshness import MissingLock, StaleLock
from render.lock.model import Lock
from render.settings import SETTINGS_FILE
from render.system.files import LOCK_FILE

_APPLIED = "applied, it would overwrite the Lock that Crossplane keeps; two annotations are all that stops it"
_GENERATED = "what is generated from it changes with every lock, and one day is larger than Kubernetes stores"


def inputs_invalid(checked: Checked) -> Iterator[Finding]:
    """The files of a folder cannot be understood, or contradict each other."""
    for one in checked.folders:
        if isinstance(one.inputs, RenderError):
            place = find_told_place(one, one.inputs.why, SETTINGS_FILE)
            yield Finding.of("inputs-invalid", one, one.inputs, place)


def lock_missing(checked: Checked) -> Iterator[Finding]:
    """A folder has no lock."""
    for one in checked.folders:
        if one.lock is None:
            yield Finding.of("lock-missing", one, MissingLock(one.folder), _asking_place(one))


def lock_invalid(checked: Checked) -> Iterator[Finding]:
    """A lock cannot be read: it was damaged, edited, or holds a merge conflict."""
    for one in checked.folders:
        if isinstance(one.lock, RenderError):
            place = find_told_place(one, one.lock.why, LOCK_FILE)
            yield Finding.of("lock-invalid", one, one.lock, place)


def lock_stale(checked: Checked) -> Iterator[Finding]:
    """A lock answers something else than the files of its folder ask for, or contradicts itself."""
    for one in checked.folders:
        if isinstance(one.lock, Lock) and one.stale:
            error = StaleLock(str(one.folder / LOCK_FILE), list(one.stale))
            yield Finding.of("lock-stale", one, error, lock_place(one))


def lock_listed(checked: Checked) -> Iterator[Finding]:
    """A kustomization lists a lock, which is a record and nothing to apply."""
    for one in checked.folders:
        for listing in one.listings:
            yield Finding(
                "lock-listed",
                one.name,
                f"{listing.kustomization} lists a lock",
                (f"{listing.key} is {listing.text}", _GENERATED if "Generator" in listing.key else _APPLIED),
                ("remove that entry: whoever renders reads the lock by itself",),
                InvalidInput.exit_code,
                read_entry_place(listing.kustomization, listing.text),
            )


def not_renderable(checked: Checked) -> Iterator[Finding]:
    """Nothing can be rendered from a lock, although it is up to date."""
    for one in checked.folders:
        if isinstance(one.objects, RenderError):
            overlaid = isinstance(one.inputs, Inputs) and one.inputs.settings.overlay
            place = read_settings_place(one, "overlay") if overlaid else lock_place(one)
            yield Finding.of("not-renderable", one, one.objects, place)


def _asking_place(one: CheckedFolder) -> Place:
    """Return where something is asked for; the lock itself has no lines yet."""
    asked = [root.place for root in one.inputs.roots] if isinstance(one.inputs, Inputs) else []
    return find_told_place(one, asked, SETTINGS_FILE)
