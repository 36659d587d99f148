"""xplock tree: the closure as a tree."""

from pathlib import Path

import click

from render.cli.each import for_each, format_folders
from render.cli.operator_options import operator_settings
from render.cli.options import folders_argument, has_one_folder, output_option
from render.cli.output import Output
from render.lock.freshness import require_consistent_lock
from render.lock.lookup import find_source
from render.lock.model import Lock
from render.views.closure.tree import TreeView, format_tree, tree_document

_EVERYTHING = ""


@click.command(epilog="Examples: xplock tree --depth 1; xplock tree platform/ --invert provider-aws-s3")
@folders_argument
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
@click.pass_context
def tree(
    context: click.Context,
    folders: tuple[Path, ...],
    depth: int | None,
    inverted: str | None,
    no_dedupe: bool,
    constraints: bool,
    form: str,
) -> None:
    """Show what is locked in each DIR as a tree: what you ask for, and below it what that needs.

    A package marked (*) is written out further up. "shared" means that several packages need it, "by CRD"
    that the package above depends on a CRD which this one defines, "orphaned" that nothing requires it any more, "detached" that Crossplane does not check its dependencies; `xplock why` shows more.
    Deactivated packages come last.
    """
    output: Output = context.obj
    limits = operator_settings().limits

    def read(folder: Path) -> tuple[Lock, TreeView]:
        lock = require_consistent_lock(folder, limits)
        start = find_source(inverted, lock, provided=True, folder=folder) if inverted else None
        return lock, TreeView(inverted is not None, start, depth, not no_dedupe, constraints)

    each = for_each(folders, read, output)
    for folder, (lock, _) in each.found:
        if not lock.installed():
            output.say(f"{folder} has no packages")
    single = has_one_folder(context, folders)
    if form == "json":
        documents = each.documents(lambda one: tree_document(*one))
        output.result_json(tree_document(*each.found[0][1]) if single else documents)
    else:
        texts = [(folder, format_tree(*one)) for folder, one in each.found]
        output.result(texts[0][1] if single else format_folders(texts))
    context.exit(each.worst)
