"""A call that ends itself: whatever it does at that moment, it is over soon, and so is what it has started."""

import subprocess
import sys
from pathlib import Path

SECONDS = 60

BEGIN = """\
import os, signal, sys, time
from render.system.alarm import Ending, hold_ending, run_in_time
from render.errors import RenderError

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


def test_the_end_waits_for_a_block_that_holds_it() -> None:
    done = call("""
def act():
    with hold_ending():
        os.kill(os.getpid(), signal.SIGTERM)
        print("held")
    print("not reached")
run(act)
""")

    assert done.stdout == "held\nstopped before the manifests were ready\n"


def test_an_error_in_such_a_block_is_not_the_reason() -> None:
    done = call("""
def act():
    with hold_ending():
        os.kill(os.getpid(), signal.SIGTERM)
        raise RenderError("it failed")
run(act)
""")

    assert done.stdout == "stopped before the manifests were ready\n"


def test_the_end_is_held_once() -> None:
    done = call("""
def act():
    try:
        with hold_ending():
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        with hold_ending():
            print("clean up")
        print("cleaned up")
run(act)
""")

    assert done.stdout == "clean up\ncleaned up\nstopped before the manifests were ready\n"


def test_another_thread_holds_nothing() -> None:
    done = call("""
import threading
inside, go_on = threading.Event(), threading.Event()
def hold():
    with hold_ending():
        inside.set()
        go_on.wait()
def act():
    threading.Thread(target=hold).start()
    inside.wait()
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        print("not reached")
    finally:
        go_on.set()
run(act)
""")

    assert done.stdout == "stopped before the manifests were ready\n"


def test_a_call_that_ended_in_order_leaves_nothing_for_the_next_one() -> None:
    done = call("""
def act():
    with hold_ending():
        os.kill(os.getpid(), signal.SIGTERM)
def again():
    with hold_ending():
        pass
    print("again")
run(act)
run(again)
""")

    assert done.stdout == "stopped before the manifests were ready\nagain\n"


def test_a_block_that_never_ends_does_not_keep_the_call_alive() -> None:
    done = call("""
def act():
    with hold_ending():
        os.kill(os.getpid(), signal.SIGALRM)
        time.sleep(600)
run_in_time(act, 600, lambda error: print(error.what, flush=True))
""")

    assert (done.returncode, done.stdout) == (1, "no manifests after 600 seconds\n")


def test_an_error_is_raised_as_it_is_and_the_alarm_is_off() -> None:
    done = call("""
def act():
    raise RenderError("it failed")
run(act)
print(signal.getitimer(signal.ITIMER_REAL)[0], signal.getsignal(signal.SIGTERM).name)
""")

    assert done.stdout == "it failed\n0.0 SIG_DFL\n"


def test_a_call_that_goes_on_after_its_end_is_killed(tmp_path: Path) -> None:
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
