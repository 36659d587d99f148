"""What is near a folder and not read: project folders, and manifests below it; only errors and notes need them."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from render.errors import RenderError
from render.inputs.folders import is_repository
from render.limits import Limits
from render.references import Source
from render.settings import SETTINGS_FILE
from render.system.boundary import Boundary, real_path
from render.system.files import LOCK_FILE, read_plain

_DEPTH = 3
_MOST_FOLDERS = 2_000
_SHOWN = 5
_MANIFESTS = (".yaml", ".yml", ".json")
# Rendered packages ask for nothing; their pins, guards and headers show where they come from.
_RENDERED = rb"Written by xplock|name: xplock-|kustomize\.toolkit\.fluxcd\.io/prune: disabled"


def find_nearby_projects(folder: Path, boundary: Boundary | None) -> list[Path]:
    """Return the first project folders below a folder, else the next above it, else those beside it in its repository."""
    below = sorted(_below(folder))[:_SHOWN]
    above = (path for path in _above(folder) if boundary is None or boundary.includes(path))
    return below or list(above)[:1] or sorted(_beside(folder, boundary))[:_SHOWN]


def _beside(folder: Path, boundary: Boundary | None) -> Iterator[Path]:
    here = real_path(folder)
    parent = _shortest(folder / "..")
    # Outside of a repository, anything may be beside a folder.
    inside = not is_repository(here) and any(map(is_repository, here.parents))
    if inside and (boundary is None or boundary.includes(parent)):
        yield from _below(parent)


def _shortest(path: Path) -> Path:
    """Return a path without steps up, if it leads to the same folder: a link may be among them."""
    plain = Path(os.path.normpath(path))
    return plain if real_path(plain) == real_path(path) else path


def find_requests_below(folder: Path, sources: Iterable[Source], limits: Limits) -> dict[Source, Path]:
    """Return the sources that manifests in subfolders ask for, with the first file; project folders are left out."""
    patterns = {source: _request_pattern(source) for source in sources}
    found: dict[Source, Path] = {}
    for path in _manifests_below(folder):
        text = _read(path, limits)
        for source, pattern in patterns.items():
            if source not in found and pattern.search(text):
                found[source] = path
    return found


def _request_pattern(source: Source) -> re.Pattern[bytes]:
    return re.compile(
        rb"(?m)^[ \t-]*package:[ \t]*[\"']?" + re.escape(str(source).encode()) + rb"(?![\w./-])"
    )


def _manifests_below(folder: Path) -> Iterator[Path]:
    waiting = [(path, 1) for path in _subfolders(folder)]
    for here, depth in waiting:
        if is_project(here):
            continue
        yield from sorted(path for path in _files(here) if path.suffix in _MANIFESTS)
        if depth < _DEPTH and len(waiting) < _MOST_FOLDERS:
            waiting += [(path, depth + 1) for path in _subfolders(here)]


def _files(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [folder / one.name for one in entries if one.is_file(follow_symlinks=False)]
    except OSError:
        return []


def _read(path: Path, limits: Limits) -> bytes:
    try:
        data = read_plain(path, limits.meta_bytes) or b""
    except (OSError, RenderError):
        return b""
    return b"" if re.search(_RENDERED, data) else data


def _below(folder: Path) -> Iterator[Path]:
    waiting = [(folder, 0)]
    for here, depth in waiting:
        if depth and is_project(here):
            yield here
        elif depth < _DEPTH and len(waiting) < _MOST_FOLDERS:
            waiting += [(path, depth + 1) for path in _subfolders(here)]


def _above(folder: Path) -> Iterator[Path]:
    here, shown = real_path(folder), folder
    while here != here.parent and not is_repository(here):
        here, shown = here.parent, shown / ".."
        if is_project(here):
            yield _shortest(shown)


def _subfolders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            found = [one for one in entries if one.name[0] != "." and one.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return sorted(folder / one.name for one in found)


def is_project(folder: Path) -> bool:
    """Return whether a folder has a lock or settings."""
    return any(os.path.lexists(folder / name) for name in (LOCK_FILE, SETTINGS_FILE))
