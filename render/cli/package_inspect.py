"""xplock package inspect: what a package says and holds."""

import os
from pathlib import Path

import click

from render.app.package import inspect_path, inspect_reference
from render.cli.operator_options import CACHE, REGISTRIES, OperatedCommand
from render.cli.options import layout_option, output_option
from render.cli.output import Output
from render.errors import InvalidInput
from render.limits import Limits
from render.references import InvalidReference, Reference, parse_reference
from render.views.inspection import format_inspection, inspection_document
from render.xpkg.inspect import Inspection


@click.command(
    cls=OperatedCommand,
    settings=(*CACHE, *REGISTRIES),
    epilog="Examples: xplock package inspect xpkg.example.org/acme/platform:v1.0.0 -o json; "
    "xplock package inspect platform.xpkg",
)
@click.argument("what", metavar="REF|FILE|LAYOUT")
@click.option("--objects", is_flag=True, help="List every object, however many there are.")
@layout_option
@output_option("text", "json")
@click.pass_obj
def inspect(output: Output, what: str, objects: bool, layouts: list[tuple[str, Path]], form: str) -> None:
    """Show a package's metadata, dependencies, objects, digests, layers and annotations.

    It may be in a registry (REF), in a .xpkg file or an OCI layout, or on disk as a folder or a metadata file.
    """
    found = _inspect(output, what, layouts)
    if form == "json":
        output.result_json(inspection_document(found))
    else:
        output.result(format_inspection(found, all_objects=objects))


def _inspect(output: Output, what: str, layouts: list[tuple[str, Path]]) -> Inspection:
    if not layouts and os.path.lexists(what):
        return inspect_path(Path(what), Limits.from_environment(os.environ))
    reference = _parse_reference(what)
    # Local files need no HTTP.
    from render.app.world import open_world

    world = open_world(os.environ, warn=output.warn, trace=output.trace)
    with output.busy(f"reading {reference}"):
        return inspect_reference(reference, world.images(layouts), world.limits)


def _parse_reference(text: str) -> Reference:
    try:
        return parse_reference(text)
    except InvalidReference as error:
        raise InvalidInput(
            error.what, why=[*error.why, "and there is no such file"], next=error.next
        ) from None
