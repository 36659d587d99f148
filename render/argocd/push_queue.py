"""Taking turns: of all calls in one sidecar, one at a time pushes to a branch, so that they do not race each other."""

import errno
import hashlib
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

from render.deadline import Deadline

# How long anybody waits for the others; a push that races is slower than one that does not, and just as good.
_PATIENCE = 20.0
_PAUSE = 0.05


def patience(deadline: Deadline) -> float:
    """Return how long to wait for the others; of the time that is left, half is for the push."""
    return min(_PATIENCE, deadline.remaining() / 2)


@contextmanager
def own_turn(place: str, patience: float) -> Iterator[None]:
    """Have a place to oneself, or go ahead without when patience is over."""
    # A name without a file: whatever becomes of the one who has it, nothing is left behind.
    name = "\0xplock-" + hashlib.sha256(place.encode()).hexdigest()
    with socket.socket(socket.AF_UNIX) as turn:
        end = time.monotonic() + patience
        while not _take(turn, name) and time.monotonic() < end:
            time.sleep(_PAUSE)
        yield


def _take(turn: socket.socket, name: str) -> bool:
    try:
        turn.bind(name)
    except OSError as error:
        # Where there are no such names, there are no turns.
        return error.errno != errno.EADDRINUSE
    return True
