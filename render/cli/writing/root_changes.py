"""What `add` and `remove` share: how they lock, and how they report."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from render.app.operator_settings import OperatorSettings
from render.cli.output import Output
from render.commands import xplock

if TYPE_CHECKING:
    from render.app.resolving.resolver import Resolver
    from render.app.roots import RootChange


def locking(
    operator: OperatorSettings, output: Output, layouts: Sequence[tuple[str, Path]], *, offline: bool
) -> "Resolver":
    """Return what resolves a folder."""
    from render.app.resolving.resolver import Resolver

    return Resolver(operator, output, layouts, offline=offline)


def write_root_change(
    change: "RootChange", resolver: "Resolver", output: Output, form: str, *, dry_run: bool
) -> None:
    """Write the files of a change unless it is a dry run, and report it."""
    from render.app.definitions import compare_outcomes
    from render.app.roots import write_change
    from render.views.definitions.lines import classes_document, format_class_lines
    from render.views.report import format_report
    from render.views.report_document import report_document

    if not dry_run:
        write_change(change, resolver)
    outcome, folder = change.outcome, str(change.outcome.folder)
    if output.verbosity < 0 and form != "json":
        return
    compared = compare_outcomes([outcome], resolver, output)[outcome.folder]
    if form == "json":
        report = report_document(
            folder, outcome.before, outcome.after, outcome.needed, rewritten=outcome.changes
        ) | classes_document(compared)
        files = {name: data.decode() if data is not None else None for name, data in change.files.items()}
        output.result_json({"files": files, "lock": report, "written": not dry_run})
        return
    words = {True: "would be ", False: ""}[dry_run]
    for name, data in change.files.items():
        what = "removed" if data is None else "written"
        output.report(f"{outcome.folder / name}: {words}{what}\n")
    output.report(
        format_report(
            folder,
            outcome.before,
            outcome.after,
            several=False,
            rewritten=outcome.changes,
            fitted=True,
            everyone=output.verbosity > 0,
        )
    )
    # With the last commit, since the file has the new lock.
    command = "" if dry_run else xplock("diff", folder=outcome.folder, option="-C")
    output.report(format_class_lines(compared, command))
    if dry_run:
        output.say("nothing was written")
