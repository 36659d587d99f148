"""From arguments to an exit code: the only place that catches errors. It does not import click."""

from collections.abc import Sequence
from contextlib import suppress

from render.cli.fast import find_fast_call, is_plugin_call
from render.cli.output import Output
from render.cli.streams import prepare_streams
from render.errors import RenderError
from render.system.faults import find_fault
from render.texts import redact, visible

_INTERRUPTED = 130
_OWN_BUG = 70
_BUG = "this is a bug in xplock; please report it with the lines above"


def run(arguments: Sequence[str]) -> int:
    """Run a command, report its error if it has one, and return its exit code."""
    prepare_streams()
    output = Output()
    try:
        code = _invoke(arguments, output)
        output.finish()
    except RenderError as error:
        output.error(error)
        code = error.exit_code
    except KeyboardInterrupt:
        output.say("interrupted")
        return _INTERRUPTED
    except BrokenPipeError:
        return _report_unread(output) if is_plugin_call(arguments) else 0
    except Exception as error:
        fault = find_fault(error)
        if fault:
            output.error(fault)
            code = fault.exit_code
        else:
            code = _report_bug(output, error)
    if code != 0 and output.errors and not output.has_result:
        _report_to_programs(arguments, output, code)
    return code


def _report_to_programs(arguments: Sequence[str], output: Output, code: int) -> None:
    """Write the error as JSON in the place of the result, if that was asked for."""
    if not any("json" in argument for argument in arguments):
        return
    # Imported late: click is not needed for other errors.
    from render.cli.failures import failure_document, wants_json

    if not wants_json(arguments):
        return
    *causes, error = output.errors
    # Where the result cannot be written, the error is about that, and stderr has it.
    with suppress(RenderError, OSError):
        output.result_json(failure_document(error, code, causes))
        output.finish()


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


def _report_bug(output: Output, error: Exception) -> int:
    # Imported late: only a bug needs it.
    import traceback

    # The text of an exception may come from outside.
    output.repeat([visible(redact(line)) for line in traceback.format_exc().split("\n")[:-1]])
    output.say(_BUG)
    output.errors.append(RenderError(_BUG, why=traceback.format_exception_only(error)[-1].strip()))
    return _OWN_BUG
