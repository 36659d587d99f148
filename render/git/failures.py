"""Git's error output → one of our errors: one reason, and advice."""

import re
from collections.abc import Sequence

from render.commands import shell
from render.errors import RenderError
from render.system.scratch import hide_scratch_folders

_LOCKED = re.compile(r"Unable to create '(.+?\.lock)': File exists", re.DOTALL)
_FOREIGN = re.compile(r"detected dubious ownership in repository at '(.+?)'", re.DOTALL)
_PATH_CONFLICT = re.compile(r"'(.+?)' appears as both a file and as a directory", re.DOTALL)
_UNAUTHENTICATED = re.compile(r"Authentication failed for|could not read (?:Username|Password) for")
_REDIRECTED = re.compile(
    r"The requested URL returned error: 30[1-8]|unable to update url base from redirection"
)
_LACKS_OBJECTS = re.compile(r"from promisor remote|lazy fetching disabled")
_UNSIGNED = re.compile(
    r"failed to sign the data|signing failed|gpg\.ssh\.defaultKeyCommand|Couldn't load public key"
)
_BRANCH_CONFLICT = re.compile(r"'refs/heads/(\S+)' exists; cannot create 'refs/heads/(\S+)'")
_PREFIX = re.compile(r"^(?:fatal|error|remote|warning): ")
# Hints also come from a server's git.
_HINT = re.compile(r"\s*(?:remote:\s*)?hint:")
_SYSTEM = re.compile(
    r"insufficient permission|Permission denied|Read-only file system|No space left on device|Out of diskspace"
)
_TIMING = re.compile(r" after \d+ (?:ms|milliseconds)\b")
# Headers that a server may repeat. Secrets from a credential helper are unknown to us, so whole values are masked.
_HEADER = re.compile(
    r"(?i)\b((?:proxy-)?authorization|(?:set-)?cookie|(?:private|job|deploy|access)-token)[ \t]*[:=].*"
)
_SCHEME = re.compile(r"(?i)\b(basic|bearer|digest|negotiate|ntlm)[ \t]+\S+")
_SHOWN_LINES = 5


class GitFailed(RenderError):
    """A git command failed."""

    def __init__(self, where: str, why: str | Sequence[str], *, next: str = "check the repository") -> None:
        super().__init__(f"git cannot work in {where}", why=why, next=next)


class GitMissing(GitFailed):
    """Git is not installed."""

    def __init__(self, where: str) -> None:
        super().__init__(where, "git is not installed", next="install git")


class NotARepository(GitFailed):
    """A folder outside of any Git repository."""

    def __init__(self, where: str) -> None:
        super().__init__(where, "it is not in a Git repository", next="run it inside a clone")


class ForeignRepository(GitFailed):
    """A repository of another user, whose configuration could run programs as us."""

    def __init__(self, where: str, path: str) -> None:
        super().__init__(
            where,
            "the repository belongs to another user",
            next="if you trust it: " + shell("git", "config", "--global", "--add", "safe.directory", path),
        )


class RepositoryLocked(GitFailed):
    """A lock file of another git process, which is writing or was killed."""

    def __init__(self, where: str, path: str) -> None:
        super().__init__(
            where,
            f"{path} exists: another git process is writing, or was killed while writing",
            next="make sure that no git process runs in this repository, then remove the file",
        )


class PathConflict(GitFailed):
    """A file to commit whose path is a folder in the commit, or lies below a file there."""

    def __init__(self, where: str, path: str) -> None:
        super().__init__(
            where,
            f"the commit has a folder at {path}, or a file at one of the folders above it",
            next="commit its removal first, then the lock",
        )


class AuthenticationFailed(GitFailed):
    """A server that rejects our credentials, or requires some."""

    def __init__(self, where: str) -> None:
        super().__init__(
            where,
            "the server requires credentials, and rejected those that were sent, if any",
            next="check that the token is still valid and may write to the repository",
        )


class Redirected(GitFailed):
    """A server that redirects to another address."""

    def __init__(self, where: str) -> None:
        super().__init__(
            where,
            "the server redirects to another address, and the token is not sent there",
            next="use the repository's current address",
        )


class SigningFailed(GitFailed):
    """A commit that could not be signed."""

    def __init__(self, where: str, why: Sequence[str]) -> None:
        super().__init__(
            where,
            ["the commit cannot be signed", *why],
            next="check user.signingKey and gpg.program of your own configuration (those of .git/config name no "
            "program), or add --no-sign",
        )


class BranchConflict(GitFailed):
    """A branch whose name is a folder of another branch's name, or the other way round."""

    def __init__(self, where: str, branch: str, other: str) -> None:
        super().__init__(
            where,
            f"branch {branch} cannot be created beside branch {other}: git stores branches as files, and one of the "
            "two names is a folder of the other",
            next=f"name another branch, or rename branch {other}",
        )


class LacksObjects(GitFailed):
    """A partial clone without objects that are needed; only explicit commands fetch from a server."""

    def __init__(self, where: str) -> None:
        super().__init__(
            where,
            "it is a partial clone, and lacks objects that are needed",
            next="fetch them with `git fetch --refetch --no-filter`",
        )


def describe_failure(where: str, errors: str) -> GitFailed:
    """Return the error for git's stderr."""
    if "not a git repository" in errors:
        return NotARepository(where)
    if _LACKS_OBJECTS.search(errors):
        return LacksObjects(where)
    if foreign := _FOREIGN.search(errors):
        return ForeignRepository(where, foreign[1])
    if taken := _PATH_CONFLICT.search(errors):
        return PathConflict(where, taken[1])
    if _UNAUTHENTICATED.search(errors):
        return AuthenticationFailed(where)
    if _REDIRECTED.search(errors):
        return Redirected(where)
    if locked := _LOCKED.search(errors):
        return RepositoryLocked(where, locked[1])
    if conflict := find_branch_conflict(where, errors):
        return conflict
    lines = shown_lines(errors)
    if _UNSIGNED.search(errors):
        return SigningFailed(where, lines)
    # The lines after such a line are consequences of it.
    cause = [line for line in lines if _SYSTEM.search(line)][:1]
    return GitFailed(where, cause or lines or "git printed no reason")


def find_branch_conflict(where: str, errors: str) -> BranchConflict | None:
    """Return the error for a branch that another branch's name rules out, if git or a server reports that."""
    found = _BRANCH_CONFLICT.search(errors)
    return BranchConflict(where, found[2], found[1]) if found else None


def shown_lines(errors: str) -> list[str]:
    """Return the lines of git's stderr that give a reason, without hints about git's own commands."""
    lines = [line.strip() for line in errors.splitlines() if not _HINT.match(line)]
    # Warnings are shown only if there is nothing else.
    reasons = [line for line in lines if line and not line.startswith("warning:")]
    shown = dict.fromkeys(map(_stable, reasons or filter(None, lines)))
    return list(shown)[:_SHOWN_LINES]


def mask_credentials(text: str) -> str:
    """Return a text with the values of headers that carry credentials masked."""
    return _SCHEME.sub(r"\1 ***", _HEADER.sub(r"\1: ***", text))


def _stable(line: str) -> str:
    """Return a line without timings and temporary folders, which differ from run to run."""
    return hide_scratch_folders(_TIMING.sub("", _PREFIX.sub("", line)))
