"""From arguments to an exit code: the only place that catches errors. It does not import click."""

from collections.abc import Sequence

from render.cli.fast import find_fast_call, is_plugin_call
from render.cli.output import Output
from render.cli.streams import prepare_streams
from render.errors import RenderError
from render.texts import redact, visible

_INTERRUPTED = 130
_OWN_BUG = 70


def run(arguments: Sequence[str]) -> int:
    """Run a command, report its error if it has one, and return its exit code."""
    prepare_streams()
    output = Output()
    try:
        code = _invoke(arguments, output)
        output.finish()
    except RenderError as error:
        output.error(error)
        return error.exit_code
    except KeyboardInterrupt:
        output.say("interrupted")
        return _INTERRUPTED
    except BrokenPipeError:
        return _report_unread(output) if is_plugin_call(arguments) else 0
    except Exception:
        return _report_bug(output)
    return code


def _invoke(arguments: Sequence[str], output: Output) -> int:
    fast = find_fast_call(arguments)
    if fast:
        return fast(output)
    # Imported late: click takes longer to import than a fast call takes in all.
    from render.cli.main import invoke

    return invoke(arguments, output)


def _report_unread(output: Output) -> int:
    """Report manifests that were not read to their end; other results may be cut, as in `xplock tree | head`."""
    unread = RenderError(
        "stdout was closed before all manifests were written", next="check where stdout goes"
    )
    output.error(unread)
    return unread.exit_code


def _report_bug(output: Output) -> int:
    # Imported late: only a bug needs it.
    import traceback

    # The text of an exception may come from outside.
    output.repeat([visible(redact(line)) for line in traceback.format_exc().split("\n")[:-1]])
    output.say("this is a bug in xplock; please report it with the lines above")
    return _OWN_BUG
