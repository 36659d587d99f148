"""How something is committed: the options that `commit` and `lock --commit` share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from render.errors import InvalidInput
from render.texts import hides_something

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class CommitOptions:
    """What the options say; each field is the parameter of one."""

    branch: str | None = None
    start: str | None = None
    push: bool = False
    remote: str | None = None
    author: str | None = None
    subject: str | None = None
    sign: bool = False
    pre_push: bool = False

    @property
    def given(self) -> bool:
        """Whether any of them was given."""
        return self != CommitOptions()

    def check(self) -> None:
        """Refuse options that say nothing without another one, and a message that is more than a line."""
        needs = {
            "--from": (self.start is not None, "--branch", self.branch is not None),
            "--remote": (self.remote is not None, "--push", self.push),
            "--pre-push": (self.pre_push, "--push", self.push),
        }
        for option, (given, needed, other) in needs.items():
            if given and not other:
                what = f"{option} says nothing without {needed}"
                raise InvalidInput(what, next=f"add {needed}, or leave it out")
        if self.subject is not None and (hides_something(self.subject) or not self.subject.strip()):
            raise InvalidInput(
                "the message is not a line of text",
                why="only its first line is given; the rest tells what changed",
                next="write one line",
            )


_OPTIONS = (
    click.option("--branch", metavar="NAME", help="Commit to this branch, a new one if need be, and print the text of a pull request."),
    click.option("--from", "start", metavar="REV", help="Where a new branch starts, instead of HEAD."),
    click.option("--push", is_flag=True, help="Push the branch; never by force."),
    click.option("--remote", metavar="NAME", help="The remote to push to, instead of the branch's own."),
    click.option("--author", metavar='"NAME <MAIL>"', help="Who commits, instead of whom git knows."),
    click.option("-m", "--message", "subject", metavar="TEXT", help="The first line of the message, instead of ours."),
    click.option("--sign", is_flag=True, help="Sign the commit, as git is configured to."),
    click.option("--pre-push", is_flag=True, help="Run the hooks that git has for pushing; otherwise none is run."),
)  # fmt: skip


def commit_options(command: Decorated) -> Decorated:
    """Give a command all of them."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
