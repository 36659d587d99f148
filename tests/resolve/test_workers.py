"""Questions are answered by urgency, and none is left waiting when the search ends."""

import threading
from concurrent.futures import CancelledError
from functools import partial

import pytest

from render.resolve.workers import AT_ONCE, Workers

SECONDS = 60.0


class Asked:
    """One worker, busy until it is let go, and what it was asked after that."""

    def __init__(self) -> None:
        self.workers = Workers(1, name="test")
        self.answered: list[str] = []
        self._busy, self._go = threading.Event(), threading.Event()
        self.workers.submit(self._wait, 0)
        assert self._busy.wait(SECONDS)

    def _wait(self) -> None:
        self._busy.set()
        assert self._go.wait(SECONDS)

    def answer(self, name: str) -> str:
        self.answered.append(name)
        return name

    def release(self) -> None:
        self._go.set()


def test_the_most_urgent_question_is_answered_first_and_else_the_earliest() -> None:
    asked = Asked()

    futures = [
        asked.workers.submit(partial(asked.answer, name), urgency)
        for name, urgency in [("first", 0), ("deep", 2), ("second", 0), ("deeper", 3)]
    ]
    asked.release()

    assert [future.result(SECONDS) for future in futures] == ["first", "deep", "second", "deeper"]
    assert asked.answered == ["deeper", "deep", "first", "second"]


def test_a_question_that_the_search_waits_for_is_answered_next_and_once() -> None:
    asked = Asked()
    asked.workers.submit(lambda: asked.answer("deep"), 5)
    needed = asked.workers.submit(lambda: asked.answer("needed"), 0)

    asked.workers.hurry(needed, lambda: asked.answer("needed"))
    asked.release()

    assert needed.result(SECONDS) == "needed"
    last = asked.workers.submit(lambda: asked.answer("last"), 0)
    assert last.result(SECONDS) == "last"
    assert asked.answered == ["needed", "deep", "last"]
    asked.workers.hurry(needed, lambda: asked.answer("needed"))
    asked.workers.stop()
    assert asked.answered == ["needed", "deep", "last"]


def test_an_error_belongs_to_the_one_who_asked() -> None:
    workers = Workers(1, name="test")

    failed = workers.submit(lambda: 1 // 0, 0)

    with pytest.raises(ZeroDivisionError):
        failed.result(SECONDS)
    assert workers.submit(lambda: "still there", 0).result(SECONDS) == "still there"
    workers.stop()


def test_stopping_cancels_what_is_queued_and_waits_for_what_is_under_way() -> None:
    asked = Asked()
    queued = [asked.workers.submit(lambda: asked.answer("guess"), urgency) for urgency in (0, 7, AT_ONCE)]

    stopping = threading.Thread(target=asked.workers.stop)
    stopping.start()
    for future in queued:
        with pytest.raises(CancelledError):
            future.result(SECONDS)
    assert stopping.is_alive()
    asked.release()
    stopping.join(SECONDS)

    assert asked.answered == []
    with pytest.raises(CancelledError):
        asked.workers.submit(lambda: asked.answer("late"), 0).result(SECONDS)


def test_a_question_that_no_thread_can_answer_fails_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    workers = Workers(1, name="test")

    needed = workers.submit(lambda: "answer", 0)

    with pytest.raises(RuntimeError, match="can't start new thread"):
        needed.result(SECONDS)
