"""A program runs within its bounds, and nothing of it is left when it goes beyond one."""

import os
import subprocess
import sys
import time
from io import BytesIO
from pathlib import Path

import pytest

from render.system.programs import NotStarted, Program, TooMuchOutput, TooSlow, find_program

SECONDS = 60


def shell(script: str, *, seconds: float = SECONDS, output: int = 1_000, **more: object) -> Program:
    return Program(["/bin/sh", "-c", script], {"PATH": os.defpath}, seconds, output, **more)  # type: ignore[arg-type]


def wait_until_gone(process: int) -> None:
    """Wait until a process has ended; one that nobody waits for yet counts as ended."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return
        if state == "Z":
            return
        time.sleep(0.01)
    pytest.fail(f"process {process} is still running")


def test_status_output_and_errors_are_returned() -> None:
    done = shell("echo out; echo err >&2; exit 3", error_bytes=100).run()

    assert done == (3, b"out\n", b"err\n")


def test_error_output_is_dropped_unless_asked_for() -> None:
    assert shell("echo err >&2").run() == (0, b"", b"")


def test_the_program_sees_the_given_environment_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")

    done = Program(["/usr/bin/env"], {"ONE": "1"}, SECONDS, 1_000).run()

    assert done.output == b"ONE=1\n"


def test_it_runs_in_the_given_folder(tmp_path: Path) -> None:
    assert shell("pwd -P", folder=tmp_path).run().output == f"{tmp_path.resolve()}\n".encode()


def test_input_is_written_and_closed() -> None:
    assert shell("cat", data=b"question").run().output == b"question"


def test_without_input_there_is_nothing_to_read() -> None:
    assert shell("cat; echo end").run().output == b"end\n"


def test_input_and_output_larger_than_a_pipe_do_not_block_each_other() -> None:
    data = b"x" * 3_000_000

    assert shell("cat", data=data, output=len(data)).run().output == data


def test_input_that_is_not_read_is_no_error() -> None:
    assert shell("exec <&-; echo done", data=b"x" * 3_000_000).run() == (0, b"done\n", b"")


def test_output_of_exactly_the_bound_is_allowed() -> None:
    assert shell("printf 12345", output=5).run().output == b"12345"


def test_output_can_go_into_a_file() -> None:
    file = BytesIO()

    assert shell("yes | head -c 300000", output=300_000).run(file) == (0, b"", b"")
    assert file.getvalue() == b"y\n" * 150_000


@pytest.mark.parametrize("into", [None, BytesIO()], ids=["memory", "file"])
@pytest.mark.parametrize("script", ["printf 123456", "yes"])
def test_more_output_is_refused(script: str, into: BytesIO | None) -> None:
    with pytest.raises(TooMuchOutput):
        shell(script, output=5).run(into)


def test_only_the_beginning_of_the_error_output_is_kept() -> None:
    done = shell("yes | head -c 300000 >&2; echo done", error_bytes=3).run()

    assert done == (0, b"done\n", b"y\ny")


@pytest.mark.parametrize(
    "script", ["sleep 600", "exec >&- 2>&-; sleep 600", "while :; do echo; sleep 0.01; done"]
)
def test_a_program_that_takes_too_long_is_refused(script: str) -> None:
    with pytest.raises(TooSlow):
        shell(script, seconds=0.2, output=1 << 30).run()


def test_its_children_are_killed_with_it(tmp_path: Path) -> None:
    pid = tmp_path / "pid"

    with pytest.raises(TooMuchOutput):
        shell(f"sleep 600 & echo $! > {pid}; yes").run()

    wait_until_gone(int(pid.read_text()))


@pytest.mark.parametrize("name", ["missing", "folder", "plain"])
def test_a_program_that_cannot_be_started_has_a_reason(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "plain").write_text("")

    with pytest.raises(NotStarted, match=r"no such file|permission denied"):
        Program([str(tmp_path / name)], {}, SECONDS, 10).run()


def test_a_program_is_found_in_absolute_folders_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "tool"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)

    assert find_program("tool", {"PATH": f"::.:{os.pathsep}"}) is None
    assert find_program("tool", {}) is None
    assert find_program("tool", {"PATH": f".:{tmp_path}"}) == str(program)


# A call that is asked to stop while it starts a program: the signal comes in the middle of that start.
STOPPED = """\
import os, signal, subprocess
from render.errors import RenderError
from render.git.process import execute as execute_git
from render.system.alarm import run_in_time
from render.system.programs import Program

start = subprocess.Popen._execute_child
def execute(self, *rest):
    os.kill(os.getpid(), signal.SIGTERM)
    start(self, *rest)
    print(self.pid, flush=True)
subprocess.Popen._execute_child = execute

try:
    run_in_time(ACT, 600, lambda error: None)
except RenderError as error:
    print(error.what)
"""


def stopped_while_starting(act: str) -> tuple[int, str]:
    """Return the process that was started, and the error."""
    script = STOPPED.replace("ACT", act)
    done = subprocess.run(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, timeout=SECONDS, check=True
    )
    process, _, error = done.stdout.partition("\n")
    return int(process), error.strip()


def test_a_call_that_is_stopped_while_a_program_starts_kills_the_program() -> None:
    process, error = stopped_while_starting('Program(["/bin/sleep", "600"], {}, 600, 10).run')

    assert error == "stopped before the manifests were ready"
    wait_until_gone(process)


def test_a_call_that_is_stopped_while_git_starts_ends_git() -> None:
    process, error = stopped_while_starting(
        'lambda: execute_git(["sleep", "600"], seconds=600, environment={})'
    )

    assert error == "stopped before the manifests were ready"
    wait_until_gone(process)
