"""From arguments to an exit code: the only place that catches errors."""

import os
import sys
import traceback
from collections.abc import Sequence

import click

from render.cli.output import Output
from render.cli.root import xplock
from render.errors import RenderError

_INTERRUPTED = 130
_OWN_BUG = 70


def run(arguments: Sequence[str]) -> int:
    """Run a command; whatever happens, the right exit code and nothing unreadable on stderr."""
    _speak_utf8()
    output = Output()
    try:
        xplock.main(args=list(arguments), prog_name="xplock", standalone_mode=False, obj=output)
        sys.stdout.flush()
    except RenderError as error:
        output.error(error)
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except (click.Abort, KeyboardInterrupt):
        output.say("interrupted")
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader has seen enough, as in `xplock … | head`.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception:
        traceback.print_exc()
        output.say("this is a bug in xplock; please report it with the lines above")
        return _OWN_BUG
    return 0


def _speak_utf8() -> None:
    # The same bytes in every locale; what cannot be encoded is written out.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
