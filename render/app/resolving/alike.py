"""Folders that are alike: where the inputs and the lock before are the same, so is the answer."""

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from render.folders.neighbours import NO_NEIGHBOURS

if TYPE_CHECKING:
    from render.app.resolving.outcome import Outcome, ReadFolder
    from render.folders.neighbours import Neighbours

# The text of the lock before, and the record of the inputs.
_Key: TypeAlias = tuple[bytes | None, tuple[tuple[str, str], ...]]


class Alike:
    """Keeps the answers of one run; a fleet has many clusters and few different folders."""

    def __init__(self) -> None:
        self._known: dict[_Key, Outcome] = {}

    def find(self, read: "ReadFolder", around: "Neighbours") -> "Outcome | None":
        """Return the answer to an earlier folder, if it is that to this one as well."""
        known = self._known.get(_key(read)) if _stands_alone(read, around) else None
        if known is None or replace(known.inputs, folder=read.inputs.folder) != read.inputs:
            return None
        return replace(known, inputs=read.inputs)

    def keep(self, read: "ReadFolder", around: "Neighbours", outcome: "Outcome") -> None:
        """Keep the answer to a folder; an error names its folder, and is not kept."""
        if _stands_alone(read, around):
            self._known[_key(read)] = outcome


def _key(read: "ReadFolder") -> _Key:
    return read.text, tuple(read.inputs.record.items())


def _stands_alone(read: "ReadFolder", around: "Neighbours") -> bool:
    return around == NO_NEIGHBOURS and not read.current.merged
