"""Where text goes: results to stdout, everything else to stderr."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from render.errors import RenderError
from render.texts import redact, visible

_RED, _YELLOW, _PLAIN = "\x1b[1;31m", "\x1b[1;33m", "\x1b[0m"


@dataclass(slots=True)
class Output:
    """What a command says, and how loudly."""

    verbosity: int = 0
    _warned: set[str] = field(default_factory=set)

    def result(self, text: str) -> None:
        """Write the result of the command."""
        sys.stdout.write(text)

    def result_json(self, document: Any) -> None:
        """Write the result for a program."""
        self.result(json.dumps(document, indent=2, ensure_ascii=False) + "\n")

    def say(self, text: str) -> None:
        """Tell what happens, unless asked to be quiet."""
        if self.verbosity >= 0:
            self._write(visible(redact(text)))

    def trace(self, text: str) -> None:
        """Tell every detail, if asked to."""
        if self.verbosity > 0:
            self._write(visible(redact(text)))

    def warn(self, text: str) -> None:
        """Tell once what is odd but does not stop us."""
        if text not in self._warned:
            self._warned.add(text)
            self._write(f"{_coloured('warning:', _YELLOW)} {visible(redact(text))}")

    def error(self, error: RenderError) -> None:
        """Tell why nothing came out."""
        self._write(f"{_coloured('error:', _RED)} {error}")

    @contextmanager
    def busy(self, text: str) -> Iterator[None]:
        """Show on a terminal that something is going on."""
        if self.verbosity != 0 or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
            yield
            return
        # Only a terminal pays for it.
        from rich.console import Console

        with Console(stderr=True).status(visible(text)):
            yield

    def _write(self, text: str) -> None:
        sys.stderr.write(text + "\n")


def _coloured(text: str, colour: str) -> str:
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not sys.stderr.isatty()
    return text if plain else f"{colour}{text}{_PLAIN}"
