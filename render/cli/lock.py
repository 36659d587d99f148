"""xplock lock: resolve and write."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from render.app.commit_options import CommitOptions
from render.app.resolving import Outcome, Resolver
from render.app.several import resolve_folders
from render.cli.commit_options import commit_options
from render.cli.operator_options import CACHE, GIT_TOKEN, REGISTRIES, OperatedCommand
from render.cli.options import folders_argument, layout_option, offline_option, output_option
from render.cli.output import Output
from render.errors import Differs, Unsatisfiable
from render.lifecycle.update import LockOptions
from render.limits import Limits
from render.live.lock import LiveLock, parse_live_lock
from render.lock.file import write_lock
from render.lock.format import format_lock
from render.system.files import LOCK_FILE
from render.texts import counted, first_lines
from render.views.report import format_report, report_document

if TYPE_CHECKING:
    from render.app.committing import Committer
    from render.views.committed import Committed


# Of what contradicts itself, so much is shown.
_SHOWN = 20


@click.command(
    cls=OperatedCommand,
    settings=(*CACHE, *REGISTRIES, GIT_TOKEN),
    epilog="Examples: xplock lock; xplock lock -P provider-aws-s3=v1.2.0; xplock lock --check clusters/*",
)
@folders_argument
@click.option(
    "-U", "--upgrade", "everything", is_flag=True, help="Let every pin move to the newest version that fits."
)
@click.option(
    "-P",
    "--upgrade-package",
    "packages",
    multiple=True,
    metavar="SRC[=VERSION]",
    help="Let this pin move, to VERSION if given; its family moves along. May be repeated.",
)
@click.option("--check", is_flag=True, help="Write nothing; exit 3 if the lock would change.")
@click.option("--dry-run", is_flag=True, help="Write nothing; tell what would change.")
@offline_option
@click.option("--new", is_flag=True, help="Start over: forget the names and pins of the lock that was.")
@click.option(
    "--allow-downgrade",
    is_flag=True,
    help="Accept another version, a lower one too, where the locked one is no longer offered.",
)
@click.option(
    "--accept-unknown-objects",
    "accept_unknown",
    is_flag=True,
    help="Let a package leave although its objects can no longer be compared with those of packages that come.",
)
@click.option(
    "--live",
    metavar="FILE",
    type=click.File("rb"),
    help="The Lock of a cluster in which packages were installed before they were locked, as `kubectl get lock lock "
    "-o yaml` prints it; - for stdin. Who was attached there is remembered.",
)
@click.option("--commit", "commits", is_flag=True, help="Then commit the locks, as `xplock commit` does.")
@commit_options
@layout_option
@output_option("text", "json")
@click.pass_obj
def lock(
    output: Output,
    /,
    folders: tuple[Path, ...],
    everything: bool,
    packages: tuple[str, ...],
    check: bool,
    dry_run: bool,
    offline: bool,
    new: bool,
    allow_downgrade: bool,
    accept_unknown: bool,
    live: BinaryIO | None,
    commits: bool,
    layouts: list[tuple[str, Path]],
    form: str,
    **how: Any,
) -> None:
    """Resolve everything that each DIR asks for, and write the answer to its crossplane.lock.yaml.

    Pins that still fit stay. With several folders all are written, or none.
    """
    limits = Limits.from_environment(os.environ)
    options = LockOptions(packages, everything, allow_downgrade, accept_unknown, _read_live(live, limits))
    resolver = Resolver(os.environ, output, layouts, offline=offline, options=options, new=new)
    how_to_commit = CommitOptions(**how)
    _check_usage(how_to_commit, commits=commits, check=check)
    committer = _open_committer(output, how_to_commit, folders, resolver) if commits else None
    outcomes = resolve_folders(resolver, folders, output)
    changed = [outcome for outcome in outcomes if outcome.changes]
    if not check and not dry_run:
        for outcome in changed:
            write_lock(outcome.folder, format_lock(outcome.after), limits=resolver.limits)
    if form != "json":
        _tell(outcomes, output, aside=how_to_commit.branch is not None)
    made = committer.commit(_texts(outcomes), dry_run=dry_run) if committer else []
    if form == "json":
        locks = [report_document(str(one.folder), one.before, one.after) for one in outcomes]
        output.result_json({"locks": locks, "commits": _committed_documents(made)} if committer else locks)
    elif committer:
        _write_committed(made, output, to_branch=how_to_commit.branch is not None)
    unsuited = [line for outcome in changed for line in outcome.unsuited]
    if check and unsuited:
        raise Unsatisfiable(
            f"{len(changed)} of {counted(len(outcomes), 'lock')} would change, and what they say does not hold any more",
            why=first_lines(unsuited, _SHOWN),
            next="run `xplock lock` and commit what it writes",
        )
    if check and changed:
        raise Differs(
            f"{len(changed)} of {counted(len(outcomes), 'lock')} would change",
            why=[str(outcome.folder / LOCK_FILE) for outcome in changed],
            next="run `xplock lock` and commit what it writes",
        )


def _read_live(file: BinaryIO | None, limits: Limits) -> LiveLock | None:
    # One byte more than may be there tells that there is too much.
    return parse_live_lock(file.read(limits.lock_bytes + 1), limits) if file else None


def _check_usage(how: CommitOptions, *, commits: bool, check: bool) -> None:
    if how.given and not commits:
        raise click.UsageError("the options for committing need --commit")
    if commits and check:
        raise click.UsageError(
            "--check writes nothing that could be committed: leave out --check or --commit"
        )


def _open_committer(
    output: Output, how: CommitOptions, folders: Sequence[Path], resolver: Resolver
) -> "Committer":
    # Imported late: GitPython takes long to import.
    from render.app.committing import open_committer

    committing = open_committer(output, how, folders, resolver.limits)
    return click.get_current_context().with_resource(committing)


def _committed_documents(made: "Sequence[Committed]") -> list[dict[str, Any]]:
    from render.views.committed import committed_document

    return [committed_document(one) for one in made]


def _write_committed(made: "Sequence[Committed]", output: Output, *, to_branch: bool) -> None:
    from render.cli.commit import write_committed

    write_committed(made, output, to_branch=to_branch)


def _tell(outcomes: Sequence[Outcome], output: Output, *, aside: bool) -> None:
    """Tell what became of every package; aside, where something else is the result."""
    several = len(outcomes) > 1
    reports = [format_report(str(one.folder), one.before, one.after, several=several) for one in outcomes]
    if aside:
        for line in "".join(reports).splitlines():
            output.say(line)
    elif output.verbosity >= 0:
        output.report("".join(reports))


def _texts(outcomes: Sequence[Outcome]) -> dict[Path, bytes]:
    """Return what every folder's lock will be; one that does not change stays byte for byte."""
    return {
        one.folder: format_lock(one.after).encode() if one.changes else (one.folder / LOCK_FILE).read_bytes()
        for one in outcomes
    }
