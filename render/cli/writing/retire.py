"""xplock retire: the two steps of retiring packages that are leaving."""

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import click

from render.app.retire import retire_in_folders
from render.cli.operator_options import operator_settings
from render.cli.options import default_folder, output_option
from render.cli.output import Output
from render.lifecycle.retiring.retire import Retirement
from render.views.retirement import format_retirements, retirement_document, retirement_hints


@click.command(
    epilog="Examples: xplock retire provider-old; xplock retire provider-old --synced; "
    "kubectl get provider.pkg.crossplane.io/acme-provider-old -o yaml | xplock retire provider-old --live -"
)
@click.argument("names", nargs=-1, required=True, metavar="SRC...")
@click.option(
    "-C",
    "--dir",
    "folders",
    multiple=True,
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A project folder, instead of the current one. May be repeated: packages of one folder that need a "
    "package of another count.",
)
@click.option("--synced", is_flag=True, help="Every cluster has synced the first step.")
@click.option(
    "--live",
    metavar="FILE",
    type=click.File("rb"),
    help="Objects of the cluster, as kubectl prints them, that prove it; - for stdin.",
)
@click.option(
    "--delete-objects",
    is_flag=True,
    help="Accept that objects of a replaced package that none of its successors brings are deleted with it.",
)
@click.option("--dry-run", is_flag=True, help="Write nothing; print what would change.")
@output_option("text", "json")
@click.pass_context
def retire(
    context: click.Context,
    names: tuple[str, ...],
    folders: tuple[Path, ...],
    synced: bool,
    live: BinaryIO | None,
    delete_objects: bool,
    dry_run: bool,
    form: str,
) -> None:
    """Retire packages that are leaving: nothing requires them any more, or others have replaced them.

    The first run takes the guard off, so that a cluster may delete them. The second one drops them from the lock,
    once every cluster has synced the first: confirm that with --synced, or prove it with --live. A package that
    another of them needs waits for one more sync. Only the lock changes, and no registry is asked.
    """
    output: Output = context.obj
    limits = operator_settings().limits
    # One byte above the limit is enough to know that there is too much.
    objects = live.read(limits.lock_bytes + 1) if live else None
    made = retire_in_folders(
        names,
        _below(folders, context),
        limits,
        synced=synced,
        live=objects,
        delete_objects=delete_objects,
        dry_run=dry_run,
    )
    _write(made, output, form)


def _below(folders: Sequence[Path], context: click.Context) -> list[Path]:
    default = default_folder(context)
    return [default / folder for folder in folders] or [default]


def _write(made: Sequence[Retirement], output: Output, form: str) -> None:
    if form == "json":
        output.result_json([retirement_document(one) for one in made])
        return
    if output.verbosity >= 0:
        output.report(format_retirements(made))
    for hint in retirement_hints(made):
        output.say(hint)
