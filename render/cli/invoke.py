"""Arguments → one command, by way of click; a render without options does without it."""

import os
from collections.abc import Sequence

import click

from render.cli.output import Output
from render.cli.root import COMPLETE_VARIABLE, xplock
from render.errors import RenderError


def invoke(arguments: Sequence[str], output: Output) -> int:
    """Run the command that the arguments name; what click has to say about them is said in our words."""
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
    # As click's own main does, but for its taking a closed pipe for a failure.
    if instruction := os.environ.get(COMPLETE_VARIABLE):
        # Only a shell that completes pays for it.
        from click.shell_completion import shell_complete

        return shell_complete(xplock, {}, "xplock", COMPLETE_VARIABLE, instruction)
    with xplock.make_context("xplock", list(arguments), obj=output) as context:
        xplock.invoke(context)
    return 0


def _in_our_words(error: click.ClickException) -> RenderError:
    """Turn an error about arguments into the three parts that every other error has."""
    near: list[str] = getattr(error, "possibilities", None) or []
    what, why = (error.message if near else error.format_message()).rstrip("."), ""
    if isinstance(error, click.BadParameter):
        what, _, why = what.partition(": ")
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
