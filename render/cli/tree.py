"""xplock tree: the closure as a tree."""

from pathlib import Path

import click

from render.cli.operator_options import operator_settings
from render.cli.options import folder_argument, output_option
from render.cli.output import Output
from render.lock.freshness import require_consistent_lock
from render.lock.lookup import find_source
from render.views.tree import TreeView, format_tree, tree_document

_EVERYTHING = ""


@click.command(epilog="Examples: xplock tree --depth 1; xplock tree platform/ --invert provider-aws-s3")
@folder_argument
@click.option("--depth", type=click.IntRange(min=0), metavar="N", help="Show N levels below the first.")
@click.option(
    "-i",
    "--invert",
    "inverted",
    is_flag=False,
    flag_value=_EVERYTHING,
    metavar="[SRC]",
    help="Show who needs SRC, its last components will do; without SRC, start from all that need nothing. "
    "DIR comes first.",
)
@click.option("--no-dedupe", is_flag=True, help="Write a package out below each of its dependants.")
@click.option("--constraints", is_flag=True, help="Show which versions each dependant accepts.")
@output_option("text", "json")
@click.pass_obj
def tree(
    output: Output,
    folder: Path,
    depth: int | None,
    inverted: str | None,
    no_dedupe: bool,
    constraints: bool,
    form: str,
) -> None:
    """Show what is locked in DIR as a tree: what you ask for, and below it what that needs.

    A package marked (*) is written out further up. "shared" means that several packages need it, "orphaned" that
    nothing requires it any more, "detached" that Crossplane does not check its dependencies; `xplock why` shows more.
    Deactivated packages come last.
    """
    lock = require_consistent_lock(folder, operator_settings().limits)
    if not lock.installed():
        output.say(f"{folder} has no packages")
    view = TreeView(
        inverted=inverted is not None,
        start=find_source(inverted, lock, provided=True, folder=folder) if inverted else None,
        depth=depth,
        dedupe=not no_dedupe,
        constraints=constraints,
    )
    if form == "json":
        output.result_json(tree_document(lock, view))
    else:
        output.result(format_tree(lock, view))
