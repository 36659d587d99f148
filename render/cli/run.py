"""From arguments to an exit code: the only place that catches errors."""

import os
import sys
from collections.abc import Sequence
from io import StringIO, TextIOWrapper
from pathlib import Path

from render.cli.output import Output, drop_stdout
from render.errors import RenderError

_INTERRUPTED = 130
_OWN_BUG = 70
_HELP = {"-h", "--help"}


def run(arguments: Sequence[str]) -> int:
    """Run a command; whatever happens, the right exit code and nothing unreadable on stderr."""
    _speak_utf8()
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
        # The reader has seen enough, as in `xplock … | head`.
        drop_stdout()
        return 0
    except Exception:
        # Nobody should pay for our bugs before there is one.
        import traceback

        traceback.print_exc()
        output.say("this is a bug in xplock; please report it with the lines above")
        return _OWN_BUG
    return code


def _invoke(arguments: Sequence[str], output: Output) -> int:
    # Each way imports what it needs, and no more.
    if arguments[:1] == ["plugin"] and not _HELP & {*arguments[1:]} and arguments[1:]:
        from render.plugin import run_plugin

        run_plugin(arguments[1:], os.environ, output)
        return 0
    folder = _plain_render(arguments)
    if folder is not None:
        from render.cli.plain import render_plain

        render_plain(folder, output)
        return 0
    from render.cli.invoke import invoke

    return invoke(arguments, output)


def _plain_render(arguments: Sequence[str]) -> Path | None:
    """Return the folder of a render without options: importing click would take longer than rendering."""
    match arguments:
        case ["render"]:
            name = "."
        case ["render", name] if not name.startswith("-"):
            pass
        case _:
            return None
    # What is wrong with a folder is told by click, as for every other command.
    return Path(name) if os.access(name, os.R_OK) and Path(name).is_dir() else None


def _speak_utf8() -> None:
    # A shell can start us without them.
    sys.stdout, sys.stderr = sys.stdout or StringIO(), sys.stderr or StringIO()
    # The same bytes in every locale; what cannot be encoded is written out.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
