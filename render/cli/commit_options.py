"""How something is committed: the options that `commit` and `lock --commit` share."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


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
