"""Servers that end with the tests, even when those are killed."""

import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path


def dying_with_us(command: Sequence[str | Path]) -> list[str]:
    """Return a command that the kernel ends as soon as the thread that started it is gone, however that came about."""
    setpriv = shutil.which("setpriv")
    assert setpriv, "no setpriv on PATH; it comes with Debian's package util-linux"
    return [setpriv, "--pdeathsig", "KILL", "--", *map(str, command)]


@contextmanager
def running(
    command: Sequence[str | Path], environ: Mapping[str, str], log: Path, *, before: Sequence[str] = ()
) -> Iterator[subprocess.Popen[bytes]]:
    """Have a program run, by way of another command if need be, and end it."""
    # A program that changes its user loses the signal that was set before.
    whole = [*before, *dying_with_us(command)]
    with (
        log.open("wb") as file,
        subprocess.Popen(whole, env=environ, stdin=subprocess.DEVNULL, stdout=file, stderr=file) as process,
    ):
        try:
            yield process
        finally:
            process.kill()
