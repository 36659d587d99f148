"""What git says when it cannot, in our words: one reason, and what to do about it."""

import re
from collections.abc import Sequence

from render.errors import RenderError
from render.system.scratch import hide_scratch_folders

_LOCKED = re.compile(r"Unable to create '(.+?\.lock)': File exists", re.DOTALL)
_FOREIGN = re.compile(r"detected dubious ownership in repository at '(.+?)'", re.DOTALL)
_TAKEN = re.compile(r"'(.+?)' appears as both a file and as a directory", re.DOTALL)
_UNKNOWN = re.compile(r"Authentication failed for|could not read (?:Username|Password) for")
_ELSEWHERE = re.compile(
    r"The requested URL returned error: 30[1-8]|unable to update url base from redirection"
)
_LACKING = re.compile(r"from promisor remote|lazy fetching disabled")
_PREFIX = re.compile(r"^(?:fatal|error|remote|warning): ")
# A server's own git hints, too.
_HINT = re.compile(r"\s*(?:remote:\s*)?hint:")
_SYSTEM = re.compile(
    r"insufficient permission|Permission denied|Read-only file system|No space left on device|Out of diskspace"
)
_TIMING = re.compile(r" after \d+ (?:ms|milliseconds)\b")
# What a server repeats of a request. What a credential helper gave to git nobody else knows, but where it stands.
_HEADER = re.compile(
    r"(?i)\b((?:proxy-)?authorization|(?:set-)?cookie|(?:private|job|deploy|access)-token)[ \t]*[:=].*"
)
_SCHEME = re.compile(r"(?i)\b(basic|bearer|digest|negotiate|ntlm)[ \t]+\S+")
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


class PlaceTaken(GitFailed):
    """A file that is to be committed where a commit has a folder, or below what is a file there."""

    def __init__(self, where: str, path: str) -> None:
        super().__init__(
            where,
            f"something else is committed in the place of {path}",
            next="commit that it is gone, and then the lock",
        )


class NotLetIn(GitFailed):
    """A server that wants to know who we are, and does not take what we say."""

    def __init__(self, where: str) -> None:
        super().__init__(
            where,
            "the server lets nobody in without credentials, and those that it was given, if any, are not accepted",
            next="see whether the token is still valid and may write there",
        )


class SentElsewhere(GitFailed):
    """A server that has what we ask for at another address."""

    def __init__(self, where: str) -> None:
        super().__init__(
            where,
            "the server sends us to another address, where the token does not go",
            next="use the address that the repository has now",
        )


class LacksObjects(GitFailed):
    """A partial clone without objects that are needed; they are never fetched on the way."""

    def __init__(self, where: str) -> None:
        super().__init__(
            where,
            "it is a partial clone, and lacks objects that are needed",
            next="fetch them with `git fetch --refetch --no-filter`",
        )


def describe_failure(where: str, errors: str) -> GitFailed:
    """Return the error that git's own words mean."""
    if "not a git repository" in errors:
        return NotARepository(where)
    if _LACKING.search(errors):
        return LacksObjects(where)
    if foreign := _FOREIGN.search(errors):
        return ForeignRepository(where, foreign[1])
    if taken := _TAKEN.search(errors):
        return PlaceTaken(where, taken[1])
    if _UNKNOWN.search(errors):
        return NotLetIn(where)
    if _ELSEWHERE.search(errors):
        return SentElsewhere(where)
    if locked := _LOCKED.search(errors):
        return RepositoryLocked(where, locked[1])
    lines = shown_lines(errors)
    # What follows such a line follows from it.
    cause = [line for line in lines if _SYSTEM.search(line)][:1]
    return GitFailed(where, cause or lines or "it says nothing about why")


def shown_lines(errors: str) -> list[str]:
    """Return the lines of git's errors that say what is wrong; its hints are about its own commands."""
    lines = [line.strip() for line in errors.splitlines() if not _HINT.match(line)]
    # What it warns of is told where nothing else is.
    grave = [line for line in lines if line and not line.startswith("warning:")]
    told = dict.fromkeys(map(_plain, grave or filter(None, lines)))
    return list(told)[:_SHOWN_LINES]


def mask_credentials(text: str) -> str:
    """Return git's words without what stands where credentials stand in a request."""
    return _SCHEME.sub(r"\1 ***", _HEADER.sub(r"\1: ***", text))


def _plain(line: str) -> str:
    """Return a line without what is another text every time: how long something took, and folders of ours."""
    return hide_scratch_folders(_TIMING.sub("", _PREFIX.sub("", line)))
