"""Other programs, run within bounds: in a group of their own, in limited time, with limited output."""

import os
import re
import select
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple, cast

from render.system.alarm import hold_ending

_BLOCK = 1 << 16
# Time and process number in front of each line would make every error different.
_LOG_PREFIX = re.compile(r"^[A-Z]\d{4} [\d:.]+ +\d+ \S+\] ", re.MULTILINE)


class NotStarted(Exception):
    """A program that could not be started; its text is the reason."""


class TooSlow(Exception):
    """A program that did not end in time."""


class TooMuchOutput(Exception):
    """A program that wrote more than it may."""


class Finished(NamedTuple):
    """How a program ended, and what it wrote."""

    status: int
    output: bytes
    # The beginning of its error output.
    errors: bytes


def find_program(name: str, environ: Mapping[str, str]) -> str | None:
    """Return the path of a program, from the absolute folders in PATH only."""
    # A relative entry, or an empty one, would find programs in the repository that is the working directory.
    folders = [entry for entry in environ.get("PATH", "").split(os.pathsep) if Path(entry).is_absolute()]
    return shutil.which(name, path=os.pathsep.join(folders))


def decode_log(errors: bytes) -> str:
    """Return what a Kubernetes program wrote as its errors, without what differs in every run."""
    return _LOG_PREFIX.sub("", errors.decode(errors="replace"))


@dataclass(frozen=True, slots=True)
class Program:
    """A program to run, all that it is given, and its bounds."""

    command: Sequence[str]
    # The whole environment; nothing is inherited.
    environ: Mapping[str, str] = field(repr=False)
    seconds: float
    output_bytes: int
    # How much of its error output is kept; without any, it is not even read.
    error_bytes: int = 0
    folder: Path | None = None
    data: bytes = b""

    def run(self, into: IO[bytes] | None = None) -> Finished:
        """Run it to its end; a program that goes beyond a bound is killed with all that it started.

        With a file to write into, its output is in there and not in the result.
        """
        deadline = time.monotonic() + self.seconds
        output, errors = bytearray(), bytearray()
        written = 0
        with self._started() as process, selectors.DefaultSelector() as streams:
            _register(streams, process.stdin, selectors.EVENT_WRITE, bytearray(self.data))
            _register(streams, process.stdout, selectors.EVENT_READ, output)
            _register(streams, process.stderr, selectors.EVENT_READ, errors)
            while streams.get_map():
                _exchange(streams, deadline)
                # The beginning is enough; the rest is read, so that the program can go on.
                del errors[self.error_bytes :]
                if written + len(output) > self.output_bytes:
                    raise TooMuchOutput
                if into is not None:
                    written += into.write(output)
                    output.clear()
            return Finished(_wait(process, deadline), bytes(output), bytes(errors))

    @contextmanager
    def _started(self) -> Iterator[subprocess.Popen[bytes]]:
        process = None
        try:
            with hold_ending():
                process = self._start()
            yield process
        except BaseException:
            if process is not None:
                _kill_group(process)
            raise
        finally:
            if process is not None:
                process.__exit__(None, None, None)

    def _start(self) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(  # noqa: S603 - a list and no shell
                self.command,
                bufsize=0,
                cwd=self.folder,
                env=dict(self.environ),
                stdin=subprocess.PIPE if self.data else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if self.error_bytes else subprocess.DEVNULL,
                # A group of its own, so that its children can be killed with it.
                start_new_session=True,
            )
        except OSError as error:
            raise NotStarted((error.strerror or str(error)).lower()) from None


def _register(
    streams: selectors.BaseSelector, stream: IO[bytes] | None, events: int, data: bytearray
) -> None:
    if stream is not None:
        streams.register(stream, events, data)


def _exchange(streams: selectors.BaseSelector, deadline: float) -> None:
    """Read and write once, as soon as one of the streams is ready."""
    ready = streams.select(_seconds_until(deadline))
    if not ready or time.monotonic() > deadline:
        raise TooSlow
    for key, events in ready:
        more = _write(key) if events & selectors.EVENT_WRITE else _read(key)
        if not more:
            streams.unregister(key.fileobj)
            cast(IO[bytes], key.fileobj).close()


def _read(key: selectors.SelectorKey) -> bool:
    block = os.read(key.fd, _BLOCK)
    key.data.extend(block)
    return bool(block)


def _write(key: selectors.SelectorKey) -> bool:
    # A program need not read its input.
    with suppress(BrokenPipeError):
        # A pipe that is ready takes this much without blocking.
        del key.data[: os.write(key.fd, key.data[: select.PIPE_BUF])]
        return bool(key.data)
    return False


def _wait(process: subprocess.Popen[bytes], deadline: float) -> int:
    try:
        return process.wait(_seconds_until(deadline))
    except subprocess.TimeoutExpired:
        raise TooSlow from None


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    # Until the program was waited for, its number is its own, and so is that of its group.
    with suppress(ProcessLookupError, PermissionError):
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)


def _seconds_until(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())
