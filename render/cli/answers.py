"""xplock help and xplock version: what people try before they know the options."""

import click

from render import __version__
from render.cli.output import Output
from render.commands import xplock
from render.errors import InvalidInput


@click.command(epilog="Example: xplock help lock")
@click.argument("words", metavar="[COMMAND]...", nargs=-1)
@click.pass_context
def help(context: click.Context, words: tuple[str, ...]) -> None:  # noqa: A001 - the name of the command
    """Show the help of COMMAND, or the list of all commands."""
    output: Output = context.obj
    here = context.find_root()
    for word in words:
        group = here.command
        command = group.get_command(here, word) if isinstance(group, click.Group) else None
        if command is None:
            names = group.list_commands(here) if isinstance(group, click.Group) else []
            raise InvalidInput(
                f"there is no command {' '.join(words)}",
                why=f"the commands are {', '.join(names)}" if names else f"{here.info_name} has no commands",
                next=f"see {xplock('help')}",
            )
        here = click.Context(command, info_name=word, parent=here)
    output.result(here.get_help() + "\n")


@click.command(epilog="Example: xplock version")
@click.pass_obj
def version(output: Output) -> None:
    """Print the version of xplock."""
    output.result(f"xplock {__version__}\n")
