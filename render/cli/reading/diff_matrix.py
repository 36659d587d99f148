"""xplock diff --matrix: the locks of several folders side by side."""

from collections.abc import Sequence
from pathlib import Path

import click

from render.app.matrix import Matrix, make_matrix
from render.cli.failures import error_document
from render.cli.operator_options import operator_settings
from render.cli.options import find_folders
from render.cli.output import Output
from render.commands import as_path, shell
from render.errors import Differs
from render.texts import counted, first_names
from render.views.matrix import (
    Cell,
    MatrixView,
    format_matrix,
    format_matrix_markdown,
    matrix_document,
)

_SHOWN = 5


def write_matrix(
    context: click.Context, names: Sequence[str], reference: Path | None, form: str, *, exit_code: bool
) -> None:
    """Print the locks of folders side by side; raise if one is behind the reference, or if one cannot be read."""
    output: Output = context.obj
    folders = find_folders(context, names)
    if len({*folders, *([reference] if reference else [])}) < 2:
        raise click.UsageError("--matrix compares several folders: name them, or find them with -R", context)
    matrix = make_matrix(folders, reference, operator_settings().limits, output)
    view, behind = _view(matrix), {str(folder): count for folder, count in matrix.behind().items()}
    if form == "json":
        failed = {str(folder): error_document(error) for folder, error in matrix.failures.items()}
        output.result_json({**matrix_document(view, behind), **({"errors": failed} if failed else {})})
    else:
        output.result(format_matrix_markdown(view) if form == "markdown" else format_matrix(view))
    differing = matrix.differing()
    output.say(
        f"{counted(len(matrix.rows), 'package')} in {counted(len(view.folders), 'folder')}, {len(differing):,} not alike"
    )
    worst = max((error.exit_code for error in matrix.failures.values()), default=0)
    if behind and reference is not None:
        raise _behind(matrix, behind, worst)
    context.exit(max(worst, Differs.exit_code if exit_code and differing else 0))


def _behind(matrix: Matrix, behind: dict[str, int], worst: int) -> Differs:
    words = [str(matrix.reference), *behind]
    error = Differs(
        f"{counted(len(behind), 'folder')} behind {matrix.reference}",
        why=first_names(
            [f"{folder} in {counted(count, 'package')}" for folder, count in behind.items()], _SHOWN
        ),
        next=f"promote what was tested there: {shell('xplock', 'promote', *map(as_path, words))}",
    )
    error.exit_code = max(error.exit_code, worst)
    return error


def _view(matrix: Matrix) -> MatrixView:
    rows = {
        source: [Cell(row.get(folder), matrix.standing(source, folder)) for folder in matrix.folders]
        for source, row in matrix.rows.items()
    }
    return MatrixView(tuple(map(str, matrix.folders)), rows)
