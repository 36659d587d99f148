"""Work that goes on beside a test, again and again; where it fails, the test fails."""

import threading
from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import Self

import urllib3

from rig.servers.client import Refused
from rig.servers.waiting import minding

_PAUSE = 0.3
# Rounds in a row in which the API server may be too busy, or others may be quicker.
_MOST_FAILURES = 100


class Beside:
    """Does something every moment while the context lasts."""

    def __init__(self, work: Callable[[], None], name: str) -> None:
        self._work, self._name = work, name
        self._end, self._stack = threading.Event(), ExitStack()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._stack.enter_context(minding(self._check))
        self._stack.callback(self._thread.join)
        self._stack.callback(self._end.set)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def _check(self) -> None:
        if self._failure:
            raise AssertionError(f"{self._name} failed: {self._failure!r}") from self._failure

    def _run(self) -> None:
        failures = 0
        while not self._end.wait(_PAUSE):
            try:
                self._work()
                failures = 0
            except Exception as error:  # the test fails with it later
                failures += 1
                if failures > _MOST_FAILURES or not _may_pass(error):
                    self._failure = error
                    return


def _may_pass(error: Exception) -> bool:
    if isinstance(error, Refused):
        return error.status == 409 or error.status >= 500
    return isinstance(error, urllib3.exceptions.HTTPError)
