"""Whether a commit has what its locks were made from: the folder is read as Argo CD would read it there."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from render.app.commits.clones import as_in_clone
from render.app.commits.projects import Project
from render.errors import InvalidInput, in_one_line
from render.folders.neighbours import gather_neighbours
from render.folders.provided import compare_provided, find_unsuited
from render.git.snapshots import Snapshot
from render.git.work_tree import find_filtered, find_ignored, read_file_or_link
from render.inputs.kustomizations.checks import check_kustomizations
from render.inputs.projects import read_inputs
from render.inputs.read_files import list_read_files
from render.limits import Limits
from render.lock.freshness import StaleLock, compare_inputs
from render.lock.model import Lock
from render.lock.text.file import read_lock_bytes
from render.lock.text.parse import parse_lock
from render.system.files import LOCK_FILE


@dataclass(frozen=True, slots=True)
class Difference:
    """A file that a commit has in another form than the work tree, or not at all; None if it is missing here."""

    path: str
    data: bytes | None
    committed: bool
    ignored: bool = False
    # Whether it is a link, or git would run a program to store it.
    special: bool = False
    # The submodule that it is in.
    submodule: str = ""

    def __str__(self) -> str:
        if self.data is None:
            return f"the deletion of {self.path} is not committed"
        if self.committed:
            return f"{self.path} has changes that are not committed"
        return f"{self.path} is not committed{', and git ignores it' if self.ignored else ''}"


@dataclass(frozen=True, slots=True)
class Uncommitted:
    """Why the lock of a folder does not answer what a commit has, and the files that differ there."""

    project: Project
    reasons: Sequence[str]
    files: Sequence[Difference]
    # The used folders whose locks differ.
    used: Sequence[str] = ()


def find_uncommitted(project: Project, snapshot: Snapshot, environ: Mapping[str, str]) -> Uncommitted | None:
    """Return how the inputs of a lock differ in a commit; None if the lock answers what is there."""
    limits = snapshot.repository.limits
    with as_in_clone(project, snapshot) as clone:
        reasons = _compare(project, clone.folder, limits, environ)
        if reasons:
            there = list_read_files(clone.folder, limits)
            shown = list(map(clone.as_here, reasons))
            return Uncommitted(project, shown, find_differences(project, snapshot, there))
    return _find_uncommitted_used(project, snapshot, limits)


def find_own_changes(project: Project, snapshot: Snapshot) -> dict[str, bytes | None]:
    """Return the inputs in a project's own folder that a commit lacks, as it would have to have them."""
    limits = snapshot.repository.limits
    with as_in_clone(project, snapshot) as clone:
        there = list_read_files(clone.folder, limits)
    return {
        one.path: one.data
        for one in find_differences(project, snapshot, there)
        if one.path.startswith(project.prefix) and not (one.ignored or one.special or one.submodule)
    }


def find_differences(project: Project, snapshot: Snapshot, there: set[str]) -> list[Difference]:
    """Return the inputs that differ between the work tree and a commit; `there` are those that the commit reads."""
    repository = snapshot.repository
    names = there | list_read_files(project.folder, repository.limits)
    paths = {path for name in names if (path := _real_path(repository.root, project.prefix + name))}
    found = [one for path in sorted(paths) for one in _differences(path, snapshot)]
    own = [one for one in found if not one.submodule]
    ignored = find_ignored(repository, [one.path for one in own if not one.committed])
    filtered = find_filtered(repository, [one.path for one in own])
    return [
        replace(one, ignored=one.path in ignored, special=one.special or one.path in filtered)
        for one in found
    ]


def require_answer(project: Project, limits: Limits, environ: Mapping[str, str]) -> None:
    """Raise if a lock does not answer what is in the work tree."""
    why = compare_inputs(project.lock, read_inputs(project.folder, limits, environ).record)
    if why:
        raise StaleLock(str(project.folder / LOCK_FILE), why)


def _real_path(root: Path, path: str) -> str | None:
    """Return a path from the root without links to folders in it; None if it is outside."""
    place = root / path
    there = Path(os.path.normpath(place.parent.resolve() / place.name))
    return there.relative_to(root).as_posix() if there.is_relative_to(root) else None


def _differences(path: str, snapshot: Snapshot) -> Iterator[Difference]:
    place, there = snapshot.repository.root / path, snapshot.has(path)
    data = read_file_or_link(place, snapshot.repository.limits.file_bytes)
    if data is None and (not there or place.exists()):
        return
    if data is None or not snapshot.holds(path, data):
        special = place.is_symlink() or snapshot.is_link(path)
        yield Difference(path, data, there, special=special, submodule=snapshot.submodule_of(path))


def _compare(project: Project, folder: Path, limits: Limits, environ: Mapping[str, str]) -> list[str]:
    """Return how a lock differs from what a folder asks for, and why the folder could not be rendered there."""
    try:
        inputs = read_inputs(folder, limits, environ)
    except InvalidInput as error:
        return [in_one_line(error, advice=False)]
    reasons = compare_inputs(project.lock, inputs.record)
    return [*reasons, *_find_missing_overlay(project, folder, inputs.settings.overlay, limits)]


def _find_missing_overlay(project: Project, folder: Path, overlay: Path | None, limits: Limits) -> list[str]:
    """Return the problems that an overlay has in a commit, and not in the work tree: files that are not committed."""
    if overlay is None:
        return []
    here = project.folder / os.path.relpath(overlay, folder)
    problems = check_kustomizations(overlay, limits, alone=True)
    known = check_kustomizations(here, limits, alone=True) if problems else []
    return [f"{here}: {problem}" for problem in problems if problem not in known]


def _find_uncommitted_used(project: Project, snapshot: Snapshot, limits: Limits) -> Uncommitted | None:
    """Return the locks of used folders that differ in a commit, if that changes what they provide."""
    named: list[tuple[str, Lock]] = []
    differing: list[Difference] = []
    for used in project.used_folders():
        place = (project.folder / used).resolve()
        data = read_lock_bytes(place, limits)
        if place.is_relative_to(snapshot.repository.root):
            path = (place.relative_to(snapshot.repository.root) / LOCK_FILE).as_posix()
            found = list(_differences(path, snapshot))
            differing += found
            data = snapshot.read(path) if found else data
        if data is not None:
            named.append((used, parse_lock(data, limits, place=f"{used}/{LOCK_FILE}")))
    if not differing:
        return None
    around = gather_neighbours(named)
    reasons = [*compare_provided(project.lock, around), *find_unsuited(project.lock, around)]
    names = [name for name in project.used_folders() if _has(project.folder / name, differing, snapshot)]
    return Uncommitted(project, reasons, differing, names) if reasons else None


def _has(folder: Path, files: Sequence[Difference], snapshot: Snapshot) -> bool:
    return any(snapshot.repository.root / one.path == folder.resolve() / LOCK_FILE for one in files)
