"""Programs of others, ended with everything that they have started."""

import os
import signal
import subprocess
from contextlib import suppress


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """End a program that leads a group of its own, and the whole group with it."""
    # Not waited for yet, so its number is still its own, and so is the group's.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
