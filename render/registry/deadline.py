"""The time a run may take, and the waits within it."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from render.errors import InvalidInput, RenderError
from render.limits import Limits


class DeadlineExceeded(RenderError):
    """The whole run took too long."""

    def __init__(self, seconds: float, waiting_for: str) -> None:
        super().__init__(
            f"out of time after {seconds:g} seconds, waiting for {waiting_for}",
            why="the whole run has one deadline, so that nothing waits for ever",
            next="try again; if the network is slow, give more seconds with XPLOCK_DEADLINE",
        )


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment that no request, retry or wait goes past."""

    seconds: float
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _end: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_end", self.now() + self.seconds)

    def remaining(self) -> float:
        """Return the seconds that are left; at the end, nothing."""
        return max(self._end - self.now(), 0.0)

    def check(self, waiting_for: str) -> None:
        """Raise if the time is up."""
        if not self.remaining():
            raise DeadlineExceeded(self.seconds, waiting_for)

    def wait(self, seconds: float, waiting_for: str) -> None:
        """Sleep, unless there is not that much time left: then there is no point in waiting."""
        if seconds >= self.remaining():
            raise DeadlineExceeded(self.seconds, waiting_for)
        self.sleep(seconds)


def read_deadline(environ: Mapping[str, str], limits: Limits) -> Deadline:
    """Return the operator's deadline for a run that starts now."""
    text = environ.get("XPLOCK_DEADLINE", "")
    if not text:
        return Deadline(limits.run_seconds)
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 86_400:
        raise InvalidInput(
            f"XPLOCK_DEADLINE={text} is not a time",
            why="it is the number of seconds that a whole run may take",
            next="correct or unset XPLOCK_DEADLINE",
        )
    return Deadline(seconds)
