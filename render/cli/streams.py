"""The standard streams: the same bytes in every locale, and all of them or an error."""

import os
import sys
from io import BufferedWriter, BytesIO, FileIO, RawIOBase, StringIO, TextIOWrapper

from render.errors import RenderError
from render.lean import Any


class ResultNotWritten(RenderError):
    """Stdout does not accept the result, or not all of it."""

    def __init__(self, why: str) -> None:
        super().__init__("the result cannot be written", why=why, next="check where stdout goes")


class _WholeFile(FileIO):
    """A file that writes all bytes or raises: a disk may accept a part of them, and a non-blocking pipe none for a while."""

    _failed = False

    def write(self, data: Any, /) -> int:
        """Write all bytes; after a failure, discard what Python tries to write again at its end."""
        rest = memoryview(data).cast("B")
        size = len(rest)
        try:
            while rest and not self._failed:
                rest = rest[self._write_some(rest) :]
        except BrokenPipeError:
            self._failed = True
            raise
        except OSError as error:
            self._failed = True
            raise ResultNotWritten(os.strerror(error.errno or 0).lower()) from None
        return size

    def _write_some(self, data: memoryview) -> int:
        written = super().write(data)
        if written is None:
            # Imported late: few pipes do not block.
            import select

            select.select([], [self], [])
        return written or 0


class _NoFile(RawIOBase):
    """A stdout that was closed before the start: it is no error until there is something to write."""

    _failed = False

    def writable(self) -> bool:
        """Return that text may be written, which then raises."""
        return True

    def write(self, data: Any, /) -> int:
        """Raise once; discard what Python tries to write again at its end."""
        if not self._failed:
            self._failed = True
            raise ResultNotWritten("stdout is closed")
        return len(memoryview(data).cast("B"))


def prepare_streams() -> None:
    """Replace stdout by one that writes everything or raises; a stdin that is closed is empty."""
    sys.stdin = sys.stdin or TextIOWrapper(BytesIO())
    if sys.stdout is None:
        sys.stdout = TextIOWrapper(BufferedWriter(_NoFile()))
    elif sys.stdout is sys.__stdout__ and isinstance(sys.stdout, TextIOWrapper):
        # Python's own stdout loses what a short write leaves when it has no buffer (PYTHONUNBUFFERED).
        file = _WholeFile(sys.stdout.fileno(), "w", closefd=False)
        sys.stdout = TextIOWrapper(BufferedWriter(file), line_buffering=file.isatty())
    sys.stderr = sys.stderr or StringIO()
    # A character that cannot be encoded is written as an escape.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
