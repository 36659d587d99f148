"""Which files a folder's inputs are read from: its own, and those that its kustomization names, here or elsewhere."""

import os
from pathlib import Path

from render.errors import RenderError
from render.inputs.folders import list_kustomizations, list_yaml_files
from render.inputs.kustomization_checks import read_paths
from render.limits import Limits
from render.system.files import LOCK_FILE, is_folder


def list_read_files(folder: Path, limits: Limits) -> set[str]:
    """Return the paths of these files as seen from the folder; a kustomization that is invalid names none."""
    names = list_yaml_files(folder, limits) if is_folder(folder) else []
    found = {name for name in names if name != LOCK_FILE}
    waiting, seen = ["."], {"."}
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
