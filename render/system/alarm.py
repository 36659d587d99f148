"""A call that ends itself: when its time is up or it is asked to stop, with an error that says so."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from render.errors import RenderError
from render.lean import NoReturn, TypeAlias, TypeVar
from render.system.scratch import remove_scratch_folders

T = TypeVar("T")
Report: TypeAlias = Callable[[RenderError], None]

# How long a call may take to clean up, so that it is gone within two seconds after it was asked to stop.
LAST_SECONDS = 1.5


class _Hold:
    """Whether the end of the call has to wait, and the error to end it with afterwards."""

    active = False
    error: RenderError | None = None


class OutOfTime(RenderError):
    """The deadline of the whole call."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"no manifests after {seconds:g} seconds",
            why="Argo CD cancels the call a little later, without a reason",
            next="lock ahead of time: run `xplock lock` and commit what it writes",
        )


class Stopped(RenderError):
    """The call was asked to stop."""

    def __init__(self) -> None:
        super().__init__("stopped before the manifests were ready")


class Ending(BaseException):
    """Raised to end the call; not an Exception, which other libraries might catch as one of their own."""

    def __init__(self, error: RenderError) -> None:
        super().__init__()
        self.error = error


@contextmanager
def hold_ending() -> Iterator[None]:
    """Let the end of the call wait for this block: a program has to be started before it can be killed."""
    from threading import current_thread, main_thread

    # Signals are handled in the main thread, so no other one is ever interrupted.
    if current_thread() is not main_thread():
        yield
        return
    _Hold.active = True
    try:
        yield
    finally:
        _Hold.active = False
        error, _Hold.error = _Hold.error, None
        if error is not None:
            # In place of any error of the block, which the signal may have caused.
            raise Ending(error) from None


def run_in_time(act: Callable[[], T], seconds: float, report: Report) -> T:
    """Call a function, and end it from inside while the reason can still be reported."""
    try:
        _set_alarm(seconds, report)
        result = _run(act)
        _stop_alarm()
    except Ending as ending:
        remove_scratch_folders()
        _stop_alarm()
        raise ending.error from None
    return result


def _run(act: Callable[[], T]) -> T:
    try:
        return act()
    except Exception:
        # An error on its way out is not replaced by another one.
        _stop_alarm()
        raise


def _set_alarm(seconds: float, report: Report) -> None:
    _Hold.error = None
    signal.signal(signal.SIGALRM, lambda *_: _end(OutOfTime(seconds), report))
    signal.signal(signal.SIGTERM, lambda *_: _end(Stopped(), report))
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _stop_alarm() -> None:
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _end(error: RenderError, report: Report) -> None:
    """End the call in order; if that takes too long, leave at once."""
    # Not SIG_IGN: a program that is being started would ignore the signal as well, and for good.
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.signal(signal.SIGALRM, lambda *_: _leave(error, report))
    signal.setitimer(signal.ITIMER_REAL, LAST_SECONDS)
    if _Hold.active:
        _Hold.error = error
    else:
        raise Ending(error)


def _leave(error: RenderError, report: Report) -> NoReturn:
    try:
        report(error)
        sys.stderr.flush()
    finally:
        try:
            remove_scratch_folders()
        finally:
            # Python would first wait for threads that wait for registries.
            os._exit(error.exit_code)
