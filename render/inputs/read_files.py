"""Which files a folder is read from: its own, and those that its kustomization or its overlay names, here or elsewhere."""

import os
from pathlib import Path

from render.errors import RenderError
from render.inputs.folders import list_kustomizations, list_yaml_files, read_inside
from render.inputs.kustomizations.checks import read_paths
from render.limits import Limits
from render.settings import SETTINGS_FILE
from render.system.files import LOCK_FILE, is_folder, is_there
from render.yaml.documents import file_rules, parse_documents


def list_read_files(folder: Path, limits: Limits) -> set[str]:
    """Return the paths of these files as seen from the folder; a kustomization that is invalid names none."""
    names = list_yaml_files(folder, limits) if is_folder(folder) else []
    found = {name for name in names if name != LOCK_FILE}
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


def find_overlay(folder: Path, limits: Limits) -> str | None:
    """Return the overlay of a folder's settings, as it is written; settings that are invalid name none."""
    if not is_there(folder / SETTINGS_FILE):
        return None
    try:
        data = read_inside(folder / SETTINGS_FILE, folder, limits)
        documents = parse_documents(data, file_rules(limits))
    except RenderError:
        # Reported when the inputs are read.
        return None
    overlay = documents[0].get("overlay") if documents and isinstance(documents[0], dict) else None
    usable = isinstance(overlay, str) and "\0" not in overlay and not Path(overlay).is_absolute()
    return overlay if usable else None


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
