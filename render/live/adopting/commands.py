"""Commands to paste that refusals print, each for the cluster that was read."""

from collections.abc import Sequence

from render.commands import shell
from render.lean import dataclass

_KUBECTL = "kubectl"


@dataclass(frozen=True, slots=True)
class Commands:
    """Makes commands for one cluster."""

    # The options of kubectl that choose it.
    options: Sequence[str] = ()
    # The files that it was read from; without any, kubectl reads it.
    files: Sequence[str] = ()

    def kubectl(self, *words: str) -> str:
        """Return a command of kubectl."""
        return shell(_KUBECTL, *self.options, *words)

    def patch(self, resource: str, value: str) -> str:
        """Return the command that merges a value into an object."""
        return self.kubectl("patch", resource, "--type", "merge", "-p", value)

    def doctor(self) -> str:
        """Return the command that diagnoses the cluster."""
        return shell("xplock", "doctor", *self.options, *self.files)
