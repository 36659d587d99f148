"""The result of `commit` as text and JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from render.commands import git
from render.git.changes import Landed
from render.git.remotes import Remote
from render.texts import counted, first_lines, visible
from render.views.commits.commit_message import LockChange, format_pull_request

_SHOWN_DIGITS = 12
_SHOWN_OTHERS = 5


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
    # The paths of all files in the commit, from the root.
    files: Sequence[str] = ()
    # The commits of others that the branch keeps, each in a line.
    others: Sequence[str] = ()
    # Whether the branch has an earlier update, which is no longer needed.
    left_over: bool = False
    # None: a dry run, or no lock has changed.
    landed: Landed | None = None
    # A folder in the repository, as the user writes it.
    folder: str = "."

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
    if pushed:
        return f"Pushed {branch} to {_there(made)}"
    same = f"it has {'this lock' if len(made.changes) == 1 else 'these locks'} already"
    return f"Nothing to commit to {branch}: {same if made.changes else 'no lock has changed'}"


def committed_document(made: Committed) -> dict[str, Any]:
    """Return the result as JSON values."""
    landed = made.landed
    return {
        "folders": [change.folder for change in made.changes],
        "files": list(made.files),
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
    """Return hints: commits that were kept or pushed as well, and a branch that is not needed, or is behind."""
    landed, hints = made.landed, []
    if made.others:
        kept = "; ".join(first_lines(made.others, _SHOWN_OTHERS))
        hints.append(f"{made.branch} has commits of others, and keeps them: {kept}")
    if made.left_over:
        gone = delete_command(made.branch, made.remote, made.folder)
        hints.append(
            f"{made.branch} has an earlier update, which is not needed any more; to delete it: {gone}"
        )
    if landed and landed.along:
        hints.append(f"pushed along: {counted(landed.along, 'earlier commit')} of {made.branch}")
    if landed and landed.behind:
        hints.append(f"{_there(made)} has more than {made.branch} here: run {_catch_up(made)}")
    return hints


def delete_command(branch: str, remote: Remote | None, folder: str) -> str:
    """Return the command that deletes a branch on its server, or here."""
    if remote is None:
        return git("branch", "-D", branch, folder=folder)
    return git("push", remote.name, "--delete", remote.branch, folder=folder)


def _catch_up(made: Committed) -> str:
    """Return the command that brings a branch up to date."""
    if made.remote and not made.current:
        return git("fetch", made.remote.name, f"{made.remote.branch}:{made.branch}", folder=made.folder)
    # A pull refuses to overwrite a changed file, even with the same content, unless it is staged.
    locks = [f":/{change.path}" for change in made.changes]
    pull = git("pull", folder=made.folder)
    return f"{git('add', *locks, folder=made.folder)} && {pull}" if locks else pull


def _there(made: Committed) -> str:
    remote = made.remote or Remote("", "")
    return remote.name if remote.branch == made.branch else f"{remote.branch} of {remote.name}"
