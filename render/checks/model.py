"""What rules look at, and what they find."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from render.errors import RenderError
from render.inputs.projects import Inputs
from render.lock.cluster import Member
from render.lock.model import Lock
from render.lock.neighbours import NOBODY, Neighbours


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a folder."""

    rule: str
    folder: str
    message: str
    why: tuple[str, ...]
    next: tuple[str, ...]
    exit_code: int

    @classmethod
    def of(cls, rule: str, folder: "CheckedFolder", error: RenderError) -> "Finding":
        """Return what an error says, as a finding."""
        return cls(rule, folder.name, error.what, error.why, error.next, error.exit_code)


@dataclass(frozen=True, slots=True)
class CheckedFolder:
    """A folder with everything that could be read of it, or why it could not."""

    folder: Path
    inputs: Inputs | RenderError
    # Nothing if there is none.
    lock: Lock | RenderError | None
    # How a lock differs from what is asked for, or contradicts itself.
    stale: tuple[str, ...] = ()
    # What other folders have, with the moves of this one.
    around: Neighbours | RenderError = NOBODY
    # What is rendered from a lock that is up to date.
    objects: tuple[Mapping[str, Any], ...] | RenderError = ()

    @property
    def name(self) -> str:
        """The folder as the user names it."""
        return str(self.folder)

    @property
    def path(self) -> Path:
        """Where the folder really is."""
        return self.folder.resolve()


@dataclass(frozen=True, slots=True)
class Checked:
    """All folders of a call."""

    folders: tuple[CheckedFolder, ...]
    # These folders, and all that they use.
    members: Mapping[Path, Member] = field(default_factory=dict)
    # Whether all are of one cluster, although none uses another.
    same_cluster: bool = False
