"""A folder as a clone of a commit would have it: the files that it is read from, and no others, in a scratch folder."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from render.app.commits.projects import Project
from render.errors import RenderError
from render.git.snapshots import Snapshot
from render.inputs.folders import KUSTOMIZATION_FILES
from render.inputs.read_files import find_catalogs, find_overlay, list_named_paths
from render.limits import Limits
from render.system.files import REGISTRY_FOLDER
from render.system.scratch import scratch_folder, writing

_FILES = "git's files"


@dataclass(frozen=True, slots=True)
class Clone:
    """A folder below the root of such a clone, and the paths that its user knows both by."""

    folder: Path
    root: Path
    users_folder: Path
    users_root: Path

    def as_here(self, text: str) -> str:
        """Return a text with the user's paths: the user never saw those of the clone."""
        text = re.sub(rf"{re.escape(str(self.folder))}(?![\w.+~@=-])", lambda _: str(self.users_folder), text)
        return text.replace(str(self.root), str(self.users_root))


@contextmanager
def as_in_clone(project: Project, snapshot: Snapshot) -> Iterator[Clone]:
    """Write the files that a project is read from; errors name the user's paths."""
    repository = snapshot.repository
    with scratch_folder(_FILES) as scratch:
        root = scratch / "tree"
        clone = Clone(root / project.prefix, root, project.folder, repository.root)
        try:
            _write(project.prefix, snapshot, root, repository.limits)
            yield clone
        except RenderError as error:
            error.what = clone.as_here(error.what)
            error.why = tuple(map(clone.as_here, error.why))
            error.next = tuple(map(clone.as_here, error.next))
            raise


def _write(prefix: str, snapshot: Snapshot, root: Path, limits: Limits) -> None:
    with writing(_FILES):
        (root / prefix).mkdir(parents=True)
    direct = snapshot.list_folder(prefix, deep=False)
    if any(path[len(prefix) :] in KUSTOMIZATION_FILES for path in direct):
        _write_kustomizations(prefix, snapshot, root, limits)
    else:
        linked = any(map(snapshot.is_link, direct))
        snapshot.write(snapshot.list_folder(prefix, deep=True) if linked else direct, root)
    named = [_joined(prefix, name) for name in find_catalogs(root / prefix, limits)]
    old = snapshot.list_folder(f"{prefix}{REGISTRY_FOLDER}/", deep=True)
    snapshot.write(
        [path for path in (*named, *old) if not (root / path).exists() and snapshot.has(path)], root
    )
    overlay = find_overlay(root / prefix, limits)
    if overlay is not None:
        _write_folder(_joined(prefix, overlay), snapshot, root)


def _write_kustomizations(prefix: str, snapshot: Snapshot, root: Path, limits: Limits) -> None:
    """Write a kustomization and all that it builds on."""
    waiting, seen = [prefix], {prefix}
    while waiting and len(seen) <= limits.kustomizations:
        here = waiting.pop()
        if not _write_folder(here.rstrip("/"), snapshot, root):
            break
        found = {_joined(here, name) for name in list_named_paths(root / here, limits)}
        bases = {f"{path}/" for path in found if not path.startswith("..") and not _is_plain(path, snapshot)}
        waiting += bases - seen
        seen |= bases


def _write_folder(path: str, snapshot: Snapshot, root: Path) -> bool:
    """Write a folder; return False if all of the repository had to be written instead."""
    files = snapshot.list_folder(f"{path}/" if path else "", deep=True)
    # A path through a link can lead to any folder.
    plain = bool(files) and not any(map(snapshot.is_link, files))
    snapshot.write(files if plain else snapshot.list_folder("", deep=True), root)
    return plain


def _is_plain(path: str, snapshot: Snapshot) -> bool:
    return snapshot.has(path) and not snapshot.is_link(path)


def _joined(folder: str, name: str) -> str:
    path = os.path.normpath(folder + name)
    return "" if path == "." else path
