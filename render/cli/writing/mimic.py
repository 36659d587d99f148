"""xplock lock --mimic: what Crossplane alone would pick, beside our answer."""

from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from render.cli.output import Output
from render.commands import LockCall

if TYPE_CHECKING:
    from render.app.resolving.resolver import Resolver


def check_mimic_usage(
    *, mimics: bool, writes: bool, flag: str | None, there: BinaryIO | None, folders: int
) -> None:
    """Raise for options that belong to --mimic, and for those that do not go with it."""
    if not mimics and (flag or there):
        raise click.UsageError("--crossplane-flags and --from-live need --mimic")
    if mimics and writes:
        raise click.UsageError("--mimic writes nothing: leave out --check and --commit")
    if mimics and folders > 1:
        raise click.UsageError("--mimic compares one folder at a time")


def write_mimic(
    output: Output,
    resolver: "Resolver",
    folder: Path,
    call: LockCall,
    flag: str | None,
    there: BinaryIO | None,
    form: str,
) -> None:
    """Write the comparison; raise if our own answer is an error."""
    # Imported late: few locks are compared.
    from render.app.clusters.mimic import mimic_folder
    from render.live.start import read_start
    from render.resolve.mimic.model import Flag
    from render.views.mimic.document import comparison_document
    from render.views.mimic.text import format_comparison

    start = read_start(there, resolver.limits) if there else None
    found = mimic_folder(resolver, folder, call, flag=Flag(flag) if flag else None, start=start)
    if form == "json":
        output.result_json(comparison_document(found.comparison))
    else:
        output.result(format_comparison(found.comparison))
    for note in found.notes:
        output.warn(note)
    if found.failure:
        raise found.failure
