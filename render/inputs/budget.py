"""How much of a whole folder is read: every file has limits of its own, and a folder may have thousands of files."""

from collections.abc import Iterable
from pathlib import Path

from render.lean import Any
from render.limits import LimitExceeded, Limits


class FolderTooLarge(LimitExceeded):
    """A folder that is too large as a whole, so that nothing more of it is read."""


class Budget:
    """The bytes and values that may still be read for one folder."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self._folder = folder
        self._limits = limits
        self._bytes = limits.folder_bytes
        self._characters = limits.folder_bytes
        self._nodes = limits.folder_nodes

    def take_bytes(self, count: int) -> None:
        """Count the bytes of a file; raise if the files of the folder are too large."""
        self._bytes -= count
        if self._bytes < 0:
            raise FolderTooLarge(f"the files in {self._folder} are too large", "folder_bytes", self._limits)

    def take_values(self, values: Iterable[Any]) -> list[Any]:
        """Return documents, each counted before the next one is parsed."""
        taken = []
        for value in values:
            self.take_value(value)
            taken.append(value)
        return taken

    def take_value(self, value: Any) -> None:
        """Count the values of a document as they are rendered, with every alias written out."""
        waiting = [value]
        while waiting:
            one = waiting.pop()
            self._nodes -= 1
            if isinstance(one, str):
                self._characters -= len(one)
            elif isinstance(one, dict):
                waiting += one.values()
                self._characters -= sum(map(len, one))
            elif isinstance(one, list):
                waiting += one
            if self._nodes < len(waiting) or self._characters < 0:
                self._refuse()

    def _refuse(self) -> None:
        if self._characters < 0:
            what, limit = "too much text, aliases written out", "folder_bytes"
        else:
            what, limit = "too many values, aliases written out", "folder_nodes"
        raise FolderTooLarge(f"the files in {self._folder} hold {what}", limit, self._limits)
