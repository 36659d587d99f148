"""The calls that run without click, in one table: those that Argo CD and hooks make all the time.

Importing click takes longer than rendering a folder or checking one.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from render.cli.output import Output
from render.lean import TypeAlias

FastCall: TypeAlias = Callable[[Output], int]

HELP_OPTIONS = ("-h", "--help")


def find_fast_call(arguments: Sequence[str]) -> FastCall | None:
    """Return a call that needs no click; None for options, for help and for a folder that click reports as wrong."""
    match arguments:
        case ["plugin", *rest] if is_plugin_call(arguments):
            return lambda output: _run_plugin(rest, output)
        case ["render"] | ["render", _] if folders := _plain_folders(arguments[1:]):
            return lambda output: _render(folders[0], output)
        case ["check", *names] if folders := _plain_folders(names):
            return lambda output: _check(folders, output)
    return None


def is_plugin_call(arguments: Sequence[str]) -> bool:
    """Return whether Argo CD runs the plugin; help with it is for people."""
    return arguments[:1] == ["plugin"] and not {*HELP_OPTIONS} & {*arguments[1:]} and bool(arguments[1:])


# Each call imports what it needs, and no more.


def _run_plugin(arguments: Sequence[str], output: Output) -> int:
    from render.argocd.plugin import run_plugin

    run_plugin(arguments, os.environ, output)
    return 0


def _render(folder: Path, output: Output) -> int:
    from render.app.operator_settings import OperatorSettings
    from render.app.render import render_folder
    from render.manifests.text import format_yaml

    output.result(format_yaml(render_folder(folder, OperatorSettings.from_environment(os.environ))))
    return 0


def _check(folders: Sequence[Path], output: Output) -> int:
    from render.app.check import check_folders
    from render.app.operator_settings import OperatorSettings
    from render.checks.formats import format_findings

    result = check_folders(folders, OperatorSettings.from_environment(os.environ))
    for note in result.notes:
        output.say(note)
    output.result(format_findings(result.findings, result.folders, output.stand_out))
    return result.exit_code


def _plain_folders(names: Sequence[str]) -> list[Path]:
    """Return the folders, the current one by default; nothing if one is an option or cannot be read."""
    given = names or ["."]
    return [Path(name) for name in given] if all(map(_is_plain_folder, given)) else []


def _is_plain_folder(name: str) -> bool:
    return not name.startswith("-") and os.access(name, os.R_OK) and Path(name).is_dir()
