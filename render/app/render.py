"""From a folder and its lock to objects: the one job that `render`, the plugin and dry runs share.

It imports nothing of resolving, registries or git, since rendering has to be fast.
"""

from collections.abc import Mapping
from pathlib import Path

from render.inputs.projects import Inputs, read_inputs
from render.lean import Any
from render.limits import Limits
from render.lock.freshness import require_fresh, require_lock
from render.lock.model import Lock
from render.manifests.objects import render_lock
from render.system.files import LOCK_FILE


def render_folder(folder: Path, limits: Limits, environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the objects of a folder, in their order; requires a lock that is up to date."""
    inputs = read_inputs(folder, limits, environ)
    return render_lock(read_fresh_lock(inputs, limits), inputs, limits, environ)


def read_fresh_lock(inputs: Inputs, limits: Limits) -> Lock:
    """Read the lock of a folder; raise if it is missing or does not answer the inputs."""
    lock = require_lock(inputs.folder, limits)
    require_fresh(lock, inputs.record, place=str(inputs.folder / LOCK_FILE))
    return lock
