"""xplock diff: what differs between two locks, or between a lock and a cluster."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import click

from render.app.diff import LockPair, compare_with_cluster, read_lock_pair
from render.cli.operator_options import CACHE, REGISTRIES, OperatedCommand, operator_settings
from render.cli.options import (
    default_folder,
    is_recursive,
    layout_option,
    offline_option,
    output_option,
    recursive_options,
)
from render.cli.output import Output
from render.cli.reading.diff_definitions import Compared, DefinitionOptions, definition_options
from render.cli.reading.diff_matrix import write_matrix
from render.cli.reading.places import find_places, place_folder
from render.commands import as_path, xplock
from render.definitions.model import Comparison
from render.errors import Differs, InvalidInput
from render.lock.diff import LockDiff, diff_locks
from render.system.files import LOCK_FILE, is_folder
from render.versions.version import Version, parse_version
from render.views.diff import diff_document, format_diff, format_markdown

_STDIN = "-"


def _parse_crossplane(_context: click.Context, _option: click.Parameter, text: str | None) -> Version | None:
    return parse_version(text) if text else None


@click.command(
    cls=OperatedCommand,
    settings=(*CACHE, *REGISTRIES),
    epilog="Examples: xplock diff main; xplock diff main --fail-on lost; xplock diff old.yaml new.yaml -o markdown; "
    "xplock diff main -o html > changes.html; "
    "kubectl get lock lock -o yaml | xplock diff -; xplock diff --matrix staging production",
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
@definition_options
@layout_option
@offline_option
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
    definitions: bool,
    rules: tuple[str, ...],
    fail_on: str | None,
    live_files: tuple[IO[bytes], ...],
    layouts: list[tuple[str, Path]],
    offline: bool,
    form: str,
) -> None:
    """Show what changed from A to B, and what that does to definitions and their stored objects.

    Each is a lock file, a folder with one, or a Git revision; A may be - for a cluster's Lock on stdin. Without B it
    is the lock in the folder; without A the one of the last commit. A folder alone is compared with its last commit,
    and a folder beside a revision with what that revision has of it. -o html is a page with the picture of what
    changed, as of graph A B.

    A finding about definitions is of a class: blocked (the API server refuses it), lost (stored objects lose data, or
    no update to them passes), writers (what writes the old form is refused or ignored) or note. `xplock explain RULE`
    has more about each rule.
    """
    output: Output = context.obj
    if side_by_side:
        if rules or fail_on or live_files:
            raise click.UsageError(
                "--rule, --live and --fail-on are for two locks, not for --matrix", context
            )
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
    words = [*map(as_path, places), *(("-C", as_path(chosen)) if chosen else ())]
    wanted = DefinitionOptions(definitions, rules, fail_on, tuple(layouts), offline, tuple(words), live_files)
    if old == _STDIN:
        _check_cluster(form)
    wanted.check(has_cluster=old == _STDIN)
    found, pair = _compare(old, new or str(folder), folder, crossplane)
    for note in pair.notes if pair else ():
        output.say(f"note: {note}")
    compared = wanted.compare(pair, output)
    if pair and form == "html":
        _write_page(output, pair, compared, f"{new or folder} since {old}")
    elif form == "json":
        output.result_json(diff_document(found) | compared.document())
    elif form == "markdown":
        output.result(format_markdown(found) + compared.markdown(found))
    else:
        output.result(format_diff(found) + compared.text(found))
    compared.require()
    if exit_code and not found.equal:
        raise _differ(old, new or str(folder))


def _check_cluster(form: str) -> None:
    """Raise if a cluster's Lock cannot be compared in this way."""
    if form == "html":
        raise InvalidInput(
            "a page compares two locks, and a cluster's Lock is none",
            why="it has no digests, and does not say what is detached or leaving",
            next="leave out -o html",
        )


def _write_page(output: Output, pair: LockPair, compared: Compared, title: str) -> None:
    """Print the page of two locks, with what happens to their definitions."""
    # Imported late: a picture needs templates.
    from render.views.graph.make import make_graph
    from render.views.graph.picture import format_page
    from render.views.graph.safety import with_findings

    graph = make_graph(pair.new, pair.old)
    output.result(format_page(with_findings(graph, compared.comparison or Comparison()), title))


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


def _compare(
    old: str, new: str, folder: Path, crossplane: Version | None
) -> tuple[LockDiff, LockPair | None]:
    limits = operator_settings().limits
    if old == _STDIN:
        return compare_with_cluster(sys.stdin.buffer, new, folder, crossplane, limits), None
    pair = read_lock_pair(old, new, folder, limits)
    return diff_locks(pair.old, pair.new), pair
