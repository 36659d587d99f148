"""Waiting for something to become true, and saying what was there instead."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

# Far more than anything here takes on a busy machine; Crossplane needs minutes to delete some definitions (measured).
SECONDS = 600.0

# Asking more often would slow down the servers.
_PAUSE = 0.3
# Checks that run during every wait.
_MINDED: list[Callable[[], None]] = []

Found = TypeVar("Found")


def wait_for(
    condition: Callable[[], Found | None], describe: Callable[[], str], *, seconds: float = SECONDS
) -> Found:
    """Return what a condition finds, as soon as that is neither None nor false; else fail with what is there."""
    end = time.monotonic() + seconds
    while True:
        late = time.monotonic() > end
        for check in _MINDED:
            check()
        found = condition()
        if found is not None and found is not False:
            return found
        if late:
            raise AssertionError(f"not so after {seconds:.0f} s: {describe()}")
        time.sleep(_PAUSE)


@contextmanager
def minding(check: Callable[[], None]) -> Iterator[None]:
    """Have a check made wherever something is waited for, and once more at the end: what is waited for may need it."""
    _MINDED.append(check)
    try:
        yield
    except BaseException as error:
        _note(error, check)
        raise
    finally:
        _MINDED.remove(check)
    check()


def _note(error: BaseException, check: Callable[[], None]) -> None:
    """Add the findings of a check to an error; they may be its cause."""
    try:
        check()
    except AssertionError as found:
        if str(found) != str(error):
            error.add_note(str(found))
