"""From arguments to an exit code: the only place that catches errors."""

import os
import sys
from collections.abc import Sequence
from io import StringIO, TextIOWrapper

import click

from render.cli.output import Output, drop_stdout
from render.cli.root import COMPLETE_VARIABLE, xplock
from render.errors import RenderError

_INTERRUPTED = 130
_OWN_BUG = 70


def run(arguments: Sequence[str]) -> int:
    """Run a command; whatever happens, the right exit code and nothing unreadable on stderr."""
    _speak_utf8()
    output = Output()
    try:
        _invoke(arguments, output)
        output.finish()
    except RenderError as error:
        output.error(error)
        return error.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        output.usage(error.ctx.get_usage() if isinstance(error, click.UsageError) and error.ctx else "")
        output.error(_in_our_words(error))
        return error.exit_code
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except (click.Abort, KeyboardInterrupt):
        output.say("interrupted")
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader has seen enough, as in `xplock … | head`.
        drop_stdout()
        return 0
    except Exception:
        # Nobody should pay for our bugs before there is one.
        import traceback

        traceback.print_exc()
        output.say("this is a bug in xplock; please report it with the lines above")
        return _OWN_BUG
    return 0


def _invoke(arguments: Sequence[str], output: Output) -> None:
    # As click's own main does, but for its taking a closed pipe for a failure.
    if instruction := os.environ.get(COMPLETE_VARIABLE):
        # Only a shell that completes pays for it.
        from click.shell_completion import shell_complete

        raise click.exceptions.Exit(shell_complete(xplock, {}, "xplock", COMPLETE_VARIABLE, instruction))
    with xplock.make_context("xplock", list(arguments), obj=output) as context:
        xplock.invoke(context)


def _in_our_words(error: click.ClickException) -> RenderError:
    """Turn an error about arguments into the three parts that every other error has."""
    near: list[str] = getattr(error, "possibilities", None) or []
    what, why = (error.message if near else error.format_message()).rstrip("."), ""
    if isinstance(error, click.BadParameter):
        what, _, why = what.partition(": ")
    context = getattr(error, "ctx", None)
    where = context.command_path if context else "xplock"
    meant = [f"did you mean {' or '.join(near)}?"] if near else []
    return RenderError(_uncapped(what), why=_uncapped(why) or (), next=[*meant, f"see {where} --help"])


def _uncapped(text: str) -> str:
    return text[:1].lower() + text[1:]


def _speak_utf8() -> None:
    # A shell can start us without them.
    sys.stdout, sys.stderr = sys.stdout or StringIO(), sys.stderr or StringIO()
    # The same bytes in every locale; what cannot be encoded is written out.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
