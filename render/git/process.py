"""Git, run: a list of arguments, a clean environment, a bounded time, and no program that a repository names."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import NamedTuple

# Without this, importing GitPython fails where git is not installed.
os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")

from git.cmd import Git
from git.exc import GitError

from render.system.alarm import LAST_SECONDS, hold_ending

# Whatever else a hook or a shell set would point git at another repository or index. What stays is how somebody
# reaches a server, where their own configuration is, and who they are.
_KEPT = {
    *("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "GIT_ASKPASS", "GIT_EXEC_PATH"),
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"),
    *("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"),
}
_SET = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
# How long a git that was asked to stop may clean up behind itself; less where the whole call is being ended, so that
# there is time to wait for it twice.
_PATIENCE, _LITTLE_PATIENCE = 2.0, 0.4 * LAST_SECONDS


class GitTooSlow(Exception):
    """A git that did not end in time."""


class NotStarted(Exception):
    """A git that could not be started, and why."""


class Answer(NamedTuple):
    """What git said, and how it ended."""

    status: int
    output: bytes
    errors: str


def execute(
    command: Sequence[str], *, seconds: float, data: bytes | None = None, environment: Mapping[str, str]
) -> Answer:
    """Run git with text on stdin; secrets are for the environment, which nobody else sees."""
    given = {**_SET, **environment}
    stdin = subprocess.DEVNULL if data is None else subprocess.PIPE
    process = None
    try:
        with hold_ending():
            process = _start([*_clean(given), *command], given, stdin)
        output, errors = process.communicate(data, timeout=seconds)
    except subprocess.TimeoutExpired:
        _stop(process, _PATIENCE)
        raise GitTooSlow from None
    except BaseException:
        _stop(process, _LITTLE_PATIENCE)
        raise
    return Answer(process.returncode, output, errors.decode(errors="replace"))


def _start(command: Sequence[str], environment: Mapping[str, str], stdin: int) -> Git.AutoInterrupt:
    try:
        return Git().execute(command, env=environment, istream=stdin, as_process=True)
    except (OSError, GitError) as error:
        raise NotStarted(getattr(error, "strerror", None) or "a program is missing") from None


def _clean(given: Mapping[str, str]) -> list[str]:
    # GitPython hands on the whole environment; only a program in between can take something away.
    dropped = [name for name in os.environ if name.startswith("GIT_") and name not in _KEPT | given.keys()]
    return ["env", *[option for name in sorted(dropped) for option in ("-u", name)]]


def _stop(process: Git.AutoInterrupt | None, seconds: float) -> None:
    """End a git that was started: asked to, it removes its lock files; its children end when their pipes are closed."""
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
            # The whole call is ended meanwhile.
            process.kill()
            raise
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
