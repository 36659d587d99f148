"""xplock diff: what differs between two locks, or between a lock and a cluster."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from render.app.diff import compare_locks, compare_with_cluster, read_both
from render.cli.operator_options import operator_settings
from render.cli.options import default_folder, is_recursive, output_option, recursive_options
from render.cli.output import Output
from render.cli.reading.diff_matrix import write_matrix
from render.cli.reading.places import find_places, place_folder
from render.commands import as_path, xplock
from render.errors import Differs, InvalidInput
from render.lock.diff import LockDiff
from render.system.files import LOCK_FILE, is_folder
from render.versions.version import Version, parse_version
from render.views.diff import diff_document, format_diff, format_markdown

_STDIN = "-"


def _parse_crossplane(_context: click.Context, _option: click.Parameter, text: str | None) -> Version | None:
    return parse_version(text) if text else None


@click.command(
    epilog="Examples: xplock diff main; xplock diff old.yaml new.yaml -o markdown; "
    "xplock diff main -o html > changes.html; "
    "kubectl get lock lock -o yaml | xplock diff -; xplock diff --matrix staging production"
)
@click.argument("places", metavar="[A] [B]", nargs=-1)
@click.option(
    "--matrix",
    "side_by_side",
    is_flag=True,
    help="Instead, show the locks of several DIR side by side: one row for each source, one column for each DIR.",
)
@click.option(
    "--reference",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="With --matrix: the DIR that the others are compared with, instead of the first; exit 3 if one is behind it.",
)
@recursive_options
@click.option(
    "-C",
    "--dir",
    "chosen",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The project folder whose lock is meant, instead of the current one.",
)
@click.option("--exit-code", is_flag=True, help="Exit 3 if there is a difference.")
@click.option(
    "--crossplane-version",
    "crossplane",
    callback=_parse_crossplane,
    metavar="VERSION",
    help="The cluster's Crossplane, instead of the one in the settings; below v2.4 the names of revisions are compared too.",
)
@output_option("text", "json", "markdown", "html")
@click.pass_context
def diff(
    context: click.Context,
    places: tuple[str, ...],
    side_by_side: bool,
    reference: Path | None,
    chosen: Path | None,
    exit_code: bool,
    crossplane: Version | None,
    form: str,
) -> None:
    """Show what changed from A to B.

    Each is a lock file, a folder with one, or a Git revision; A may be - for a cluster's Lock on stdin. Without B it
    is the lock in the folder; without A the one of the last commit. A folder alone is compared with its last commit,
    and a folder beside a revision with what that revision has of it. -o html is a page with the picture of what
    changed, as of graph A B.
    """
    output: Output = context.obj
    if side_by_side:
        write_matrix(context, places, reference, form, exit_code=exit_code)
        return
    _check_usage(context, places, reference)
    old, new = (*find_places(context, places), None, None)[:2]
    default = default_folder(context)
    chosen = default / chosen if chosen else default if default != Path() else None
    if new == _STDIN:
        raise InvalidInput(
            "a cluster's Lock is what is compared with, and comes first",
            why="what a folder asks for is where the cluster is going",
            next=f"write: {_stdin_first(old, chosen)}",
        )
    old, folder = place_folder(old, new, chosen)
    if form == "html":
        _write_page(output, old, new or str(folder), folder, exit_code=exit_code)
        return
    found, notes = _compare(old, new or str(folder), folder, crossplane)
    for note in notes:
        output.say(f"note: {note}")
    if form == "json":
        output.result_json(diff_document(found))
    else:
        output.result(format_markdown(found) if form == "markdown" else format_diff(found))
    if exit_code and not found.equal:
        raise _differ(old, new or str(folder))


def _write_page(output: Output, old: str, new: str, folder: Path, *, exit_code: bool) -> None:
    """Print the page of two locks."""
    if old == _STDIN:
        raise InvalidInput(
            "a page compares two locks, and a cluster's Lock is none",
            why="it has no digests, and does not say what is detached or leaving",
            next="leave out -o html",
        )
    # Imported late: a picture needs templates.
    from render.views.graph.make import make_graph
    from render.views.graph.picture import format_page

    before, after, notes = read_both(old, new, folder, operator_settings().limits)
    for note in notes:
        output.say(f"note: {note}")
    output.result(format_page(make_graph(after, before), f"{new} since {old}"))
    if exit_code and before != after:
        raise _differ(old, new)


def _differ(old: str, new: str) -> Differs:
    return Differs(f"{old} and {Path(new) / LOCK_FILE if is_folder(Path(new)) else new} differ")


def _check_usage(context: click.Context, places: Sequence[str], reference: Path | None) -> None:
    if reference is not None or is_recursive(context):
        raise click.UsageError("--reference and -R are for --matrix", context)
    if len(places) > 2:
        raise click.UsageError("two locks are compared; to see more of them side by side: --matrix", context)


def _stdin_first(other: str | None, chosen: Path | None) -> str:
    words = [] if other in (None, _STDIN) else [as_path(other)]
    return xplock("diff", _STDIN, *words, folder=chosen or ".", option="-C")


def _compare(old: str, new: str, folder: Path, crossplane: Version | None) -> tuple[LockDiff, list[str]]:
    limits = operator_settings().limits
    if old == _STDIN:
        return compare_with_cluster(sys.stdin.buffer, new, folder, crossplane, limits), []
    return compare_locks(old, new, folder, limits)
