"""What `xplock mirror` was asked to do, and what it returns."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from render.app.mirroring.ends import End
from render.mirrors import FULL, Mirror
from render.registry.copying.model import Report


@dataclass(frozen=True, slots=True)
class MirrorCall:
    """What `xplock mirror` was asked to do."""

    to: End
    # Where images come from instead of the registries of a lock.
    stored: End | None = None
    layouts: Sequence[tuple[str, Path]] = ()
    paths: str = FULL
    pull_secret: str | None = None
    attached: bool = True
    move_tags: bool = False
    deep: bool = False
    # Whether nothing is written.
    only_look: bool = False
    jobs: int = 4

    @property
    def mirror(self) -> Mirror | None:
        """The mirror, if it is a registry."""
        return Mirror(self.to.prefix, self.paths, self.pull_secret) if self.to.is_registry else None


@dataclass(frozen=True, slots=True)
class Mirrored:
    """What was copied, or would be, and the ImageConfigs for it."""

    reports: Sequence[Report]
    configs: Sequence[dict[str, Any]] = ()
