"""The result of `commit` as text and JSON."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from render.git.landing import Landed
from render.git.remotes import Remote
from render.texts import counted, visible
from render.views.commit_message import LockChange, format_pull_request

_SHOWN_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Committed:
    """The locks of one repository that differ from its branch, and the commit that holds them."""

    branch: str
    changes: Sequence[LockChange] = ()
    subject: str = ""
    message: str = ""
    remote: Remote | None = None
    # Whether the work tree is on the branch.
    current: bool = True
    # None: a dry run, or no lock has changed.
    landed: Landed | None = None

    @property
    def commit(self) -> str | None:
        """The new commit, if there is one."""
        return self.landed.commit if self.landed and self.landed.new else None


def format_committed(made: Committed) -> str:
    """Write one line: what was committed, and where it was pushed."""
    branch, pushed = visible(made.branch), made.landed is not None and made.landed.pushed
    to = f" and pushed to {_there(made)}" if pushed else ""
    if made.commit:
        return f"Committed {made.commit[:_SHOWN_DIGITS]} to {branch}{to}: {visible(made.subject)}"
    if made.changes and made.landed is None:
        return f"Would commit to {branch}: {visible(made.subject)}"
    return (
        f"Pushed {branch} to {_there(made)}"
        if pushed
        else f"Nothing to commit to {branch}: no lock has changed"
    )


def committed_document(made: Committed) -> dict[str, Any]:
    """Return the result as JSON values."""
    landed = made.landed
    return {
        "folders": [change.folder for change in made.changes],
        "branch": made.branch,
        "commit": made.commit,
        "parent": landed.parent if landed and landed.new else None,
        "pushed": landed is not None and landed.pushed,
        "remote": made.remote.name if made.remote else None,
        "remoteBranch": made.remote.branch if made.remote else None,
        "behind": landed is not None and landed.behind,
        "message": made.message,
        "pullRequest": {"title": made.subject, "body": format_pull_request(made.changes)}
        if made.changes
        else None,
    }


def committed_hints(made: Committed) -> list[str]:
    """Return hints: commits that were pushed as well, and a branch that is behind its remote."""
    landed, hints = made.landed, []
    if landed and landed.along:
        hints.append(f"pushed along: {counted(landed.along, 'earlier commit')} of {made.branch}")
    if landed and landed.behind:
        hints.append(f"{_there(made)} has more than {made.branch} here: run {_catch_up(made)}")
    return hints


def _catch_up(made: Committed) -> str:
    """Return the command that brings a branch up to date."""
    if made.remote and not made.current:
        return f"git fetch {shlex.join([made.remote.name, f'{made.remote.branch}:{made.branch}'])}"
    # A pull refuses to overwrite a changed file, even with the same content, unless it is staged.
    locks = shlex.join(f":/{change.path}" for change in made.changes)
    return f"git add {locks} && git pull" if locks else "git pull"


def _there(made: Committed) -> str:
    remote = made.remote or Remote("", "")
    return remote.name if remote.branch == made.branch else f"{remote.branch} of {remote.name}"
