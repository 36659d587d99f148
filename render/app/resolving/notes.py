"""Notes about a new lock: what it could not consider, and what it does not read."""

from pathlib import Path

from render.inputs.nearby import find_requests_below
from render.lifecycle.preferences import LockedTags
from render.limits import Limits
from render.lock.model import Lock, State
from render.texts import first_names

# How many sources a note names.
_SHOWN = 5


def note_moved_below(folder: Path, before: Lock, after: Lock, limits: Limits) -> list[str]:
    """Describe the packages that are leaving although a manifest in a subfolder asks for them."""
    asked = [source for source, package in before.packages.items() if package.root is not None]
    left = [s for s in asked if s not in after.packages or after.packages[s].state is State.ORPHANED]
    if not left:
        return []
    found = find_requests_below(folder, left, limits)
    return [
        f"{source} is leaving; {path} asks for it, and is not read: only files in the folder itself are"
        for source, path in sorted(found.items())
    ]


def note_incomplete(known: LockedTags) -> list[str]:
    """Name the sources whose registries were not asked: only locked and cached versions were considered."""
    names = sorted(map(str, known.incomplete))
    return [
        f"offline: of {first_names(names, _SHOWN)} only versions in the lock and in the cache were considered; "
        "a registry may have others"
    ][: len(names)]
