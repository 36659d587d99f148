"""The stages, joined: from a folder and its lock to manifests.

Apart from pipeline.py, so that whoever only renders imports nothing of resolving, registries or git.
"""

from collections.abc import Mapping
from pathlib import Path

from render.inputs.projects import Inputs, read_inputs
from render.lean import Any
from render.limits import Limits
from render.lock.freshness import require_fresh, require_lock
from render.lock.model import Lock
from render.manifests.objects import render_objects
from render.system.files import LOCK_FILE


def render_folder(folder: Path, limits: Limits, environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the objects of a folder, in their order; its lock has to be there and up to date."""
    inputs = read_inputs(folder, limits, environ)
    lock = require_lock(folder, limits)
    require_fresh(lock, inputs.record, place=str(folder / LOCK_FILE))
    return render_lock(lock, inputs, limits, environ)


def render_lock(
    lock: Lock, inputs: Inputs, limits: Limits, environ: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return the objects that a lock makes of what a folder asks for."""
    objects = render_objects(lock, inputs)
    overlay = inputs.settings.overlay
    if overlay is None:
        return objects
    # Starting programs is for those who have an overlay.
    from render.manifests.overlay import apply_overlay

    return apply_overlay(objects, overlay, inputs.folder, limits, environ)
