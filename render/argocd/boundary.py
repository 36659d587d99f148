"""The repository that Argo CD sent: the paths that its files name must stay inside."""

from collections.abc import Mapping
from pathlib import Path

from render.inputs.folders import is_repository
from render.system.boundary import Boundary, real_path


def find_repository(folder: Path, environ: Mapping[str, str]) -> Boundary:
    """Return the repository of the project that is rendered; the folder itself where nothing tells more."""
    here = real_path(folder)
    sent = _sent_folder(here, environ.get("ARGOCD_APP_SOURCE_PATH"))
    above = [path for path in (here, *here.parents) if sent is None or path.is_relative_to(sent)]
    return Boundary(next(filter(is_repository, above), sent or here))


def _sent_folder(here: Path, path: str | None) -> Path | None:
    """Return the folder that holds what Argo CD sent: the repository, or the part of it that the Application needs."""
    if path is None:
        return None
    # The folder's own path ends with the Application's path, or with the end of that if only a part was sent.
    parts = [part for part in path.split("/") if part not in ("", ".")]
    for part in reversed(parts):
        if here.name != part:
            break
        here = here.parent
    return here
