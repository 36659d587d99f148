"""The settings of a project, as values."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from render.crd_dependencies import CatalogSource
from render.lean import TYPE_CHECKING, dataclass, field
from render.mirrors import Mirror
from render.moves import Move
from render.rewrites import Rewrite
from render.versions.requests import Root
from render.versions.version import Version

if TYPE_CHECKING:
    # What is rendered has them applied already.
    from render.overrides import Override
    from render.policy.model import Policy

SETTINGS_FILE = "xplock.yaml"


class Families(StrEnum):
    """Which version of a family package is preferred."""

    FOLLOW = "follow"
    FREE = "free"


class PartialDependencies(StrEnum):
    """How a dependency without a registry is treated."""

    COMPLETE = "complete"
    REFUSE = "refuse"


class PinMode(StrEnum):
    """How manifests pin the locked bytes."""

    DIGEST = "digest"
    TAG = "tag"
    NATIVE = "native"


class Detach(StrEnum):
    """Which packages are detached from Crossplane's own resolution."""

    NEEDED = "needed"
    ALL = "all"


class Waves(StrEnum):
    """The order in which Argo CD applies packages."""

    FLAT = "flat"
    GRAPH = "graph"


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings in xplock.yaml."""

    roots: tuple[Root, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()
    moves: tuple[Move, ...] = ()
    # Each folder as it is written, and its path.
    uses: tuple[tuple[str, Path], ...] = ()
    # The folders of environments in the order in which versions are promoted.
    environments: tuple[str, ...] = ()
    crossplane_version: Version | None = None
    families: Families = Families.FOLLOW
    partial_dependencies: PartialDependencies = PartialDependencies.COMPLETE
    overrides: "tuple[Override, ...]" = ()
    pin: PinMode = PinMode.DIGEST
    detach: Detach = Detach.NEEDED
    guard: bool = True
    waves: Waves = Waves.FLAT
    overlay: Path | None = None
    # The sources to look in for packages that define CRDs, and the files that list such packages.
    catalog: tuple[CatalogSource, ...] = ()
    catalog_files: tuple[str, ...] = ()
    # Each prefix, and the folder that is read for it.
    layouts: tuple[tuple[str, Path], ...] = ()
    # Where Crossplane pulls from, if that is not where packages are fetched from.
    mirror: Mirror | None = None
    # Which packages are allowed; rendering does not ask.
    policy: "Policy | None" = None
    # What differs from the default values, by key and as written; without roots and rewrites.
    given: Mapping[str, object] = field(default_factory=dict)
