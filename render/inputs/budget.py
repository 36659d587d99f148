"""How much of a whole folder is read: every file has limits of its own, and a folder may have thousands of files."""

import re
from collections.abc import Iterable
from pathlib import Path

from render.lean import Any
from render.limits import LimitExceeded, Limits

_INDENTATION = 2
# A file with the usual nesting is written out with about as many blanks as it has.
_INDENTED_PER_BYTE = 2


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
        # Nesting costs nothing in some files, and two blanks for every level and line in the output.
        self._indented = limits.folder_bytes * _INDENTED_PER_BYTE

    def take_text(self, data: bytes) -> None:
        """Count the memory that the text of a file takes; raise if the files of the folder are too large."""
        self._bytes -= len(data) * _character_bytes(data)
        if self._bytes < 0:
            raise FolderTooLarge(
                f"the files in {self._folder} are too large; every byte of a file with rare characters counts as "
                "up to four",
                "folder_bytes",
                self._limits,
            )

    def take_values(self, values: Iterable[Any]) -> list[Any]:
        """Return documents, each counted before the next one is parsed."""
        taken = []
        for value in values:
            self.take_value(value)
            taken.append(value)
        return taken

    def take_value(self, value: Any) -> None:
        """Count the values of a document as they are rendered, with every alias written out, level by level."""
        level, depth = [value], 0
        while level:
            self._nodes -= len(level)
            self._indented -= _INDENTATION * depth * len(level)
            below: list[Any] = []
            for one in level:
                if isinstance(one, str):
                    self._take_texts((one,))
                elif isinstance(one, dict):
                    below += one.values()
                    self._take_texts(one)
                elif isinstance(one, list):
                    below += one
                if self._nodes < len(below) or self._characters < 0 or self._indented < 0:
                    self._refuse()
            level, depth = below, depth + 1

    def _take_texts(self, texts: Iterable[str]) -> None:
        for text in texts:
            taken = len(text)
            # Written with escapes, and wide in memory: only rare texts need the exact number.
            if not (text.isascii() and text.isprintable()):
                taken = max(taken, sum(map(_written, text)))
            self._characters -= taken

    def _refuse(self) -> None:
        if self._characters < 0:
            what, limit = "too much text, aliases written out", "folder_bytes"
        elif self._indented < 0:
            what, limit = "too many lines that are nested deep", "folder_bytes"
        else:
            what, limit = "too many values, aliases written out", "folder_nodes"
        raise FolderTooLarge(f"the files in {self._folder} hold {what}", limit, self._limits)


def _character_bytes(data: bytes) -> int:
    """Return how many bytes Python takes for each character of a text: as many as its rarest one needs."""
    if data.isascii():
        return 1
    if re.search(b"[\xf0-\xf7]", data):
        return 4
    return 2 if re.search(b"[\xc4-\xef]", data) else 1


def _written(character: str) -> int:
    """Return how many characters one becomes in a quoted text."""
    return 1 if character == "\n" or character.isprintable() else 6
