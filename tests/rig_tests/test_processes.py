"""Servers of the rig: none of them outlives the tests, however those end."""

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest
from rig.git.repositories import AS_IN_A_SIDECAR

SECONDS = 60.0
# Prints the number of a server that is started as all of them are.
START = """
import sys
from pathlib import Path
from rig.processes import running

with running(["sleep", "1000"], {}, Path(sys.argv[1]), before=sys.argv[2:]) as process:
    # Not before it has become the program itself.
    while Path(f"/proc/{process.pid}/comm").read_text() != "sleep\\n":
        pass
    print(process.pid, flush=True)
    process.wait()
"""


@pytest.mark.parametrize("before", [(), AS_IN_A_SIDECAR], ids=["as we are", "as another user"])
def test_a_server_ends_with_tests_that_are_killed(before: tuple[str, ...], tmp_path: Path) -> None:
    command = [sys.executable, "-c", START, str(tmp_path / "log"), *before]
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[1])}
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE) as tests:
        assert tests.stdout
        server = os.pidfd_open(int(tests.stdout.readline()))

        tests.kill()

        ended, _, _ = select.select([server], [], [], SECONDS)
    os.close(server)
    assert ended
