"""Time limits for tests that must not depend on how busy the machine is."""

from collections.abc import Callable, Iterator
from pathlib import Path


def growing(first: float, *, until: Callable[[], bool]) -> Iterator[float]:
    """Yield longer and longer limits until the program under test got as far as it must within one of them."""
    for factor in (1, 4, 16, 64):
        yield first * factor
        if until():
            return
    raise AssertionError(f"not even {first * factor:g} seconds are enough to get as far as the test needs")


def written(file: Path) -> Callable[[], bool]:
    """Return whether a program has written something to a file, as a condition to wait for."""
    return lambda: file.exists() and file.stat().st_size > 0
