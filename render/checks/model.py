"""What rules look at, and what they find."""

from collections.abc import Mapping
from pathlib import Path

from render.errors import RenderError
from render.inputs.projects import Inputs
from render.lean import TYPE_CHECKING, Any, dataclass, field
from render.lock.model import Lock

if TYPE_CHECKING:
    # Most calls have nothing to do with other folders, and do without these.
    from render.folders.members import Member
    from render.folders.neighbours import Neighbours


@dataclass(frozen=True, slots=True)
class Place:
    """The file that is at fault, and the line in it: near enough for an editor or a pull request to show it."""

    file: Path
    line: int = 1


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a folder."""

    rule: str
    folder: str
    message: str
    why: tuple[str, ...]
    next: tuple[str, ...]
    exit_code: int
    place: Place

    @property
    def text(self) -> str:
        """What it says, as errors look that stop a command."""
        return str(RenderError(self.message, why=self.why, next=self.next))

    @classmethod
    def of(cls, rule: str, folder: "CheckedFolder", error: RenderError, place: Place) -> "Finding":
        """Return what an error says, as a finding."""
        return cls(rule, folder.name, error.what, error.why, error.next, error.exit_code, place)


@dataclass(frozen=True, slots=True)
class Listing:
    """An entry of a kustomization that is a lock."""

    kustomization: Path
    # The way to the entry, and what stands there.
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class CheckedFolder:
    """A folder with everything that could be read of it, or why it could not."""

    folder: Path
    inputs: Inputs | RenderError
    # Nothing if there is none.
    lock: Lock | RenderError | None
    # How a lock differs from what is asked for, or contradicts itself.
    stale: tuple[str, ...] = ()
    # What is rendered from a lock that is up to date.
    objects: tuple[Mapping[str, Any], ...] | RenderError = ()
    # Where kustomizations of the folder, of what it builds on and of folders above it name a lock.
    listings: tuple[Listing, ...] = ()
    # What other folders have, with the moves of this one; nothing if it has nothing to do with any.
    around: "Neighbours | RenderError | None" = None

    @property
    def name(self) -> str:
        """The folder as the user names it."""
        return str(self.folder)

    @property
    def path(self) -> Path:
        """Where the folder really is."""
        return self.folder.resolve()

    @property
    def fresh_lock(self) -> Lock | None:
        """The lock, if it can be read and holds."""
        return self.lock if isinstance(self.lock, Lock) and not self.stale else None

    @property
    def has_neighbours(self) -> bool:
        """Whether the folder uses others, or did when it was locked."""
        uses = isinstance(self.inputs, Inputs) and self.inputs.settings.uses
        return bool(uses) or (isinstance(self.lock, Lock) and bool(self.lock.provided))


@dataclass(frozen=True, slots=True)
class Checked:
    """All folders of a call."""

    folders: tuple[CheckedFolder, ...]
    # These folders, and all that they use; nothing if each of them stands alone.
    members: "Mapping[Path, Member]" = field(default_factory=dict)
    # Whether all are of one cluster, although none uses another.
    same_cluster: bool = False
