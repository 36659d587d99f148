"""A repository: where git runs, in whose name, and within which bounds."""

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from render.deadline import Deadline
from render.errors import InvalidInput
from render.git.failures import GitFailed, GitMissing, describe_failure, mask_credentials
from render.git.process import Answer, GitTooSlow, NotStarted, execute
from render.limits import Limits, format_amount, setting
from render.texts import hides_something

_HOOKS_OFF = ("-c", f"core.hooksPath={os.devnull}")
# The other program that a repository's configuration could make these commands run; and no path is a pattern.
_ALWAYS = ("-c", "core.fsmonitor=false", "--literal-pathspecs")
# The protocols of commands that talk to a server. `ext` and the like run programs.
_NETWORK = {"GIT_ALLOW_PROTOCOL": "https:ssh:file"}
# In a partial clone any other command could fetch missing objects, with a program that the repository's configuration
# names. Git below v2.44 knows only the second variable, which allows no protocol at all.
_NO_NETWORK = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": ""}
_DEFAULTS = Limits()


@dataclass(frozen=True, slots=True)
class Repository:
    """A place in which git runs: the root of a work tree, a folder below it, or a bare repository."""

    root: Path
    limits: Limits = _DEFAULTS
    # What errors call it; the root, unless that is nothing to anybody.
    name: str = ""
    # Options of git, the secrets that some of them name, by their variables, and all that is never shown.
    options: tuple[str, ...] = ()
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    hidden: tuple[str, ...] = field(default=(), repr=False)
    # Of everything that is done here together; every single command has its own time besides.
    deadline: Deadline | None = None

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
    ) -> Answer:
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
        except NotStarted as error:
            raise GitFailed(self.where, f"git cannot be started: {error}") from None
        if answer.status in expected:
            return answer
        raise self.failure(answer.errors)

    @property
    def where(self) -> str:
        """What errors call it."""
        return self.name or str(self.root)

    def failure(self, errors: str) -> GitFailed:
        """Return the error that git's words mean."""
        return describe_failure(self.where, self.without_secrets(errors))

    def without_secrets(self, text: str) -> str:
        """Return git's words without secrets that it was given, and without a path that is gone in a moment."""
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


class Place(NamedTuple):
    """A folder within a work tree."""

    repository: Repository
    # The repository's own folder, and the folder's path from the root: nothing, or with a slash at its end.
    git_folder: Path
    prefix: str


def find_place(folder: Path, limits: Limits, deadline: Deadline | None = None) -> Place:
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
    return Place(repository, Path(os.fsdecode(git_folder)), _plain_path(prefix.removesuffix(b"\n"), folder))


def read_configuration(
    repository: Repository, environment: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return everything that git is configured with; of a key that is there more than once, the last one counts."""
    return dict(list_configuration(repository, environment))


def list_configuration(
    repository: Repository, environment: Mapping[str, str] | None = None
) -> list[tuple[str, str]]:
    """Return every key that git is configured with and its value, as often as it is there."""
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
            why="its path has characters that nobody sees, or is not UTF-8",
            next="rename the folder",
        )
    return text


_FILTER = re.compile(r"filter\.(.+)\.[a-z]+")
_KEYS = ("clean", "smudge", "process", "required")
_NOTHING = "XPLOCK_NOTHING"


class FiltersOff(NamedTuple):
    """What a command of git needs in order to run no filter."""

    options: tuple[str, ...]
    environment: dict[str, str]


def filters_off(repository: Repository) -> FiltersOff:
    """Return how a command leaves out every filter that git is configured with."""
    names = [found[1] for found in map(_FILTER.fullmatch, read_configuration(repository)) if found]
    keys = [f"filter.{name}.{key}" for name in dict.fromkeys(names) for key in _KEYS]
    # Unlike with -c, a name may hold an equals sign here.
    return FiltersOff(tuple(f"--config-env={key}={_NOTHING}" for key in keys), {_NOTHING: ""})
