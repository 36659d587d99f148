"""The time a run may take, and the waits within it."""

import time
from collections.abc import Callable, Mapping

from render.errors import InvalidInput, Unavailable
from render.limits import Limits

_SETTING = "XPLOCK_DEADLINE"
_LONGEST = 86_400


class DeadlineExceeded(Unavailable):
    """The whole run took too long."""

    def __init__(self, seconds: float, waiting_for: str) -> None:
        super().__init__(
            f"out of time after {seconds:g} seconds, waiting for {waiting_for}",
            why="the whole run has one deadline, so that nothing waits for ever",
            next=f"try again; if the network is slow, give more seconds with {_SETTING}",
        )


class Deadline:
    """A moment that no request, retry or wait goes past."""

    # Not a dataclass: rendering makes one, too, and must not import them.
    __slots__ = ("_end", "_sleep", "now", "seconds")

    def __init__(
        self,
        seconds: float,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.seconds = seconds
        self.now = now
        self._sleep = sleep
        self._end = now() + seconds

    def remaining(self) -> float:
        """Return the seconds that are left; zero at the end."""
        return max(self._end - self.now(), 0.0)

    def check(self, waiting_for: str) -> None:
        """Raise if the time is up."""
        if not self.remaining():
            raise DeadlineExceeded(self.seconds, waiting_for)

    def wait(self, seconds: float, waiting_for: str) -> None:
        """Sleep; raise at once if less time is left."""
        if seconds >= self.remaining():
            raise DeadlineExceeded(self.seconds, waiting_for)
        self._sleep(seconds)


def read_deadline(environ: Mapping[str, str], limits: Limits) -> Deadline:
    """Return the operator's deadline for a run that starts now."""
    return Deadline(parse_seconds(environ, limits.run_seconds))


def parse_seconds(environ: Mapping[str, str], usual: float, *, name: str = _SETTING) -> float:
    """Parse the seconds of a deadline; errors name the variable or option."""
    text = environ.get(name, "")
    try:
        seconds = float(text or usual)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _LONGEST:
        raise InvalidInput(
            f"{name}={text} is not a time",
            why=f"it is the number of seconds that a whole run may take, up to {_LONGEST:,}",
            next=f"correct {name}, or leave it out",
        )
    return seconds
