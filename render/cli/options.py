"""Options that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from render.system.files import is_folder

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def output_option(*forms: str) -> Callable[[Decorated], Decorated]:
    """Return the -o option with the forms a command's result can have, the default first."""
    return click.option(
        "-o",
        "--output",
        "form",
        type=click.Choice(forms),
        default=forms[0],
        show_default=True,
        help="The result's form.",
    )


def _parse_layouts(
    context: click.Context, option: click.Parameter, texts: tuple[str, ...]
) -> list[tuple[str, Path]]:
    layouts = []
    for text in texts:
        prefix, equals, folder = text.rpartition("=")
        path = Path(folder)
        if not is_folder(path):
            raise click.BadParameter(f"{folder!r} is not a folder", context, option)
        layouts.append((prefix if equals else "", path))
    return layouts


layout_option = click.option(
    "--layout",
    "layouts",
    multiple=True,
    metavar="[PREFIX=]FOLDER",
    callback=_parse_layouts,
    help="An OCI layout that stands in for registries below PREFIX, or for all; may be repeated.",
)


offline_option = click.option(
    "--offline", is_flag=True, help="Ask no registry; what is locked, cached or in a layout has to do."
)


folders_argument = click.argument(
    "folders",
    nargs=-1,
    metavar="[DIR]...",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    callback=lambda _context, _option, folders: folders or (Path(),),
)
