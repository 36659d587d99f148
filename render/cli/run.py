"""From arguments to an exit code: the only place that catches errors."""

import os
import sys
from collections.abc import Sequence
from io import StringIO, TextIOWrapper
from pathlib import Path

from render.cli.output import Output, drop_stdout
from render.errors import RenderError
from render.texts import redact, visible

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
        drop_stdout()
        if not _is_plugin_call(arguments):
            # The reader has seen enough, as in `xplock … | head`.
            return 0
        # Of manifests nobody has seen enough before the last.
        unread = RenderError("nobody reads the result to its end", next="check where stdout goes")
        output.error(unread)
        return unread.exit_code
    except Exception:
        # Nobody should pay for our bugs before there is one.
        import traceback

        # What an exception says may come from outside.
        output.repeat([visible(redact(line)) for line in traceback.format_exc().split("\n")[:-1]])
        output.say("this is a bug in xplock; please report it with the lines above")
        return _OWN_BUG
    return code


def _invoke(arguments: Sequence[str], output: Output) -> int:
    # Each way imports what it needs, and no more.
    if _is_plugin_call(arguments):
        from render.argocd.plugin import run_plugin

        run_plugin(arguments[1:], os.environ, output)
        return 0
    plain = _plain_folders(arguments)
    if plain and arguments[0] == "render":
        from render.cli.plain import render_plain

        render_plain(plain[0], output)
        return 0
    if plain:
        from render.app.check import check_folders
        from render.checks.formats import format_findings

        result = check_folders(plain)
        output.result(format_findings(result.findings, result.folders, output.stand_out))
        return result.exit_code
    from render.cli.invoke import invoke

    return invoke(arguments, output)


def _is_plugin_call(arguments: Sequence[str]) -> bool:
    """Tell whether it is Argo CD that asks for something, and not somebody for help."""
    return arguments[:1] == ["plugin"] and not _HELP & {*arguments[1:]} and bool(arguments[1:])


def _plain_folders(arguments: Sequence[str]) -> list[Path]:
    """Return the folders of a render or a check without options: importing click would take longer than either."""
    match arguments:
        case ["render" | "check"]:
            names = ["."]
        case ["render", name]:
            names = [name]
        case ["check", *names]:
            pass
        case _:
            return []
    # What is wrong with a folder is told by click, as for every other command.
    return [Path(name) for name in names] if all(map(_is_plain_folder, names)) else []


def _is_plain_folder(name: str) -> bool:
    return not name.startswith("-") and os.access(name, os.R_OK) and Path(name).is_dir()


def _speak_utf8() -> None:
    # A shell can start us without them.
    sys.stdout, sys.stderr = sys.stdout or StringIO(), sys.stderr or StringIO()
    # The same bytes in every locale; what cannot be encoded is written out.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
