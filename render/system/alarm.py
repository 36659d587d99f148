"""A call that ends itself: in time, or when it is told to, with one line that says so."""

import os
import signal
import sys
from collections.abc import Callable

from render.errors import RenderError
from render.lean import TYPE_CHECKING, NoReturn, TypeAlias, TypeVar
from render.system.scratch import remove_scratch_folders

if TYPE_CHECKING:
    from types import FrameType

T = TypeVar("T")
Report: TypeAlias = Callable[[RenderError], None]

# How long a call may take to tidy up: whoever is asked to stop is gone within two seconds.
LAST_SECONDS = 1.5
# A program that is being started is waited for by moments, and by so many of them.
_MOMENT, _MOMENTS = 0.02, 20

# What the call was ended with, while that had to wait for such a program.
_put_off: list[RenderError] = []


class OutOfTime(RenderError):
    """The deadline of the whole call."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"no manifests after {seconds:g} seconds",
            why="Argo CD gives up a little later, without telling why",
            next="lock ahead of time: run `xplock lock` and commit what it writes",
        )


class Stopped(RenderError):
    """Somebody ended the call."""

    def __init__(self) -> None:
        super().__init__("stopped before the manifests were ready")


class Ending(BaseException):
    """The way out when the call is ended; no Exception, which foreign code on that way might take for one of its own."""

    def __init__(self, error: RenderError) -> None:
        super().__init__()
        self.error = error


def run_in_time(act: Callable[[], T], seconds: float, report: Report) -> T:
    """Do something, and have it ended from inside while there is still somebody to tell why."""
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
        # Whoever has an error to tell is not ended by another one.
        _stop_alarm()
        if _put_off:
            # What has failed since then failed because of that.
            raise Ending(_put_off[0]) from None
        raise


def _set_alarm(seconds: float, report: Report) -> None:
    signal.signal(signal.SIGALRM, lambda _, frame: _end(OutOfTime(seconds), report, frame))
    signal.signal(signal.SIGTERM, lambda _, frame: _end(Stopped(), report, frame))
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _stop_alarm() -> None:
    """Let the call end as it likes."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _end(error: RenderError, report: Report, frame: "FrameType | None", moments: int = _MOMENTS) -> None:
    """End the call in order, or a little later without any."""
    # Not SIG_IGN: a program that is being started would ignore it as well, and for good.
    signal.signal(signal.SIGTERM, lambda *_: None)
    if moments and _starts_a_program(frame):
        _put_off.append(error)
        signal.signal(signal.SIGALRM, lambda _, later: _end(error, report, later, moments - 1))
        signal.setitimer(signal.ITIMER_REAL, _MOMENT)
        return
    signal.signal(signal.SIGALRM, lambda *_: _leave(error, report))
    signal.setitimer(signal.ITIMER_REAL, LAST_SECONDS)
    raise Ending(error)


def _starts_a_program(frame: "FrameType | None") -> bool:
    """Tell whether a program is being started, here or in a library: nobody would know of it yet to end it."""
    module = sys.modules.get("subprocess")
    start = module.Popen.__init__.__code__ if module else None
    while frame is not None and frame.f_code is not start:
        frame = frame.f_back
    return frame is not None


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
