"""The versions of a package, newest first, with the size of the step from the locked one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from render.references import Source
from render.texts import visible
from render.versions.semantic import Step, step_between
from render.versions.version import Version
from render.views.labels import format_step, step_document


@dataclass(frozen=True, slots=True)
class Offered:
    """What a registry has of a package."""

    source: Source
    # Newest first.
    versions: Sequence[Version]
    # How many tags are no versions.
    others: int
    # The tag that is locked, if any.
    locked: str | None = None

    @property
    def releases(self) -> list[Version]:
        """The versions without prereleases; a locked one stays."""
        return [one for one in self.versions if not one.is_prerelease or one.text == self.locked]

    def step_to(self, version: Version) -> Step | None:
        """Return the size of the step from the locked version."""
        return step_between(self.locked, version.text) if self.locked else None


def format_versions(offered: Offered, shown: Sequence[Version]) -> str:
    """Write one version a line, with the step to it."""
    width = max((len(visible(one.text)) for one in shown), default=0)
    lines = [f"{visible(one.text):<{width}}  {_note(offered, one)}".rstrip() for one in shown]
    return "".join(f"{line}\n" for line in lines)


def versions_document(offered: Offered, shown: Sequence[Version]) -> dict[str, Any]:
    """Return the versions as JSON values."""
    return {
        "source": str(offered.source),
        "locked": offered.locked,
        "versions": [
            {
                "version": one.text,
                "prerelease": one.is_prerelease,
                "locked": one.text == offered.locked,
                **step_document(offered.step_to(one) if one.text != offered.locked else None),
            }
            for one in shown
        ],
    }


def _note(offered: Offered, version: Version) -> str:
    if version.text == offered.locked:
        return "locked"
    step = offered.step_to(version)
    return format_step(step) if step else ""
