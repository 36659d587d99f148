"""xplock why: how a package came into the lock."""

from pathlib import Path

import click

from render.cli.locked import folder_argument, read_whole_lock
from render.cli.options import output_option
from render.cli.output import Output
from render.lock.update import find_source
from render.views.why import explain, explanation_document, format_explanation


@click.command(epilog="Example: xplock why provider-aws-s3 platform/")
@click.argument("source", metavar="SRC")
@folder_argument
@output_option("text", "json")
@click.pass_obj
def why(output: Output, source: str, folder: Path, form: str) -> None:
    """Show who needs SRC in the lock of DIR, and every path to it from what you ask for.

    The last components of SRC will do, as long as only one package ends with them. Of many paths the shortest
    are shown, and the others counted.
    """
    lock = read_whole_lock(folder)
    found = explain(lock, find_source(source, lock))
    if form == "json":
        output.result_json(explanation_document(found))
    else:
        output.result(format_explanation(found))
