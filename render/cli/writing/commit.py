"""xplock commit: the lock, and nothing else, to a branch."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from render.app.commits.committer import open_committer
from render.app.commits.options import CommitOptions
from render.cli.operator_options import CA_BUNDLE, DEADLINE, GIT_TOKEN, OperatedCommand, operator_settings
from render.cli.options import commit_options, folders_argument, output_option
from render.cli.output import Output
from render.limits import Limits
from render.lock.freshness import require_consistent_lock
from render.lock.text.file import read_lock_bytes
from render.views.commits.commit_message import format_pull_request
from render.views.commits.committed import Committed, committed_document, format_committed


@click.command(
    cls=OperatedCommand,
    settings=(GIT_TOKEN, CA_BUNDLE, DEADLINE),
    epilog="Examples: xplock commit; xplock commit --push clusters/*; xplock commit --branch xplock/update --push > pr.md",
)
@folders_argument
@commit_options
@click.option("--dry-run", is_flag=True, help="Commit nothing; print the message or the pull request.")
@output_option("text", "json")
@click.pass_obj
def commit(output: Output, /, folders: tuple[Path, ...], dry_run: bool, form: str, **how: Any) -> None:
    """Commit the crossplane.lock.yaml of each DIR, and nothing else, to the current branch or to another one.

    Other changes, staged or not, stay as they are, and no hook is run. Locks of one repository become one commit, which
    must have what they were made from. If others push first, the push is tried again on top of theirs, unless they
    changed the lock or its inputs. A push that fails leaves this repository unchanged. Another branch starts again from
    the current commit, unless others have committed to it.
    """
    operator = operator_settings()
    options = CommitOptions(**how)
    with open_committer(output, options, folders, operator) as committer:
        locks = {folder: _read(folder, operator.limits) for folder in folders}
        made = committer.commit(committer.plan(locks, dry_run=dry_run), dry_run=dry_run)
    if form == "json":
        output.result_json([committed_document(one) for one in made])
    else:
        write_committed(made, output, to_branch=options.branch is not None, message=dry_run)


def write_committed(
    made: Sequence[Committed], output: Output, *, to_branch: bool, message: bool = False
) -> None:
    """Print what was committed; with a branch or a message, print the text for it and report the commit on stderr."""
    for one in made:
        line = format_committed(one)
        if one.changes and (to_branch or message):
            output.say(line)
            output.result(format_pull_request(one.changes, one.subject) if to_branch else one.message)
        elif to_branch:
            # Where the text of a pull request is the result, there is none.
            output.say(line)
        elif output.verbosity >= 0:
            output.result(f"{line}\n")


def _read(folder: Path, limits: Limits) -> bytes:
    # A lock that contradicts itself must not be committed.
    require_consistent_lock(folder, limits)
    return read_lock_bytes(folder, limits) or b""
