"""The results of commands that write locks: what changed in each folder, the errors of the others, and commits."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from render.cli.failures import error_document
from render.cli.output import Output
from render.commands import xplock

if TYPE_CHECKING:
    from render.app.lock_outcomes import LockRun
    from render.app.resolving.outcome import Outcome
    from render.definitions.model import Comparison
    from render.views.commits.committed import Committed


def write_reports(
    outcomes: "Sequence[Outcome]",
    output: Output,
    compared: "Mapping[Path, Comparison]",
    *,
    several: bool,
    to_stderr: bool,
    is_written: bool,
) -> None:
    """Write what changed in every lock: to stdout, or to stderr if the text of a pull request is the result."""
    # Imported late, as everything here: the first requests are under way meanwhile.
    from render.definitions.model import Comparison
    from render.views.definitions.lines import format_class_lines
    from render.views.report import format_report

    reports = []
    for one in outcomes:
        reports.append(
            format_report(
                str(one.folder),
                one.before,
                one.after,
                several=several,
                needed=one.needed,
                rewritten=one.changes,
                fitted=True,
                everyone=output.verbosity > 0,
            )
        )
        # With the last commit, since the file has the new lock.
        command = xplock("diff", folder=one.folder, option="-C") if is_written else ""
        reports.append(format_class_lines(compared.get(one.folder, Comparison()), command))
    if to_stderr:
        for line in "".join(reports).splitlines():
            output.say(line)
    elif output.verbosity >= 0:
        output.report("".join(reports))


def lock_documents(done: "LockRun", compared: "Mapping[Path, Comparison]") -> list[dict[str, Any]]:
    """Return one JSON value for each folder: what changed in its lock, or its error."""
    from render.views.definitions.lines import classes_document
    from render.views.report_document import report_document

    made = {
        one.folder: {
            **report_document(str(one.folder), one.before, one.after, one.needed, rewritten=one.changes),
            **(classes_document(compared[one.folder]) if one.folder in compared else {}),
        }
        for one in done.outcomes
    }
    made |= {folder: {"folder": str(folder), **error_document(error)} for folder, error in done.failures}
    return [made[folder] for folder in done.folders if folder in made]


def committed_documents(made: "Sequence[Committed]") -> list[dict[str, Any]]:
    """Return one JSON value for each repository."""
    from render.views.commits.committed import committed_document

    return [committed_document(one) for one in made]


def write_commits(made: "Sequence[Committed]", output: Output, *, to_branch: bool) -> None:
    """Print what was committed."""
    from render.cli.writing.commit import write_committed

    write_committed(made, output, to_branch=to_branch)
