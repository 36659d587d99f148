"""Threads that answer the most urgent question first."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from heapq import heappop, heappush
from itertools import count
from threading import Lock
from typing import Any, TypeVar

Result = TypeVar("Result")

# For what the search waits for right now.
AT_ONCE = 1 << 30


class Workers:
    """A thread pool with priorities; of two questions with one urgency the earlier one is answered first."""

    def __init__(self, threads: int, *, name: str) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._waiting: list[tuple[int, int, Future[Any], Callable[[], Any]]] = []
        self._order = count()
        self._lock = Lock()
        self._stopped = False

    def submit(self, ask: Callable[[], Result], urgency: int) -> "Future[Result]":
        """Queue a question; after `stop` its answer is cancelled."""
        future: Future[Result] = Future()
        self._queue(future, ask, urgency)
        return future

    def hurry(self, future: "Future[Result]", ask: Callable[[], Result]) -> None:
        """Answer a queued question next."""
        if not future.running() and not future.done():
            self._queue(future, ask, AT_ONCE)

    def stop(self) -> None:
        """Cancel what is queued and wait for what is under way."""
        with self._lock:
            self._stopped = True
            cancelled, self._waiting = self._waiting, []
        self._pool.shutdown(wait=False, cancel_futures=True)
        for _, _, future, _ in cancelled:
            future.cancel()
        self._pool.shutdown()

    def _queue(self, future: "Future[Result]", ask: Callable[[], Result], urgency: int) -> None:
        with self._lock:
            heappush(self._waiting, (-urgency, next(self._order), future, ask))
        try:
            self._pool.submit(self._answer_next)
        except RuntimeError as error:
            self._refuse(future, error)

    def _refuse(self, future: "Future[Result]", error: RuntimeError) -> None:
        with self._lock:
            if self._stopped:
                # The search is over, and a guess has no use any more.
                future.cancel()
            elif not future.running() and not future.done():
                # No thread can be started, and the search may wait for this answer.
                future.set_exception(error)

    def _answer_next(self) -> None:
        with self._lock:
            if not self._waiting:
                return
            _, _, future, ask = heappop(self._waiting)
            # A question that was hurried is queued twice.
            if future.running() or future.done() or not future.set_running_or_notify_cancel():
                return
        try:
            answer = ask()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(answer)
