"""The lock policies: what the plugin does if the committed lock is missing or out of date."""

from pathlib import Path

from render.app.operator_settings import OperatorSettings
from render.app.reporter import SilentReporter
from render.app.resolving.resolver import Resolver
from render.commands import xplock
from render.errors import Differs, RenderError, Unsatisfiable
from render.limits import LimitExceeded
from render.lock.model import Lock
from render.system.deadline import Deadline
from render.texts import redact, visible


class NotLocked(Differs):
    """The lock of a commit is missing or does not answer the inputs of the same commit."""

    def __init__(self, stale: Differs, path: str, reason: str = "") -> None:
        super().__init__(
            stale.what,
            why=[*stale.why, *([reason] if reason else [])],
            next=f"run `{xplock('lock', folder=path or '.')}` in a clone, and commit what it writes",
        )


class Notes(SilentReporter):
    """A reporter that keeps what it is given, for the log of the sidecar."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        """Keep a line."""
        self.lines.append(visible(redact(text)))

    def warn(self, text: str) -> None:
        """Keep a warning, once."""
        line = f"warning: {visible(redact(text))}"
        if line not in self.lines:
            self.lines.append(line)


def answer_without_lock(
    policy: str, stale: Differs, folder: Path, operator: OperatorSettings, deadline: Deadline
) -> tuple[Lock, list[str]]:
    """Return a lock that was resolved just now, with lines for the log; or raise."""
    path = operator.environ.get("ARGOCD_APP_SOURCE_PATH", "")
    if policy == "resolve":
        notes = Notes()
        resolver = Resolver(operator, notes, deadline=deadline, in_memory=True)
        return resolver.resolve(folder).after, notes.lines
    if policy == "commit":
        raise NotLocked(stale, path, _commit(operator, deadline))
    raise NotLocked(stale, path)


def _commit(operator: OperatorSettings, deadline: Deadline) -> str:
    """Commit the lock and raise that it was; return the reason if it cannot be committed."""
    # Imported late: the other policies need no git.
    from render.argocd.commit_policy import LockCommitted, ReadAsStale, commit_lock

    try:
        commit_lock(operator, deadline)
    except (LockCommitted, ReadAsStale, Unsatisfiable):
        raise
    except RenderError as error:
        # An exceeded limit has to name the setting that raises it.
        advice = error.next if isinstance(error, LimitExceeded) else []
        return "; ".join([error.what, *error.why, *advice])
