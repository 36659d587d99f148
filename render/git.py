"""Git, read: what a file was at a revision. Plumbing commands only, nothing of the user's is run or changed."""

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from render.errors import InvalidInput, RenderError
from render.limits import LimitExceeded, Limits, format_amount, setting

# Without this, importing GitPython fails where git is not installed.
os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")

from git.cmd import Git

# Whatever else a hook or a shell set would point git at another repository, index or configuration.
_KEPT = {"GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "GIT_ASKPASS", "GIT_EXEC_PATH"}
_SET = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
# A repository's configuration may name programs; these two are the ones that reading would run.
_OPTIONS = ("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false")
# git-check-ref-format(1), and the suffixes of gitrevisions(7); no text that could be an option.
_REVISION = re.compile(r"(?!-)[^\x00-\x20\x7f:?*\[\\]{1,255}")
_DEFAULTS = Limits()
_NO_NAMES = ("", ".", "..")
_PLAIN_FILES = ("100644", "100755", "100664")


class GitFailed(RenderError):
    """Git could not tell."""

    def __init__(self, folder: Path, why: str | Sequence[str], *, next: str = "check the repository") -> None:
        super().__init__(f"git cannot read {folder}", why=why, next=next)


class NotARepository(GitFailed):
    """A folder that is in no Git repository."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "it is not in a Git repository", next="run it inside of a clone")


class UnknownRevision(InvalidInput):
    """A name that is no commit of this repository."""

    def __init__(self, revision: str, why: str) -> None:
        super().__init__(f"{revision} is not a revision", why=why, next="name a branch, a tag or a commit")


def read_at(folder: Path, revision: str, name: str, *, limits: Limits = _DEFAULTS) -> bytes | None:
    """Return a file of a folder as it was at a revision, or nothing if it was not there."""
    found = _find(folder, revision, name, limits)
    if found is None:
        return None
    blob, size = found
    if size > limits.lock_bytes:
        raise LimitExceeded(
            f"{folder / name} at {revision} is too large", "lock_bytes", limits, found=f"{size:,} bytes"
        )
    return _run(folder, ["cat-file", "blob", blob], limits)


def has_at_head(folder: Path, name: str, *, limits: Limits = _DEFAULTS) -> bool:
    """Tell whether the current commit holds a file in this folder; outside of a repository none does."""
    if not _in_repository(folder):
        return False
    return _find(folder, "HEAD", name, limits) is not None


def _find(folder: Path, revision: str, name: str, limits: Limits) -> tuple[str, int] | None:
    """Return the object that holds a file at a revision, and its size."""
    commit = _find_commit(folder, revision, limits)
    if commit is None or name in _NO_NAMES or "/" in name:
        return None
    listed = _run(folder, ["ls-tree", "-l", "-z", commit, "--", name], limits).decode(errors="replace")
    mode, _, blob, size = (listed.partition("\t")[0].split() or ["", "", "", ""])[:4]
    return (blob, int(size)) if mode in _PLAIN_FILES else None


def _find_commit(folder: Path, revision: str, limits: Limits) -> str | None:
    if not _REVISION.fullmatch(revision):
        raise UnknownRevision(revision, "it is not written like one")
    command = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"]
    status, output, _ = _execute(folder, command, limits, expected=(0, 1))
    if status == 0:
        return output.decode().strip()
    if revision == "HEAD":
        return None  # a branch without a first commit
    raise UnknownRevision(revision, f"the repository of {folder} has no such commit")


def _run(folder: Path, command: Sequence[str], limits: Limits) -> bytes:
    return _execute(folder, command, limits)[1]


def _execute(
    folder: Path, command: Sequence[str], limits: Limits, *, expected: tuple[int, ...] = (0,)
) -> tuple[int, bytes, str]:
    git = shutil.which("git")
    if git is None:
        raise GitFailed(folder, "git is not installed", next="install git")
    # GitPython hands on the whole environment; only a program in between can take something away.
    dropped = [name for name in os.environ if name.startswith("GIT_") and name not in _KEPT]
    without = [option for name in sorted(dropped) for option in ("-u", name)]
    status, output, errors = Git().execute(
        ["env", *without, git, *_OPTIONS, "-C", str(folder), *command],
        env=_SET,
        kill_after_timeout=limits.git_seconds,
        with_exceptions=False,
        with_extended_output=True,
        stdout_as_string=False,
        strip_newline_in_stdout=False,
    )
    if status in expected:
        return status, output, errors
    raise _failure(folder, errors, limits)


def _failure(folder: Path, errors: str, limits: Limits) -> GitFailed:
    if "not a git repository" in errors:
        return NotARepository(folder)
    if errors.startswith("Timeout: "):
        amount = format_amount("git_seconds", limits.git_seconds)
        why = f"it took longer than the limit of {amount}"
        return GitFailed(folder, why, next=f"try again, or raise {setting('git_seconds')}")
    return GitFailed(folder, [line for line in errors.splitlines() if line.strip()][:5])


def _in_repository(folder: Path) -> bool:
    here = folder.resolve()
    return any((parent / ".git").exists() for parent in (here, *here.parents))
