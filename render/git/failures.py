"""What git says when it cannot, in our words: one reason, and what to do about it."""

import re
from collections.abc import Sequence

from render.errors import RenderError

_LOCKED = re.compile(r"Unable to create '(.+?\.lock)': File exists", re.DOTALL)
_FOREIGN = re.compile(r"detected dubious ownership in repository at '(.+?)'", re.DOTALL)
_PREFIX = re.compile(r"^(?:fatal|error|remote|warning): ")
_SHOWN_LINES = 5


class GitFailed(RenderError):
    """Git could not."""

    def __init__(self, where: str, why: str | Sequence[str], *, next: str = "check the repository") -> None:
        super().__init__(f"git cannot work in {where}", why=why, next=next)


class GitMissing(GitFailed):
    """No git to run."""

    def __init__(self, where: str) -> None:
        super().__init__(where, "git is not installed", next="install git")


class NotARepository(GitFailed):
    """A folder that is in no Git repository."""

    def __init__(self, where: str) -> None:
        super().__init__(where, "it is not in a Git repository", next="run it inside of a clone")


class ForeignRepository(GitFailed):
    """A repository of another user, whose configuration could run programs in our name."""

    def __init__(self, where: str, path: str) -> None:
        super().__init__(
            where,
            "the repository belongs to another user",
            next=f"if you trust it: git config --global --add safe.directory {path}",
        )


class RepositoryLocked(GitFailed):
    """A file that another git holds while it writes, or that one left behind when it was killed."""

    def __init__(self, where: str, path: str) -> None:
        super().__init__(
            where,
            f"{path} exists: another git is writing, or was killed while it did",
            next="make sure that no git runs in this repository, then remove the file",
        )


def describe_failure(where: str, errors: str) -> GitFailed:
    """Return the error that git's own words mean."""
    if "not a git repository" in errors:
        return NotARepository(where)
    if foreign := _FOREIGN.search(errors):
        return ForeignRepository(where, foreign[1])
    if locked := _LOCKED.search(errors):
        return RepositoryLocked(where, locked[1])
    return GitFailed(where, shown_lines(errors) or "it says nothing about why")


def shown_lines(errors: str) -> list[str]:
    """Return the lines of git's errors that say what is wrong; its hints are about its own commands."""
    lines = [_PREFIX.sub("", line.strip()) for line in errors.splitlines()]
    told = dict.fromkeys(line for line in lines if line and not line.startswith("hint:"))
    return list(told)[:_SHOWN_LINES]
