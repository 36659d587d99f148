"""Where text goes: results to stdout, everything else to stderr."""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from render.errors import RenderError
from render.lean import TYPE_CHECKING, Any, TextIO, dataclass, field
from render.texts import redact, visible

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

_RED, _GREEN, _YELLOW, _PLAIN = "\x1b[1;31m", "\x1b[1;32m", "\x1b[1;33m", "\x1b[0m"
# The first words of lines in a report.
_CHANGES = {
    **dict.fromkeys(("Added", "Returned", "Attached"), _GREEN),
    **dict.fromkeys(("Updated", "Moved", "Leaving", "Detached", "Held", "Provided", "Waiting"), _YELLOW),
    "Can be upgraded now": _GREEN,
    "Held back": _YELLOW,
    **dict.fromkeys(("Off", "Released", "Removed", "Dropped", "Unpinned", "Blocked", "Lost"), _RED),
    **dict.fromkeys(("Writers", "Unknown"), _YELLOW),
}


@dataclass(slots=True)
class Output:
    """Where a command writes; the reporter of jobs, and the console of the plugin."""

    verbosity: int = 0
    # Whether a result, or a part of one, was written; and the errors that were.
    has_result: bool = False
    errors: list[RenderError] = field(default_factory=list)
    _warned: set[str] = field(default_factory=set)

    def result(self, text: str) -> None:
        """Write the result of the command."""
        self.has_result = True
        sys.stdout.write(text)
        # If stderr goes to the same place, later messages come after the result.
        sys.stdout.flush()

    def report(self, text: str) -> None:
        """Write a report, with the first word of each line in colour."""
        words = "|".join(_CHANGES)
        self.result(re.sub(rf"^({words})\b", _coloured_change, text, flags=re.MULTILINE))

    def stand_out(self, text: str) -> str:
        """Return a word in the colour of errors."""
        return _coloured(text, _RED, sys.stdout)

    def finish(self) -> None:
        """Flush the result; raise if it cannot be written."""
        sys.stdout.flush()

    def result_json(self, document: Any) -> None:
        """Write the result for a program."""
        # Imported late: few results are JSON.
        import json

        # In ASCII, where nothing is invisible and no locale can change a byte.
        self.result(json.dumps(document, indent=2) + "\n")

    def say(self, text: str) -> None:
        """Write what happens, unless quiet."""
        if self.verbosity >= 0:
            self._write(visible(redact(text)))

    def trace(self, text: str) -> None:
        """Write a detail, if verbose."""
        if self.verbosity > 0:
            self._write(visible(redact(text)))

    def warn(self, text: str) -> None:
        """Write a warning, once."""
        if text not in self._warned:
            self._warned.add(text)
            self._write(f"{_coloured('warning:', _YELLOW)} {visible(redact(text))}")

    def usage(self, text: str) -> None:
        """Write the usage of a command."""
        if text:
            self._write(text)

    def repeat(self, lines: Sequence[str]) -> None:
        """Write lines as they are."""
        for line in lines:
            self._write(line)

    def error(self, error: RenderError) -> None:
        """Write an error."""
        self.errors.append(error)
        self._write(f"{_coloured('error:', _RED)} {error}")

    @contextmanager
    def busy(self, text: str) -> Iterator[None]:
        """Show on a terminal that something takes a while."""
        if not self._shows_progress():
            yield
            return
        # Imported late: only terminals show progress.
        from rich.console import Console

        with Console(stderr=True, markup=False).status(visible(text)):
            yield

    @contextmanager
    def progress(self, text: str) -> Iterator["Progress"]:
        """Show on a terminal how far something is."""
        if not self._shows_progress():
            yield Progress()
            return
        # Imported late: only terminals show progress.
        from rich.progress import MofNCompleteColumn, TextColumn

        with _bar(text, MofNCompleteColumn(), TextColumn("packages")) as progress:
            yield progress

    @contextmanager
    def transfer(self, text: str) -> Iterator["Progress"]:
        """Show on a terminal how many bytes were copied."""
        if not self._shows_progress():
            yield Progress()
            return
        # Imported late: only terminals show progress.
        from rich.progress import DownloadColumn, TransferSpeedColumn

        with _bar(text, DownloadColumn(binary_units=True), TransferSpeedColumn()) as progress:
            yield progress

    def _shows_progress(self) -> bool:
        return self.verbosity == 0 and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def _write(self, text: str) -> None:
        sys.stderr.write(text + "\n")


@dataclass(slots=True)
class Progress:
    """A bar on a terminal, nothing elsewhere; safe to move from many threads."""

    bar: Any = None
    task: Any = None
    # Several threads count what they expect.
    lock: Any = None
    _expected: int = 0

    def expect(self) -> None:
        """Count one more item that is to be done."""
        self.expect_bytes(1)

    def advance(self) -> None:
        """Count one item as done."""
        self.advance_bytes(1)

    def expect_bytes(self, count: int) -> None:
        """Count bytes that are to be copied."""
        if self.bar is not None:
            # Images are counted from several threads, each when its size is known.
            with self.lock:
                self._expected += count
                self.bar.update(self.task, total=self._expected)

    def advance_bytes(self, count: int) -> None:
        """Count bytes that were copied."""
        if self.bar is not None:
            self.bar.advance(self.task, count)


@contextmanager
def _bar(text: str, *columns: "ProgressColumn") -> Iterator[Progress]:
    from threading import Lock

    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    described = TextColumn("{task.description}", markup=False)
    with Bar(described, BarColumn(), *columns, console=Console(stderr=True), transient=True) as bar:
        yield Progress(bar, bar.add_task(visible(text), total=0), Lock())


def _coloured_change(word: re.Match[str]) -> str:
    return _coloured(word[0], _CHANGES[word[0]], sys.stdout)


def _coloured(text: str, colour: str, stream: TextIO | None = None) -> str:
    terminal = (stream or sys.stderr).isatty() and os.environ.get("TERM") != "dumb"
    return f"{colour}{text}{_PLAIN}" if terminal and not os.environ.get("NO_COLOR") else text
