"""Trying again: for as long as another git may hold something up, and never longer than the deadline."""

import random
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from render.git.failures import RepositoryLocked
from render.git.repository import Repository

Done = TypeVar("Done")

_FIRST_SECONDS, _MOST_SECONDS = 0.05, 0.5
# How often a file that another git holds is waited for.
_PATIENCE = 6


def attempts(repository: Repository, most: int) -> Iterator[int]:
    """Count tries, with a wait before each but the first: a random one, so that rivals do not meet again."""
    for number in range(most):
        if number:
            _pause(repository, number)
        yield number


def patiently(repository: Repository, act: Callable[[], Done]) -> Done:
    """Do what another git may hold up for a moment; what one that was killed left behind is named in the end."""
    for number in range(_PATIENCE):
        try:
            return act()
        except RepositoryLocked:
            _pause(repository, number)
    return act()


def _pause(repository: Repository, number: int) -> None:
    longest = min(_FIRST_SECONDS * 2**number, _MOST_SECONDS)
    seconds = random.uniform(0, longest)  # noqa: S311 - nothing secret depends on it
    if repository.deadline is None:
        time.sleep(seconds)
    else:
        repository.deadline.wait(seconds, "git")
