"""A repository that git runs in: its folder, its options and secrets, and its limits."""

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from render.errors import InvalidInput
from render.git.failures import GitFailed, GitMissing, describe_failure, mask_credentials
from render.git.process import GitNotStarted, GitResult, GitTooSlow, execute
from render.limits import Limits, format_amount, setting
from render.system.deadline import Deadline
from render.texts import hides_something

_HOOKS_OFF = ("-c", f"core.hooksPath={os.devnull}")
# No fsmonitor program of the repository's configuration is run, and no path is a pattern.
_ALWAYS = ("-c", "core.fsmonitor=false", "--literal-pathspecs")
# The protocols of commands that talk to a server. `ext` and the like run programs.
_NETWORK = {"GIT_ALLOW_PROTOCOL": "https:ssh:file"}
# In a partial clone any other command could fetch missing objects, with a program that the repository's configuration
# names. Git below v2.44 knows only the second variable, which allows no protocol at all.
_NO_NETWORK = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": ""}
_DEFAULTS = Limits()


@dataclass(frozen=True, slots=True)
class Repository:
    """A folder that git runs in: the root of a work tree, a folder below it, or a bare repository."""

    root: Path
    limits: Limits = _DEFAULTS
    # The name that errors use instead of the root, which means nothing to the user if it is temporary.
    name: str = ""
    # Options of git; the environment variables that these options name; and texts that are never shown.
    options: tuple[str, ...] = ()
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    hidden: tuple[str, ...] = field(default=(), repr=False)
    # For all commands together; each command also has its own time limit.
    deadline: Deadline | None = None
    # Whether fetches leave out blobs, which are then fetched one by one.
    partial: bool = False

    def run(
        self,
        *command: str,
        data: bytes | None = None,
        options: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        network: bool = False,
    ) -> bytes:
        """Run a command that has to succeed, and return its output."""
        return self.ask(
            *command, data=data, options=options, environment=environment, expected=(0,), network=network
        ).output

    def ask(
        self,
        *command: str,
        data: bytes | None = None,
        options: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        expected: Sequence[int] = (0, 1),
        hooks: bool = False,
        network: bool = False,
    ) -> GitResult:
        """Run a command that may end in more than one way; only with `network` it may talk to a server."""
        git = shutil.which("git")
        if git is None:
            raise GitMissing(self.where)
        always = _ALWAYS if hooks else (*_HOOKS_OFF, *_ALWAYS)
        try:
            answer = execute(
                [git, *always, *self.options, *options, "-C", str(self.root), *command],
                seconds=self._seconds(),
                data=data,
                environment={
                    **self.secrets,
                    **(_NETWORK if network else _NO_NETWORK),
                    **(environment or {}),
                },
            )
        except GitTooSlow:
            raise self._out_of_time() from None
        except GitNotStarted as error:
            raise GitFailed(self.where, f"git cannot be started: {error}") from None
        if answer.status in expected:
            return answer
        raise self.failure(answer.errors)

    @property
    def where(self) -> str:
        """The name of the repository in errors."""
        return self.name or str(self.root)

    def failure(self, errors: str) -> GitFailed:
        """Return the error for git's stderr."""
        return describe_failure(self.where, self.without_secrets(errors))

    def without_secrets(self, text: str) -> str:
        """Return a text of git's without secrets, and without the path of a temporary repository."""
        for secret in self.hidden:
            text = text.replace(secret, "***")
        text = mask_credentials(text)
        return text.replace(str(self.root), self.name) if self.name else text

    def _seconds(self) -> float:
        if self.deadline is None:
            return self.limits.git_seconds
        self.deadline.check("git")
        return min(self.limits.git_seconds, self.deadline.remaining())

    def _out_of_time(self) -> GitFailed:
        if self.deadline is not None:
            self.deadline.check("git")
        amount = format_amount("git_seconds", self.limits.git_seconds)
        why = f"it took longer than the limit of {amount}"
        return GitFailed(self.where, why, next=f"try again, or raise {setting('git_seconds')}")


class FolderInRepository(NamedTuple):
    """A folder within a work tree."""

    repository: Repository
    # The `.git` folder, and the path from the root: empty, or with a slash at its end.
    git_folder: Path
    prefix: str


def locate_folder(folder: Path, limits: Limits, deadline: Deadline | None = None) -> FolderInRepository:
    """Find the work tree that a folder is in."""
    here = Repository(folder, limits, deadline=deadline)
    output = here.run(
        "rev-parse", "--is-inside-work-tree", "--absolute-git-dir", "--show-cdup", "--show-prefix"
    )
    inside, git_folder, *rest = output.split(b"\n", 3)
    if inside != b"true":
        raise GitFailed(
            str(folder), "it is in a bare repository, which has no folders", next="name a folder of a clone"
        )
    above, prefix = rest
    repository = Repository((folder / os.fsdecode(above)).resolve(), limits, deadline=deadline)
    return FolderInRepository(
        repository, Path(os.fsdecode(git_folder)), _plain_path(prefix.removesuffix(b"\n"), folder)
    )


def read_configuration(
    repository: Repository, environment: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return git's configuration; for a key with several values, the last one."""
    return dict(list_configuration(repository, environment))


def list_configuration(
    repository: Repository, environment: Mapping[str, str] | None = None
) -> list[tuple[str, str]]:
    """Return all keys and values of git's configuration, in order."""
    output = repository.run("config", "--list", "-z", environment=environment)
    entries = output.decode(errors="replace").split("\0")[:-1]
    return [(key, value) for key, _, value in (entry.partition("\n") for entry in entries)]


def _plain_path(path: bytes, folder: Path) -> str:
    try:
        text = path.decode()
    except UnicodeDecodeError:
        text = "\x00"
    if hides_something(text):
        raise InvalidInput(
            f"{folder} cannot be committed to",
            why="its path contains invisible characters, or is not UTF-8",
            next="rename the folder",
        )
    return text


_FILTER = re.compile(r"filter\.(.+)\.[a-z]+")
_KEYS = ("clean", "smudge", "process", "required")
_NOTHING = "XPLOCK_NOTHING"


class FiltersOff(NamedTuple):
    """The options and environment with which a git command runs no filter."""

    options: tuple[str, ...]
    environment: dict[str, str]


def filters_off(repository: Repository) -> FiltersOff:
    """Return the options that disable every configured filter."""
    names = [found[1] for found in map(_FILTER.fullmatch, read_configuration(repository)) if found]
    keys = [f"filter.{name}.{key}" for name in dict.fromkeys(names) for key in _KEYS]
    # Unlike -c, this allows an equals sign in a name.
    return FiltersOff(tuple(f"--config-env={key}={_NOTHING}" for key in keys), {_NOTHING: ""})
