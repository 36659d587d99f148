"""A queue for pushing: of all plugin calls in one sidecar, one at a time pushes to a branch."""

import errno
import hashlib
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

from render.system.deadline import Deadline

# After so many seconds a call pushes without its turn: slower if it races, and just as correct.
_LONGEST_WAIT = 20.0
_PAUSE = 0.05


def queue_seconds(deadline: Deadline) -> float:
    """Return how long to wait for a turn; half of the remaining time is kept for the push."""
    return min(_LONGEST_WAIT, deadline.remaining() / 2)


@contextmanager
def exclusive(key: str, timeout: float) -> Iterator[None]:
    """Hold a key that one process at a time can hold; go ahead without it after the timeout."""
    # An abstract socket has no file, so that a killed process leaves nothing behind.
    name = "\0xplock-" + hashlib.sha256(key.encode()).hexdigest()
    with socket.socket(socket.AF_UNIX) as turn:
        end = time.monotonic() + timeout
        while not _take(turn, name) and time.monotonic() < end:
            time.sleep(_PAUSE)
        yield


def _take(turn: socket.socket, name: str) -> bool:
    try:
        turn.bind(name)
    except OSError as error:
        # A system without abstract sockets has no queue.
        return error.errno != errno.EADDRINUSE
    return True
