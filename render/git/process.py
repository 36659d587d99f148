"""Running git: a list of arguments, a clean environment, and a time limit. The one door to GitPython."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import NamedTuple

# Without this, importing GitPython fails where git is not installed.
os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")

from git.cmd import Git
from git.exc import GitError

from render.system.alarm import LAST_SECONDS, hold_ending

# All other GIT_* variables are dropped: those of a hook or a shell could point git at another repository or index.
# The kept ones say how to reach a server, where the user's configuration is, and who the user is.
_KEPT = {
    *("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "GIT_ASKPASS", "GIT_EXEC_PATH"),
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"),
    *("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"),
}
_SET = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
# The time that git gets to remove its lock files after SIGTERM. When our own process is being ended it is shorter, so
# that there is time for two waits.
_STOP_SECONDS, _LAST_STOP_SECONDS = 2.0, 0.4 * LAST_SECONDS


class GitTooSlow(Exception):
    """Git did not end in time."""


class GitNotStarted(Exception):
    """Git could not be started; the text is the reason."""


class GitResult(NamedTuple):
    """The exit status, stdout and stderr of a git command."""

    status: int
    output: bytes
    errors: str


def execute(
    command: Sequence[str], *, seconds: float, data: bytes | None = None, environment: Mapping[str, str]
) -> GitResult:
    """Run git with `data` on stdin. Secrets belong in the environment: other users can read command lines."""
    given = {**_SET, **environment}
    stdin = subprocess.DEVNULL if data is None else subprocess.PIPE
    process = None
    try:
        with hold_ending():
            process = _start([*_clean(given), *command], given, stdin)
        output, errors = process.communicate(data, timeout=seconds)
    except subprocess.TimeoutExpired:
        _stop(process, _STOP_SECONDS)
        raise GitTooSlow from None
    except BaseException:
        _stop(process, _LAST_STOP_SECONDS)
        raise
    return GitResult(process.returncode, output, errors.decode(errors="replace"))


def _start(command: Sequence[str], environment: Mapping[str, str], stdin: int) -> Git.AutoInterrupt:
    try:
        return Git().execute(command, env=environment, istream=stdin, as_process=True)
    except (OSError, GitError) as error:
        raise GitNotStarted(getattr(error, "strerror", None) or "a program is missing") from None


def _clean(given: Mapping[str, str]) -> list[str]:
    # GitPython passes on the whole environment, so `env -u` removes variables from it.
    dropped = [name for name in os.environ if name.startswith("GIT_") and name not in _KEPT | given.keys()]
    return ["env", *[option for name in sorted(dropped) for option in ("-u", name)]]


def _stop(process: Git.AutoInterrupt | None, seconds: float) -> None:
    """End git: after SIGTERM it removes its lock files. Its own children end when their pipes close."""
    if process is None:
        return
    for stop in (process.terminate, process.kill):
        stop()
        try:
            process.communicate(timeout=seconds)
            return
        except subprocess.TimeoutExpired:
            continue
        except BaseException:
            # Our own process is being ended.
            process.kill()
            raise
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
