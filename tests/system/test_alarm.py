"""A call that ends itself: whatever it does at that moment, it is over soon, and so is what it has started."""

import subprocess
import sys
from pathlib import Path

SECONDS = 60

BEGIN = """\
import os, signal, subprocess, sys, time
from render.system.alarm import Ending, run_in_time
from render.errors import RenderError

started = []

def before_each_start(act):
    start = subprocess.Popen._execute_child
    def execute(self, *rest):
        act()
        start(self, *rest)
        started.append(self)
    subprocess.Popen._execute_child = execute

def run(act):
    try:
        run_in_time(act, 600, lambda error: None)
    except RenderError as error:
        print(error.what)
"""


def call(script: str) -> subprocess.CompletedProcess[str]:
    """Run a script that begins with the usual lines."""
    return subprocess.run(
        [sys.executable, "-c", BEGIN + script], capture_output=True, text=True, timeout=SECONDS, check=False
    )


def test_a_program_that_is_being_started_at_that_moment_can_still_be_asked_to_stop() -> None:
    done = call("""
before_each_start(lambda: os.kill(os.getpid(), signal.SIGTERM))
def act():
    subprocess.Popen(["sh", "-c", "kill -TERM $$; echo deaf"], stdout=subprocess.PIPE)
    time.sleep(600)
run(act)
print(started[0].communicate()[0], started[0].returncode)
""")

    assert done.stdout == "stopped before the manifests were ready\nb'' -15\n"


def test_what_fails_while_the_end_is_put_off_is_not_the_reason() -> None:
    done = call("""
before_each_start(lambda: (os.kill(os.getpid(), signal.SIGTERM), 1 / 0))
run(lambda: subprocess.Popen(["true"]))
""")

    assert done.stdout == "stopped before the manifests were ready\n"


def test_what_fails_before_is_told_and_ended_by_nobody() -> None:
    done = call("""
def act():
    raise RenderError("it failed")
run(act)
print(signal.getitimer(signal.ITIMER_REAL)[0], signal.getsignal(signal.SIGTERM).name)
""")

    assert done.stdout == "it failed\n0.0 SIG_DFL\n"


def test_a_program_that_cannot_be_started_does_not_keep_a_call_alive() -> None:
    done = call("""
before_each_start(lambda: (os.kill(os.getpid(), signal.SIGALRM), time.sleep(600)))
run(lambda: subprocess.Popen(["true"]))
""")

    assert done.stdout == "no manifests after 600 seconds\n"


def test_who_cannot_even_be_told_so_is_ended_all_the_same(tmp_path: Path) -> None:
    done = call(f"""
from render.system.scratch import scratch_folder
os.environ["TMPDIR"] = {str(tmp_path)!r}
os.close(2)
def act():
    with scratch_folder("a test"):
        try:
            os.kill(os.getpid(), signal.SIGALRM)
        except Ending:
            print("ending", flush=True)
        try:
            time.sleep(600)
        except BaseException:
            print("alive", flush=True)
run(act)
""")

    assert (done.returncode, done.stdout) == (1, "ending\n")
    assert list(tmp_path.iterdir()) == []
