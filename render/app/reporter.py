"""What a job reports while it runs: a protocol, so that jobs know neither click nor a terminal."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from render.errors import RenderError
from render.lean import Protocol
from render.texts import first_names, without_name

# How many folders a line names.
_SHOWN = 5


class Progress(Protocol):
    """How far a job is; safe to call from many threads."""

    def expect(self) -> None:
        """Count one more item that is to be done."""

    def advance(self) -> None:
        """Count one item as done."""


class Transfer(Protocol):
    """How many bytes were copied; safe to call from many threads."""

    def expect_bytes(self, count: int) -> None:
        """Count bytes that are to be copied."""

    def advance_bytes(self, count: int) -> None:
        """Count bytes that were copied."""


class Reporter(Protocol):
    """What people should know while a job runs; its result is what it returns."""

    def say(self, text: str) -> None:
        """Report what happens."""

    def trace(self, text: str) -> None:
        """Report a detail, such as a request."""

    def warn(self, text: str) -> None:
        """Report something odd that does not stop the job."""

    def error(self, error: RenderError) -> None:
        """Report an error that is not raised, since the job goes on to find more of them."""

    def busy(self, text: str) -> AbstractContextManager[None]:
        """Show that something takes a while."""

    def progress(self, text: str) -> AbstractContextManager[Progress]:
        """Show how far something is."""

    def transfer(self, text: str) -> AbstractContextManager[Transfer]:
        """Show how many bytes were copied, and how many there are."""


class Console(Protocol):
    """Where an entry point writes: results to stdout, everything else to stderr."""

    def result(self, text: str) -> None:
        """Write the result."""

    def repeat(self, lines: Sequence[str]) -> None:
        """Write lines as they are."""

    def error(self, error: RenderError) -> None:
        """Write an error."""


class SilentReporter:
    """A reporter that reports nothing."""

    def say(self, text: str) -> None:
        """Report nothing."""

    def trace(self, text: str) -> None:
        """Report nothing."""

    def warn(self, text: str) -> None:
        """Report nothing."""

    def error(self, error: RenderError) -> None:
        """Report nothing."""

    @contextmanager
    def busy(self, text: str) -> Iterator[None]:  # noqa: ARG002 - the protocol's signature
        """Show nothing."""
        yield

    @contextmanager
    def progress(self, text: str) -> Iterator[Progress]:  # noqa: ARG002 - the protocol's signature
        """Show nothing."""
        yield _NoProgress()

    @contextmanager
    def transfer(self, text: str) -> Iterator[Transfer]:  # noqa: ARG002 - the protocol's signature
        """Show nothing."""
        yield _NoProgress()


class _NoProgress:
    def expect(self) -> None:
        """Count nothing."""

    def advance(self) -> None:
        """Count nothing."""

    def expect_bytes(self, count: int) -> None:
        """Count nothing."""

    def advance_bytes(self, count: int) -> None:
        """Count nothing."""


def report_failures(failures: Mapping[Path, RenderError], reporter: Reporter) -> None:
    """Report the errors of folders; one that several folders have is reported once, whatever they are called."""
    alike: dict[str, list[Path]] = {}
    for folder, error in failures.items():
        alike.setdefault(without_name(str(error), str(folder)), []).append(folder)
    for folders in alike.values():
        reporter.say(f"in {first_names(list(map(str, folders)), _SHOWN)}:")
        reporter.error(failures[folders[0]])
