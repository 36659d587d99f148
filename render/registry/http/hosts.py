"""What is known about a host during a run: its failures, and how many requests it gets at once."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from render.limits import Limits
from render.system.deadline import Deadline, DeadlineExceeded

# Answers of one moment report one overload, and must not narrow a host several times.
_MOMENT = 1.0
_SUCCESSES_TO_WIDEN = 16


class Slots:
    """Requests that may run at once; a host that complains gets half as many, and more again after successes."""

    def __init__(self, width: int, now: Callable[[], float]) -> None:
        self._most = width
        self._now = now
        self._changed = threading.Condition()
        self._used = self._successes = 0
        self._narrowed = float("-inf")
        self.width = width

    @contextmanager
    def taken(self, deadline: Deadline, waiting_for: str) -> Iterator[None]:
        """Hold a slot; raise if none becomes free before the deadline."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._used < self.width, deadline.remaining()):
                raise DeadlineExceeded(deadline.seconds, waiting_for)
            self._used += 1
        try:
            yield
        finally:
            with self._changed:
                self._used -= 1
                self._changed.notify()

    def narrow(self) -> None:
        """Allow half as many requests, but always one."""
        with self._changed:
            if self._now() - self._narrowed >= _MOMENT:
                self.width = max(self.width // 2, 1)
                self._narrowed, self._successes = self._now(), 0

    def note_success(self) -> None:
        """Allow one request more after a number of successes."""
        if self.width == self._most:
            return
        with self._changed:
            self._successes += 1
            if self._successes >= _SUCCESSES_TO_WIDEN:
                self.width, self._successes = min(self.width + 1, self._most), 0
                self._changed.notify()


class Host:
    """The failures and successes of a host, over all threads."""

    def __init__(self, limits: Limits, now: Callable[[], float]) -> None:
        self._limits = limits
        self.slots = Slots(limits.parallel_per_host, now)
        self._now = now
        # In a row; of overloads each time that the host asked for.
        self.failures = self.overloads = 0
        self._asked_until = float("-inf")
        self.ever_answered = False

    def note_success(self) -> None:
        """Remember that the host is fine."""
        self.failures, self.overloads, self.ever_answered = 0, 0, True
        self.slots.note_success()

    def note_failure(self, *, answered: bool) -> None:
        """Remember that the host failed."""
        self.failures += 1
        self.ever_answered = self.ever_answered or answered

    def note_overload(self, seconds: float = 0.0) -> None:
        """Remember that the host asks for fewer requests, and for some seconds; which shows that it is there."""
        self.ever_answered = True
        self.slots.narrow()
        # Until then, further answers are about the same overload.
        if self._now() >= self._asked_until:
            self.overloads += 1
            self._asked_until = self._now() + max(seconds, _MOMENT)

    def tries_allowed(self) -> int:
        """Return how often a request may be tried."""
        if self.failures >= self._limits.failures_in_a_row or self.overloads >= self._limits.attempts:
            return 0
        return self._limits.attempts if self.ever_answered else self._limits.attempts_unanswered
