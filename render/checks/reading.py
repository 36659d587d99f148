"""Folders → what rules look at; whatever cannot be read is told by a rule as well."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from render.checks.model import Checked, CheckedFolder
from render.errors import RenderError
from render.inputs.projects import Inputs, read_inputs
from render.limits import Limits
from render.lock.closure import check_closure
from render.lock.cluster import Member
from render.lock.file import read_lock
from render.lock.model import Lock
from render.lock.neighbours import Neighbours, read_neighbours
from render.lock.staleness import compare_inputs
from render.rendering import render_lock

T = TypeVar("T")


def read_checked(
    folders: Sequence[Path], limits: Limits, environ: Mapping[str, str], *, same_cluster: bool = False
) -> Checked:
    """Read folders with their locks, what they use, and what is rendered from them."""
    once: dict[Path, Path] = {}
    for folder in folders:
        once.setdefault(folder.resolve(), folder)
    read = [_read_folder(folder, limits, environ) for folder in once.values()]
    members = {one.path: _member(one) for one in read}
    folders_around = [
        replace(one, around=_attempt(partial(_read_around, one, members, limits))) for one in read
    ]
    return Checked(tuple(folders_around), members, same_cluster)


def _read_folder(folder: Path, limits: Limits, environ: Mapping[str, str]) -> CheckedFolder:
    inputs = _attempt(lambda: read_inputs(folder, limits, environ))
    lock = _attempt(lambda: read_lock(folder, limits))
    if not isinstance(lock, Lock):
        return CheckedFolder(folder, inputs, lock)
    changes = compare_inputs(lock, inputs.record) if isinstance(inputs, Inputs) else []
    stale = (*changes, *check_closure(lock))
    objects: tuple[Mapping[str, Any], ...] | RenderError = ()
    if isinstance(inputs, Inputs) and not stale:
        objects = _attempt(lambda: tuple(render_lock(lock, inputs, limits, environ)))
    return CheckedFolder(folder, inputs, lock, stale, objects=objects)


def _member(one: CheckedFolder) -> Member:
    uses = one.inputs.settings.uses if isinstance(one.inputs, Inputs) else ()
    # A lock that is not up to date is judged when it is needed.
    return Member(one.folder, uses, one.lock if isinstance(one.lock, Lock) and not one.stale else None)


def _read_around(one: CheckedFolder, members: dict[Path, Member], limits: Limits) -> Neighbours:
    if not isinstance(one.inputs, Inputs):
        return Neighbours()
    settings = one.inputs.settings
    around = read_neighbours(one.folder, settings.uses, limits, members)
    return around.after_moves(settings.moves, one.lock if isinstance(one.lock, Lock) else Lock())


def _attempt(read: Callable[[], T]) -> T | RenderError:
    try:
        return read()
    except RenderError as error:
        return error
