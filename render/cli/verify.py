"""xplock verify: whether registries still have what was locked."""

from pathlib import Path

import click

from render.app.upstream import require_verified, verify_folders
from render.cli.operator_options import REGISTRIES, OperatedCommand, given_words, operator_settings
from render.cli.options import folders_argument, layout_option, layout_words, output_option
from render.cli.output import Output
from render.views.verification import findings_document, format_findings


# Without options for the cache, which is never asked here.
@click.command(cls=OperatedCommand, settings=REGISTRIES, epilog="Example: xplock verify clusters/*")
@folders_argument
@layout_option
@output_option("text", "json")
@click.pass_obj
def verify(output: Output, folders: tuple[Path, ...], layouts: list[tuple[str, Path]], form: str) -> None:
    """Ask the registries whether the bytes locked in each DIR are there, are what the lock says, and are still tagged.

    Exit 3: a tag has moved or is gone, and the lock still installs what it always did. Exit 1: the bytes are gone or
    are something else.
    """
    found = verify_folders(folders, layouts, operator_settings(), output)
    if form == "json":
        output.result_json([findings_document(one.folder, one.packages, one.findings) for one in found])
    else:
        output.result("".join(format_findings(one.folder, one.packages, one.findings) for one in found))
    words = [*layout_words(layouts), *given_words(click.get_current_context())]
    require_verified(found, words)
