"""A folder as read, and the lock that resolving found for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from render.inputs.projects import Inputs
from render.lifecycle.update import CurrentLock
from render.lock.model import FORMAT_REVISION, Lock
from render.lock.text.format import format_lock
from render.references import Source


@dataclass(frozen=True, slots=True)
class ReadFolder:
    """A folder as read: its inputs, the lock that resolving starts from, and the text of its file."""

    inputs: Inputs
    current: CurrentLock
    text: bytes | None

    def unchanged(self) -> "Outcome":
        """Return the outcome where the lock stays; the text of a newer xplock is left as it is."""
        lock, text = self.current.lock, self.text
        if text is None or lock.revision <= FORMAT_REVISION:
            text = format_lock(lock).encode()
        return Outcome(self.inputs, lock, lock, self.text, text)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The inputs of a folder, its lock before, and the lock that answers the inputs."""

    inputs: Inputs
    before: Lock
    after: Lock
    # The text of the file before, None without a file, and the text that it should have.
    text_before: bytes | None
    text: bytes
    # Versions that other folders provide now and that packages of the lock before do not accept.
    unsuited: tuple[str, ...] = ()
    # Warnings about the new lock.
    notes: tuple[str, ...] = ()
    # The packages that other folders in reach need of this one, with these folders.
    needed: Mapping[Source, Sequence[str]] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The folder."""
        return self.inputs.folder

    @property
    def changes(self) -> bool:
        """Whether the file would change; comments, quotes and the order of lines count."""
        return self.text != self.text_before
