"""Errors for programs: with `-o json`, a command that fails before its result prints its error as JSON in its place."""

from collections.abc import Sequence
from typing import Any

import click

from render.cli.fast import HELP_OPTIONS
from render.errors import RenderError
from render.texts import redact, visible

# Advice may be a command, which is of no use when it is cut.
_LONGEST = 50_000


def wants_json(arguments: Sequence[str]) -> bool:
    """Return whether arguments, which may be wrong, name a command and ask it for JSON."""
    from render.cli.main import xplock

    command: click.Command | None = xplock
    rest, before = list(arguments), None
    while isinstance(command, click.Group):
        options, rest = _parse(command, rest)
        before = options.get("form") or before
        if not rest:
            return False
        command, rest = command.get_command(click.Context(command), rest[0]), rest[1:]
    if command is None or not _offers_json(command):
        return False
    return (_parse(command, rest)[0].get("form") or before) == "json"


def failure_document(error: RenderError, exit_code: int, causes: Sequence[RenderError]) -> dict[str, Any]:
    """Return an error as JSON values; its causes are errors that were reported before, one for each folder."""
    document: dict[str, Any] = {**_parts(error), "exitCode": exit_code}
    if causes:
        document["causes"] = [{**_parts(cause), "exitCode": cause.exit_code} for cause in causes]
    return {"error": document}


def error_document(error: RenderError) -> dict[str, Any]:
    """Return the error of one of several folders as JSON values."""
    return failure_document(error, error.exit_code, ())


def _parts(error: RenderError) -> dict[str, Any]:
    return {
        "what": _shown(error.what),
        "why": [_shown(line) for line in error.why],
        "next": [_shown(line) for line in error.next],
    }


def _shown(text: str) -> str:
    return visible(redact(text), limit=_LONGEST)


def _offers_json(command: click.Command) -> bool:
    forms = [option.type for option in command.params if option.name == "form"]
    return any(isinstance(form, click.Choice) and "json" in form.choices for form in forms)


def _parse(command: click.Command, arguments: list[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the texts of options, and the other arguments; no text is converted, and no error is raised."""
    context = click.Context(
        command,
        # A command keeps the help option of its first context.
        help_option_names=[*HELP_OPTIONS],
        resilient_parsing=True,
        ignore_unknown_options=True,
        allow_interspersed_args=not isinstance(command, click.Group),
    )
    options, others, _ = command.make_parser(context).parse_args(list(arguments))
    return options, others
