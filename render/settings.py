"""What a project's settings say; where they come from and how they are written is not known here."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from render.lean import TYPE_CHECKING, dataclass, field
from render.moves import Move
from render.requests import Root
from render.rewrites import Rewrite
from render.versions import Version

if TYPE_CHECKING:
    # What is rendered has them applied already.
    from render.overrides import Override

SETTINGS_FILE = "xplock.yaml"


class Families(StrEnum):
    """Which version of a family package is preferred."""

    FOLLOW = "follow"
    FREE = "free"


class PartialDependencies(StrEnum):
    """What becomes of a dependency that is written without its registry."""

    COMPLETE = "complete"
    REFUSE = "refuse"


class PinMode(StrEnum):
    """How a manifest makes sure of the bytes that were locked."""

    DIGEST = "digest"
    TAG = "tag"
    NATIVE = "native"


class Detach(StrEnum):
    """Which packages are taken out of Crossplane's own resolution."""

    NEEDED = "needed"
    ALL = "all"


class Waves(StrEnum):
    """In which order Argo CD applies packages."""

    FLAT = "flat"
    GRAPH = "graph"


@dataclass(frozen=True, slots=True)
class Settings:
    """What xplock.yaml says."""

    roots: tuple[Root, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()
    moves: tuple[Move, ...] = ()
    # Each folder as it was written, and where that is.
    uses: tuple[tuple[str, Path], ...] = ()
    crossplane_version: Version | None = None
    families: Families = Families.FOLLOW
    partial_dependencies: PartialDependencies = PartialDependencies.COMPLETE
    overrides: "tuple[Override, ...]" = ()
    pin: PinMode = PinMode.DIGEST
    detach: Detach = Detach.NEEDED
    guard: bool = True
    waves: Waves = Waves.FLAT
    overlay: Path | None = None
    # Each prefix with the folder that answers for it.
    layouts: tuple[tuple[str, Path], ...] = ()
    # What differs from the default values, by key and as written; without roots and rewrites.
    given: Mapping[str, object] = field(default_factory=dict)
