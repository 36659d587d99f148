"""xplock as a command: in this process, which saves its start, or in one of its own."""

import io
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from render.cli.run import run

_SECONDS = 120.0


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    stdout: str
    stderr: str

    def assert_refused(self, code: int, *facts: str) -> None:
        """Check that the command failed as it should: no result, three parts, and nothing odd."""
        assert (self.code, self.stdout) == (code, ""), self
        assert self.stderr.startswith("error: "), self.stderr
        for fact in ("\n  why:  ", "\n  next: ", *facts):
            assert fact in self.stderr, f"{fact!r} is missing in:\n{self.stderr}"
        assert "Traceback" not in self.stderr
        hidden = [character for character in self.stderr if character < " " and character != "\n"]
        assert not hidden, f"{hidden} in {self.stderr!r}"


def run_command(*arguments: str, environ: Mapping[str, str] | None = None) -> Outcome:
    """Run xplock in this process, which saves its start; by default without a cache."""
    stdout, stderr = io.TextIOWrapper(io.BytesIO()), io.TextIOWrapper(io.BytesIO())
    with (
        pytest.MonkeyPatch.context() as environment,
        redirect_stdout(stdout),
        redirect_stderr(stderr),
    ):
        for name, text in {"XPLOCK_CACHE_DIR": "", **(environ or {})}.items():
            environment.setenv(name, text)
        code = run(arguments)
    texts = []
    for stream in (stdout, stderr):
        stream.flush()
        texts.append(stream.detach().getvalue().decode())
    return Outcome(code, *texts)


def start_command(*arguments: str, environ: Mapping[str, str] | None = None) -> Outcome:
    """Run xplock as its users do, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "render", *arguments],
        env={**os.environ, "XPLOCK_CACHE_DIR": "", **(environ or {})},
        cwd=Path(__file__).parents[3],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_SECONDS,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


def files_below(folder: Path) -> list[Path]:
    """Return every file in a folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file())
