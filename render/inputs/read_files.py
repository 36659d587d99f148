"""Which files a folder is read from: its own, and those that its settings or a kustomization name, here or elsewhere."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from render.errors import RenderError
from render.inputs.folders import list_kustomizations, list_yaml_files, read_inside
from render.inputs.kustomizations.checks import read_paths
from render.limits import Limits
from render.settings import SETTINGS_FILE
from render.system.files import LOCK_FILE, REGISTRY_FOLDER, is_folder, is_there
from render.yaml.documents import file_rules, parse_documents


def list_read_files(folder: Path, limits: Limits) -> set[str]:
    """Return the paths of these files as seen from the folder; a kustomization that is invalid names none."""
    names = list_yaml_files(folder, limits) if is_folder(folder) else []
    found = {name for name in names if name != LOCK_FILE}
    found.update(find_catalogs(folder, limits), _list_first_format(folder, limits))
    overlay = find_overlay(folder, limits)
    waiting = [".", *([os.path.normpath(overlay)] if overlay is not None else [])]
    seen = set(waiting)
    while waiting and len(seen) <= limits.kustomizations:
        here = waiting.pop()
        for path in list_named_paths(folder / here, limits):
            name = os.path.normpath(Path(here) / path)
            if not is_folder(folder / name):
                found.add(name)
            elif name not in seen:
                seen.add(name)
                waiting.append(name)
    return found


def _list_first_format(folder: Path, limits: Limits) -> list[str]:
    """Return the files of a package of the first format in a folder."""
    registry = folder / REGISTRY_FOLDER
    if not is_there(registry):
        return []
    # Imported late: few folders are packages of the first format.
    from render.packages_v1.tree import list_files

    return [path.relative_to(folder).as_posix() for path in list_files(registry, limits)]


def find_overlay(folder: Path, limits: Limits) -> str | None:
    """Return the overlay of a folder's settings, as it is written; settings that are invalid name none."""
    overlay = _read_settings(folder, limits).get("overlay")
    return overlay if _is_relative(overlay) else None


def find_catalogs(folder: Path, limits: Limits) -> list[str]:
    """Return the catalog files that a folder's settings name; settings that are invalid name none."""
    entries = _read_settings(folder, limits).get("catalog")
    listed = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    return [os.path.normpath(entry["file"]) for entry in listed if _is_relative(entry.get("file"))]


def _read_settings(folder: Path, limits: Limits) -> Mapping[str, Any]:
    if not is_there(folder / SETTINGS_FILE):
        return {}
    try:
        data = read_inside(folder / SETTINGS_FILE, folder, limits)
        documents = parse_documents(data, file_rules(limits))
    except RenderError:
        # Reported when the inputs are read.
        return {}
    return documents[0] if documents and isinstance(documents[0], dict) else {}


def _is_relative(path: object) -> bool:
    return isinstance(path, str) and "\0" not in path and not Path(path).is_absolute()


def list_named_paths(folder: Path, limits: Limits) -> list[str]:
    """Return the paths that the kustomization of a folder names, and its own name."""
    paths: list[str] = []
    for file in list_kustomizations(folder):
        try:
            paths += [file.name, *(path for _, path in read_paths(file, limits))]
        except RenderError:
            # Reported when the inputs are read.
            paths.append(file.name)
    return paths
