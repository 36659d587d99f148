"""What came of locking several folders: locks to write, errors, and whether anything would change."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from render.app.resolving.outcome import Outcome
from render.commands import LockCall
from render.errors import Differs, RenderError, Unsatisfiable
from render.limits import Limits
from render.lock.text.file import write_lock
from render.system.files import LOCK_FILE
from render.texts import counted, first_lines

# How many contradictions an error lists, and how many locks.
_SHOWN = 20


class SeveralFailed(RenderError):
    """Some of several folders failed; their errors were reported before."""

    def __init__(self, failures: Sequence[RenderError], folders: int) -> None:
        super().__init__(
            f"{len(failures)} of {folders} folders could not be locked",
            why="the locks of one cluster are written together or not at all; other folders are not affected",
            next="correct the errors above",
        )
        self.exit_code = max(error.exit_code for error in failures)


class CheckFailed(RenderError):
    """Some of several folders could not be resolved; their errors were reported before."""

    def __init__(self, failures: Sequence[RenderError], outcomes: Sequence[Outcome], folders: int) -> None:
        changed = [outcome for outcome in outcomes if outcome.changes]
        others = f", and {_would_change(changed, folders)}" if changed else ""
        super().__init__(
            f"{len(failures)} of {folders} folders could not be resolved{others}",
            why=_lock_files(changed) or "the locks of the others would not change",
            next="correct the errors above",
        )
        codes = [error.exit_code for error in failures]
        self.exit_code = max([*codes, Differs.exit_code] if changed else codes)


@dataclass(frozen=True, slots=True)
class LockRun:
    """What came of several folders: the outcomes that may be written, and the errors of the others."""

    # In the order of the call, as are the failures.
    outcomes: tuple[Outcome, ...]
    failures: tuple[tuple[Path, RenderError], ...]
    # Every folder once.
    folders: tuple[Path, ...]

    def require_all(self) -> None:
        """Raise if a folder failed."""
        if self.failures:
            raise SeveralFailed([error for _, error in self.failures], len(self.folders))

    def require_unchanged(self, call: LockCall) -> None:
        """Raise if a folder failed, or if a lock would change."""
        if self.failures:
            raise CheckFailed([error for _, error in self.failures], self.outcomes, len(self.folders))
        _require_unchanged(self.outcomes, call)

    def texts(self) -> dict[Path, bytes]:
        """Return the new text of every folder's lock; one that does not change stays byte for byte."""
        return {one.folder: one.text for one in self.outcomes}

    def write(self, limits: Limits) -> None:
        """Write the locks that change."""
        for one in self.outcomes:
            if one.changes:
                write_lock(one.folder, one.text.decode(), limits=limits)


def _require_unchanged(outcomes: Sequence[Outcome], call: LockCall) -> None:
    """Raise if a lock would change, which is worse if its packages no longer accept what other folders provide."""
    changed = [outcome for outcome in outcomes if outcome.changes]
    if not changed:
        return
    would_change = _would_change(changed, len(outcomes))
    advice = f"run `{call.again()}` and commit what it writes"
    unsuited = [line for outcome in changed for line in outcome.unsuited]
    if unsuited:
        what = f"{would_change}, and what they say does not hold any more"
        raise Unsatisfiable(what, why=first_lines(unsuited, _SHOWN), next=advice)
    raise Differs(would_change, why=_lock_files(changed), next=advice)


def _would_change(changed: Sequence[Outcome], folders: int) -> str:
    return f"{len(changed)} of {counted(folders, 'lock')} would change"


def _lock_files(outcomes: Sequence[Outcome]) -> list[str]:
    return first_lines([str(one.folder / LOCK_FILE) for one in outcomes], _SHOWN)
