"""What rules check, and what they return."""

from collections.abc import Mapping
from pathlib import Path

from render.errors import RenderError
from render.inputs.projects import Inputs
from render.lean import TYPE_CHECKING, Any, dataclass, field, replace
from render.lock.model import Lock
from render.system.boundary import real_path

if TYPE_CHECKING:
    # Imported late: most calls check folders that use no others, and are of no environment.
    from render.checks.environments import Earlier
    from render.folders.members import Member
    from render.folders.neighbours import Neighbours
    from render.policy.model import Policy


@dataclass(frozen=True, slots=True)
class Place:
    """A file and a line that an editor or a pull request can show."""

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
    # One for each line of `why`, if each of these is a problem of its own.
    places: tuple[Place, ...] = ()
    # The start of each problem, where its line says too little by itself.
    lead: str = ""

    @property
    def text(self) -> str:
        """The finding in the form of an error: what, why, next."""
        return str(RenderError(self.message, why=self.why, next=self.next))

    def split(self) -> "list[Finding]":
        """Return one finding for each problem, at its place."""
        if not self.places:
            return [self]
        pairs = zip(self.why, self.places, strict=True)
        return [
            replace(self, message=f"{self.lead}{text}", why=(), place=place, places=())
            for text, place in pairs
        ]

    @classmethod
    def of(cls, rule: str, folder: "CheckedFolder", error: RenderError, place: Place) -> "Finding":
        """Return an error as a finding."""
        return cls(rule, folder.name, error.what, error.why, error.next, error.exit_code, place)


@dataclass(frozen=True, slots=True)
class Listing:
    """An entry of a kustomization that is a lock."""

    kustomization: Path
    # The path of the entry in the file, and its text.
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class CheckedFolder:
    """A folder with its inputs, lock and rendered objects, each of them or the error of reading it."""

    folder: Path
    inputs: Inputs | RenderError
    # None: the folder has no lock.
    lock: Lock | RenderError | None
    # How the lock differs from the inputs, or contradicts itself.
    stale: tuple[str, ...] = ()
    # What is rendered from a fresh lock.
    objects: tuple[Mapping[str, Any], ...] | RenderError = ()
    # Entries with a lock in the kustomizations of the folder, of its bases, and of the folders above it.
    listings: tuple[Listing, ...] = ()
    # The other folders of its cluster, after the moves of this one; None if it uses no others.
    around: "Neighbours | RenderError | None" = None

    @property
    def name(self) -> str:
        """The folder as the user wrote it."""
        return str(self.folder)

    @property
    def path(self) -> Path:
        """The folder without links."""
        return real_path(self.folder)

    @property
    def fresh_lock(self) -> Lock | None:
        """The lock, if it is valid and fresh."""
        return self.lock if isinstance(self.lock, Lock) and not self.stale else None

    @property
    def has_neighbours(self) -> bool:
        """Whether the folder uses others, or did so when it was locked."""
        uses = isinstance(self.inputs, Inputs) and self.inputs.settings.uses
        return bool(uses) or (isinstance(self.lock, Lock) and bool(self.lock.provided))


@dataclass(frozen=True, slots=True)
class Checked:
    """All folders of a call."""

    folders: tuple[CheckedFolder, ...]
    # These folders and all that they use; empty, if none of them uses another.
    members: "Mapping[Path, Member]" = field(default_factory=dict)
    # Whether all folders belong to one cluster even if none uses another.
    same_cluster: bool = False
    # The operator's policy for all folders.
    operator_policy: "Policy | None" = None
    # The folder of the environment before each folder that has one, by its real path.
    earlier: "Mapping[Path, Earlier]" = field(default_factory=dict)
