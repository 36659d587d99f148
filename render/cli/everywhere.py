"""What every command accepts: options that may stand before or behind its name."""

from pathlib import Path

import click

from render.cli.options import remember_folder
from render.cli.output import Output


def everywhere(*, hidden: bool = False) -> list[click.Option]:
    """Return the options that every command and the program itself accept."""
    return [
        click.Option(
            ["-C", "--dir", "everywhere_folder"],
            metavar="DIR",
            type=click.Path(path_type=Path),
            is_eager=True,
            expose_value=False,
            callback=remember_folder,
            hidden=hidden,
            help="Work on this folder in the place of the current one; other folders are relative to it.",
        ),
        click.Option(
            ["-v", "--verbose", "everywhere_verbose"],
            is_flag=True,
            expose_value=False,
            callback=_speak_more,
            hidden=hidden,
            help="Print every request to stderr.",
        ),
        click.Option(
            ["-q", "--quiet", "everywhere_quiet"],
            is_flag=True,
            expose_value=False,
            callback=_speak_less,
            hidden=hidden,
            help="Print only warnings and errors to stderr.",
        ),
    ]


def accept_everywhere(command: click.Command) -> click.Command:
    """Add the options to a command, hidden: the help of the program lists them once. What it has already stays."""
    taken = {name for option in command.params for name in option.opts}
    command.params += [one for one in everywhere(hidden=True) if taken.isdisjoint(one.opts)]
    return command


def prefer_form(context: click.Context, form: str) -> None:
    """Make the form the default of the command that is called; raise if its result has no forms."""
    group, name = context.command, context.invoked_subcommand or ""
    command = group.get_command(context, name) if isinstance(group, click.Group) else None
    if isinstance(command, click.Group):
        context.default_map = {name: {one: {"form": form} for one in command.list_commands(context)}}
    elif command and any(option.name == "form" for option in command.params):
        context.default_map = {name: {"form": form}}
    elif command:
        raise click.UsageError(f"{name} has no -o: its result has one form", context)


def _speak_more(context: click.Context, _option: click.Parameter, given: bool) -> None:
    if given:
        context.ensure_object(Output).verbosity = 1


def _speak_less(context: click.Context, _option: click.Parameter, given: bool) -> None:
    if given:
        context.ensure_object(Output).verbosity = -1
