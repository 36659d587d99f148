"""What the plugin does when the committed lock is missing or out of date: the operator's choice."""

from collections.abc import Mapping
from pathlib import Path
from shlex import quote

from render.app.reporter import SilentReporter
from render.app.resolving import Resolver
from render.deadline import Deadline
from render.errors import Differs, RenderError, Unsatisfiable
from render.limits import LimitExceeded
from render.lock.model import Lock
from render.texts import redact, visible


class NotLocked(Differs):
    """A commit whose lock does not answer what the same commit asks for."""

    def __init__(self, stale: Differs, path: str, reason: str = "") -> None:
        # Somebody will paste it.
        folder = f" {quote(path)}" if path not in ("", ".") else ""
        super().__init__(
            stale.what,
            why=[*stale.why, *([reason] if reason else [])],
            next=f"run `xplock lock{folder}` in a clone, and commit what it writes",
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
    policy: str, stale: Differs, folder: Path, environ: Mapping[str, str], deadline: Deadline
) -> tuple[Lock, list[str]]:
    """Return a lock that was resolved just now, with lines for the log; or raise."""
    path = environ.get("ARGOCD_APP_SOURCE_PATH", "")
    if policy == "resolve":
        notes = Notes()
        resolver = Resolver(environ, notes, deadline=deadline, in_memory=True)
        return resolver.resolve(folder).as_written(resolver.limits), notes.lines
    if policy == "commit":
        raise NotLocked(stale, path, _commit(environ, deadline))
    raise NotLocked(stale, path)


def _commit(environ: Mapping[str, str], deadline: Deadline) -> str:
    """Return why no lock could be committed; one that was, and one that nobody can make, are told by their errors."""
    # Git is for operators who want it.
    from render.argocd.commit_policy import LockCommitted, ReadAsStale, commit_lock

    try:
        commit_lock(environ, deadline)
    except (LockCommitted, ReadAsStale, Unsatisfiable):
        raise
    except RenderError as error:
        # Whoever meets a bound needs to know which setting raises it.
        advice = error.next if isinstance(error, LimitExceeded) else []
        return "; ".join([error.what, *error.why, *advice])
