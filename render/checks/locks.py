"""Rules about one folder: whether its files and its lock can be read, and agree."""

from collections.abc import Iterator

from render.checks.model import Checked, Finding
from render.errors import RenderError
from render.files import LOCK_FILE
from render.lock.model import Lock
from render.lock.staleness import MissingLock, StaleLock


def inputs_invalid(checked: Checked) -> Iterator[Finding]:
    """The files of a folder cannot be understood, or contradict each other."""
    for one in checked.folders:
        if isinstance(one.inputs, RenderError):
            yield Finding.of("inputs-invalid", one, one.inputs)


def lock_missing(checked: Checked) -> Iterator[Finding]:
    """A folder has no lock."""
    for one in checked.folders:
        if one.lock is None:
            yield Finding.of("lock-missing", one, MissingLock(one.folder))


def lock_invalid(checked: Checked) -> Iterator[Finding]:
    """A lock cannot be read: it was damaged, edited, or holds a merge conflict."""
    for one in checked.folders:
        if isinstance(one.lock, RenderError):
            yield Finding.of("lock-invalid", one, one.lock)


def lock_stale(checked: Checked) -> Iterator[Finding]:
    """A lock answers something else than the files of its folder ask for, or contradicts itself."""
    for one in checked.folders:
        if isinstance(one.lock, Lock) and one.stale:
            yield Finding.of("lock-stale", one, StaleLock(str(one.folder / LOCK_FILE), list(one.stale)))


def not_renderable(checked: Checked) -> Iterator[Finding]:
    """Nothing can be rendered from a lock, although it is up to date."""
    for one in checked.folders:
        if isinstance(one.objects, RenderError):
            yield Finding.of("not-renderable", one, one.objects)
