"""The result of adopting a cluster."""

from collections.abc import Mapping
from pathlib import Path

from render.lean import dataclass
from render.live.adopting.comparison import Comparison
from render.live.adopting.found import Found
from render.live.adopting.roots import AdoptedRoot
from render.lock.model import Lock
from render.settings import PinMode


@dataclass(frozen=True, slots=True)
class Adoption:
    """A folder for the packages of a cluster."""

    folder: Path
    # The files to write, with their texts; the lock is the last one.
    files: Mapping[str, bytes]
    roots: tuple[AdoptedRoot, ...]
    dependencies: tuple[Found, ...]
    lock: Lock
    comparison: Comparison
    pin: PinMode
    # Packages whose bytes no revision proves.
    unproven: tuple[str, ...]
    notes: tuple[str, ...]
    # What the lock's reviewers were warned of.
    warnings: tuple[str, ...] = ()
