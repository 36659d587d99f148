"""The command line: global options, the commands, and errors of click in our words."""

import os
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from render import __version__
from render.cli.everywhere import accept_everywhere, everywhere, prefer_form
from render.cli.fast import HELP_OPTIONS
from render.cli.options import OUTPUT_FORMS
from render.cli.output import Output
from render.errors import InvalidInput, RenderError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# A shell sets it to ask for completions.
COMPLETE_VARIABLE = "_XPLOCK_COMPLETE"

_COMMANDS = {
    "lock": ("render.cli.writing.lock", "Resolve what a folder asks for, and write the lock."),
    "add": ("render.cli.writing.add", "Ask for one package more, and lock it."),
    "remove": ("render.cli.writing.remove", "Ask for one package less, and lock what is left."),
    "upgrade": ("render.cli.writing.upgrade", "Let locked packages move to newer versions."),
    "promote": ("render.cli.writing.promote", "Lock a folder with the versions that another one has."),
    "versions": ("render.cli.reading.versions", "List the versions of a package, newest first."),
    "retire": ("render.cli.writing.retire", "Retire packages that are leaving."),
    "render": ("render.cli.reading.render", "Render manifests from the lock."),
    "check": ("render.cli.reading.check", "Find what is wrong with folders and their locks, offline."),
    "explain": ("render.cli.reading.explain", "Explain what a rule of check finds, and what to do."),
    "tree": ("render.cli.reading.tree", "Show the locked packages as a tree."),
    "graph": ("render.cli.reading.graph", "Draw the locked packages, for a page or another tool."),
    "why": ("render.cli.reading.why", "Show who needs a package, and which versions they accept."),
    "outdated": ("render.cli.reading.outdated", "Show which locked packages have newer versions."),
    "verify": ("render.cli.reading.verify", "Ask registries whether they still have what was locked."),
    "mirror": ("render.cli.writing.mirror", "Copy what is locked to a registry of your own, or an archive."),
    "doctor": ("render.cli.reading.doctor", "Find what is stuck in a cluster, and which object to touch."),
    "diff": ("render.cli.reading.diff", "Compare two locks, or a lock with the one in a cluster."),
    "commit": ("render.cli.writing.commit", "Commit the lock, and nothing else, to a branch."),
    "plugin": ("render.cli.reading.plugin", "Render for Argo CD; plugin.yaml calls it."),
    "package": ("render.cli.writing.package", "Build, push and inspect packages."),
    "catalog": ("render.cli.writing.catalog", "List which packages define which CRDs."),
    "adopt": ("render.cli.writing.adopt", "Write a folder for the packages of a running cluster."),
    "init": ("render.cli.writing.init", "Write what a project and its Argo CD start with."),
    "help": ("render.cli.answers", "Show the help of a command."),
    "version": ("render.cli.answers", "Print the version of xplock."),
    "completion": ("render.cli.completion", "Print the completion script for a shell."),
}


class UnknownCommand(click.UsageError):
    """A command does not exist; its possibilities are those of similar names."""

    def __init__(self, message: str, ctx: click.Context, possibilities: list[str]) -> None:
        super().__init__(message, ctx)
        self.possibilities = possibilities


class LazyGroup(click.Group):
    """A group that imports a command when it is called, from name → (module, summary)."""

    def __init__(self, *args: Any, lazy: dict[str, tuple[str, str]] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lazy = lazy or {}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in the order they were given."""
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in self._lazy:
            return super().get_command(ctx, cmd_name)
        module, _ = self._lazy[cmd_name]
        command: click.Command = getattr(import_module(module), cmd_name.replace("-", "_"))
        return accept_everywhere(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        """List the commands from their summaries, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in self._lazy.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Offer commands by their summaries, without importing them, and options."""
        # Imported late: only completion needs it.
        from click.shell_completion import CompletionItem

        offers = [
            CompletionItem(name, help=summary)
            for name, (_, summary) in self._lazy.items()
            if name.startswith(incomplete)
        ]
        return offers + super(click.Group, self).shell_complete(ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; the error for a mistyped one suggests the nearest."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            raise UnknownCommand(error.message, ctx, get_close_matches(args[0], self._lazy, n=1)) from None


@click.group(
    cls=LazyGroup,
    lazy=_COMMANDS,
    context_settings={"help_option_names": [*HELP_OPTIONS], "max_content_width": 100},
    epilog="Example: xplock lock && xplock tree",
)
@click.option(
    "-o", "--output", "form", type=click.Choice(OUTPUT_FORMS), help="The form of the command's result."
)
@click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")
@click.pass_context
def xplock(context: click.Context, form: str | None) -> None:
    """Lock Crossplane packages ahead of time, and render what is locked.

    These options may stand before or behind the command.
    """
    if form:
        prefer_form(context, form)


xplock.params[:0] = everywhere()


def invoke(arguments: Sequence[str], output: Output) -> int:
    """Run the command that the arguments name; report click's errors in our words."""
    try:
        return _invoke(arguments, output)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        output.usage(error.ctx.get_usage() if isinstance(error, click.UsageError) and error.ctx else "")
        output.error(_in_our_words(error))
        return error.exit_code
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.Abort:
        raise KeyboardInterrupt from None


def _invoke(arguments: Sequence[str], output: Output) -> int:
    # As click's own main does, except that a closed pipe is no failure.
    if instruction := os.environ.get(COMPLETE_VARIABLE):
        # Imported late: only completion needs it.
        from click.shell_completion import shell_complete

        try:
            return shell_complete(xplock, {}, "xplock", COMPLETE_VARIABLE, instruction)
        except KeyError as missing:
            raise InvalidInput(
                f"{COMPLETE_VARIABLE} is set, and {missing.args[0]} is not",
                why="only the script of a shell sets them, to complete a command",
                next=f"unset {COMPLETE_VARIABLE}",
            ) from None
    with xplock.make_context("xplock", list(arguments), obj=output) as context:
        xplock.invoke(context)
    return 0


def _in_our_words(error: click.ClickException) -> RenderError:
    """Turn an error about arguments into the three parts that every other error has."""
    near: list[str] = getattr(error, "possibilities", None) or []
    what, why = (error.message if near else error.format_message()).rstrip("."), ""
    if isinstance(error, click.BadParameter):
        what, _, why = what.partition(": ")
    if isinstance(error, click.MissingParameter):
        # Choices follow, each on a line of its own.
        what, _, why = " ".join(error.format_message().split()).rstrip(".").partition(". ")
    context = getattr(error, "ctx", None)
    where = context.command_path if context else "xplock"
    meant = [f"did you mean {' or '.join(near)}?"] if near else []
    if isinstance(error, click.NoSuchOption) and _is_global(error.option_name):
        meant = [f"it stands before the command: xplock {error.option_name}{where.removeprefix('xplock')}"]
    return RenderError(_uncapped(what), why=_uncapped(why) or (), next=[*meant, f"see {where} --help"])


def _is_global(option: str) -> bool:
    return any(option in parameter.opts for parameter in xplock.params)


def _uncapped(text: str) -> str:
    return text[:1].lower() + text[1:]
