"""A result is written whole, or the command fails."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

SECONDS = 60
COMMANDS = [["render"], ["plugin", "generate", "--lock-policy", "frozen"], ["tree", "-o", "json"], ["--help"]]
every_command = pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
# Without a buffer, Python's own stdout loses what a short write leaves.
buffering = pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])


@pytest.fixture(scope="module")
def project(examples: Path) -> Path:
    """A locked folder."""
    return examples / "shop"


def shell(
    script: str, project: Path, command: list[str], unbuffered: str
) -> subprocess.CompletedProcess[str]:
    words = " ".join([sys.executable, "-m", "render", *command])
    environ = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    return subprocess.run(
        ["bash", "-c", script.replace("XPLOCK", words)],
        cwd=project,
        env=environ,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )


@every_command
@buffering
def test_a_closed_stdout_is_an_error(project: Path, command: list[str], unbuffered: str) -> None:
    done = shell("XPLOCK >&-", project, command, unbuffered)

    assert done.returncode == 1
    assert done.stderr.startswith("error: the result cannot be written\n  why:  stdout is closed\n")
    assert "Traceback" not in done.stderr


@every_command
@buffering
def test_a_full_disk_is_an_error(project: Path, command: list[str], unbuffered: str) -> None:
    done = shell("XPLOCK >/dev/full", project, command, unbuffered)

    assert done.returncode == 1
    assert done.stderr.startswith("error: the result cannot be written\n  why:  no space left on device\n")
    assert "Traceback" not in done.stderr


@every_command
@buffering
def test_a_file_that_may_not_grow_is_an_error(
    project: Path, command: list[str], unbuffered: str, tmp_path: Path
) -> None:
    done = shell(f"ulimit -f 1; XPLOCK >{tmp_path}/result", project, command, unbuffered)

    # The limit is in blocks of 1,024 bytes: the first ones are written, and the rest is not.
    assert (tmp_path / "result").stat().st_size == 1024
    assert done.returncode == 1
    assert done.stderr.startswith("error: the result cannot be written\n  why:  file too large\n")


@buffering
def test_a_pipe_that_does_not_block_gets_everything(project: Path, unbuffered: str) -> None:
    whole = shell("XPLOCK", project, ["render"], unbuffered).stdout.encode()
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    full = os.write(writing, bytes(fcntl.fcntl(writing, fcntl.F_GETPIPE_SZ)))
    with subprocess.Popen(
        [sys.executable, "-m", "render", "render"],
        cwd=project,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        stdout=writing,
        stderr=subprocess.PIPE,
    ) as child:
        os.close(writing)
        # It cannot have written anything yet, so it has to wait; a command that gives up ends by itself.
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(timeout=2)
        with os.fdopen(reading, "rb") as pipe:
            text = pipe.read()
        assert child.stderr is not None
        assert child.stderr.read() == b""

    assert (child.returncode, text[full:]) == (0, whole)


def test_the_version_needs_a_stdout(project: Path) -> None:
    for target in (">&-", ">/dev/full"):
        done = shell(f"XPLOCK {target}", project, ["--version"], "")

        assert done.returncode == 1
        assert done.stderr.startswith("error: the result cannot be written\n")


@pytest.mark.parametrize("command", [["diff", "-"], ["retire", "--live", "-", "x"]])
def test_a_closed_stdin_is_an_empty_one(project: Path, command: list[str]) -> None:
    done = shell("XPLOCK <&-", project, command, "")

    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr == shell("XPLOCK </dev/null", project, command, "").stderr
