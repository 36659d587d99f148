"""xplock catalog: which package defines which CRDs, as a committed file."""

from pathlib import Path

import click

from render.cli.main import LazyGroup
from render.cli.operator_options import CACHE, REGISTRIES, OperatedCommand, operator_settings
from render.cli.options import default_folder, layout_option
from render.cli.output import Output
from render.texts import counted

_COMMANDS = {"build": (__name__, "Write which packages define which CRDs.")}


@click.group(
    cls=LazyGroup,
    lazy=_COMMANDS,
    epilog="Example: xplock catalog build xpkg.example.org/acme/provider-nop -o catalog.yaml",
)
def catalog() -> None:
    """List which packages define which CRDs, for dependencies on CRDs."""


@click.command(
    cls=OperatedCommand,
    settings=(*CACHE, *REGISTRIES),
    epilog="Example: xplock catalog build xpkg.example.org/acme/provider-nop '…/provider-s3=<v2' -o catalog.yaml",
)
@click.argument("sources", metavar="SRC...", nargs=-1, required=True)
@click.option(
    "-o",
    "--to",
    "file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write; without it, the rows go to stdout.",
)
@click.option(
    "--every-version",
    is_flag=True,
    help="Read every version of each source and not only the highest; then a row also knows since when.",
)
@layout_option
@click.pass_context
def build(
    context: click.Context,
    sources: tuple[str, ...],
    file: Path | None,
    every_version: bool,
    layouts: list[tuple[str, Path]],
) -> None:
    """Write the kinds that the packages of each SRC define, one sorted row for each kind and API version.

    SRC is a source, SOURCE:TAG or SOURCE=RANGE. A source may end with *: it stands for the sources that a layout or the
    lock of the current folder lists, since registries cannot list theirs. Name the file under `catalog` in xplock.yaml and commit it: then a
    dependency on a CRD is answered from it, and no registry is asked about sources that do not answer. The layouts and
    rewrites in the settings of the current folder count.
    """
    # Imported late: the help needs no registry.
    from render.app.packages.catalog import build_catalog, format_catalog
    from render.system.files import replace_file

    output: Output = context.obj
    folder, operator = default_folder(context), operator_settings()
    rows = build_catalog(sources, folder, layouts, operator, output, every_version=every_version)
    text = format_catalog(rows)
    if file is None:
        output.result(text)
    else:
        replace_file(file, text.encode())
    output.say(f"{counted(len(rows), 'row')} of {counted(len({row.source for row in rows}), 'source')}")
