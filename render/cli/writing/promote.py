"""xplock promote: the versions and digests of one folder, locked in others."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from render.app.commits.options import CommitOptions
from render.app.operator_settings import OperatorSettings
from render.cli.operator_options import (
    CACHE,
    GIT_TOKEN,
    POLICY,
    REGISTRIES,
    TRUSTED_ROOT,
    OperatedCommand,
    operator_settings,
)
from render.cli.options import (
    commit_options,
    default_folder,
    folders_argument,
    is_recursive,
    layout_option,
    offline_option,
    output_option,
)
from render.cli.output import Output
from render.cli.writing.lock_results import committed_documents, write_commits
from render.commands import as_path, shell, xplock
from render.errors import Differs

if TYPE_CHECKING:
    from render.app.lock_outcomes import LockRun
    from render.app.promoting.promote import Promoter
    from render.app.promoting.targets import PromotionOptions
    from render.definitions.model import Comparison
    from render.views.commits.committed import Committed
    from render.views.promotion import Promoted

_SHOWN = 20


@click.command(
    cls=OperatedCommand,
    settings=(POLICY, TRUSTED_ROOT, *CACHE, *REGISTRIES, GIT_TOKEN),
    epilog="Examples: xplock promote staging production; xplock promote main:staging -R rings; "
    "xplock promote --check staging production; xplock promote -P provider-aws-s3 staging production --dry-run",
)
@click.argument("origin", metavar="FROM")
@folders_argument
@click.option(
    "-P",
    "--package",
    "packages",
    multiple=True,
    metavar="SRC",
    help="Promote only this package and what it needs; its last components will do. May be repeated.",
)
@click.option("--check", is_flag=True, help="Write nothing; exit 3 if DIR lacks something that FROM has.")
@click.option("--dry-run", is_flag=True, help="Write nothing; print what would change.")
@click.option(
    "--no-edit",
    "edits",
    flag_value=False,
    default=True,
    type=bool,
    help="Refuse where a manifest asks for another exact version, instead of editing it.",
)
@click.option("--with-roots", is_flag=True, help="Ask in DIR for what only FROM asks for, too.")
@click.option("--allow-downgrade", is_flag=True, help="Go back to the versions of FROM where DIR is ahead.")
@offline_option
@click.option("--commit", "commits", is_flag=True, help="Then commit the locks and the edited manifests.")
@commit_options
@layout_option
@output_option("text", "json")
@click.pass_context
def promote(
    context: click.Context,
    /,
    origin: str,
    folders: tuple[Path, ...],
    packages: tuple[str, ...],
    check: bool,
    dry_run: bool,
    edits: bool,
    with_roots: bool,
    allow_downgrade: bool,
    offline: bool,
    commits: bool,
    layouts: list[tuple[str, Path]],
    form: str,
    **how: Any,
) -> None:
    """Lock each DIR with the versions and digests that FROM has locked, by the rules of DIR.

    FROM is a folder, a lock file, or a Git revision and a folder in it: main:clusters/staging. Exact tags in the
    manifests of DIR are edited; ranges stay and have to accept the versions. What only DIR has stays as it is, and
    what only FROM asks for is not added. Names, moves, leaving packages and settings are those of DIR. A DIR that
    fails does not stop the others.
    """
    output: Output = context.obj
    how_to_commit = CommitOptions(**how)
    _check_usage(how_to_commit, commits=commits, check=check, dry_run=dry_run)
    from render.app.definitions import compare_outcomes
    from render.app.lock import lock_folders
    from render.app.promoting.targets import PromotionOptions

    operator = operator_settings()
    options = PromotionOptions(packages, edits, with_roots, allow_downgrade)
    job = _open(context, origin, options, operator, layouts, offline=offline)
    wanted = [one for one in folders if not (is_recursive(context) and job.is_origin(one))]
    done = lock_folders(job, wanted, output)
    made: Sequence[Committed] = ()
    if not (check or dry_run):
        made = _write(context, job, done, how_to_commit if commits else None, operator)
    is_read = not check and (output.verbosity >= 0 or form == "json")
    compared = compare_outcomes(done.outcomes, job.resolver, output) if is_read else {}
    shown = _promoted(job, done, compared)
    if form == "json":
        output.result_json(_documents(done, shown, made, commits=commits))
    else:
        _write_text(
            shown,
            output,
            several=len(done.folders) > 1,
            to_stderr=how_to_commit.branch is not None,
            is_written=not (dry_run or commits),
        )
        write_commits(made, output, to_branch=how_to_commit.branch is not None)
    if dry_run and form != "json":
        output.say("nothing was written")
    done.require_all()
    if check:
        _require_promoted(job, shown, packages)


def _check_usage(how: CommitOptions, *, commits: bool, check: bool, dry_run: bool) -> None:
    if how.given and not commits:
        raise click.UsageError("the options for committing need --commit")
    if commits and (check or dry_run):
        raise click.UsageError("--check and --dry-run write nothing that could be committed")


def _open(
    context: click.Context,
    origin: str,
    options: "PromotionOptions",
    operator: OperatorSettings,
    layouts: Sequence[tuple[str, Path]],
    *,
    offline: bool,
) -> "Promoter":
    from render.app.promoting.origins import read_origin
    from render.app.promoting.promote import Promoter
    from render.app.resolving.resolver import Resolver

    resolver = Resolver(operator, context.obj, layouts, offline=offline)
    found = read_origin(origin, default_folder(context), resolver, operator.environ)
    return Promoter(found, resolver, operator, context.obj, options, layouts, offline)


def _write(
    context: click.Context,
    job: "Promoter",
    done: "LockRun",
    how: CommitOptions | None,
    operator: OperatorSettings,
) -> "Sequence[Committed]":
    from render.app.promoting.writing import write_promotion

    if how is None:
        write_promotion(job, done)
        return ()
    # Imported late: GitPython takes long to import.
    from render.app.commits.committer import open_committer

    folders = [one.folder for one in done.outcomes]
    if not folders:
        return ()
    opened = open_committer(context.obj, how, folders, operator, with_inputs=True, origin=job.origin.trailer)
    committer = context.with_resource(opened)
    return committer.commit(write_promotion(job, done, committer), dry_run=False)


def _promoted(job: "Promoter", done: "LockRun", compared: "Mapping[Path, Comparison]") -> "list[Promoted]":
    from render.views.promotion import Promoted

    return [
        Promoted(
            str(one.folder),
            one.before,
            one.after,
            str(job.origin),
            job.packages,
            sorted(job.files[one.folder]),
            is_copy=one.text == job.origin.text,
            changes=one.changes,
            definitions=compared.get(one.folder),
        )
        for one in done.outcomes
    ]


def _write_text(
    shown: "Sequence[Promoted]", output: Output, *, several: bool, to_stderr: bool, is_written: bool
) -> None:
    from render.views.promotion import format_promoted

    # With the last commit, since the file has the new lock.
    text = "".join(
        format_promoted(
            one, xplock("diff", folder=one.folder, option="-C") if is_written else "", several=several
        )
        for one in shown
    )
    if to_stderr:
        for line in text.splitlines():
            output.say(line)
    elif output.verbosity >= 0:
        output.report(text)


def _documents(
    done: "LockRun", shown: "Sequence[Promoted]", made: "Sequence[Committed]", *, commits: bool
) -> Any:
    from render.cli.failures import error_document
    from render.views.promotion import promotion_document

    found = {one.folder: promotion_document(one) for one in shown}
    found |= {
        str(folder): {"folder": str(folder), **error_document(error)} for folder, error in done.failures
    }
    entries = [found[str(folder)] for folder in done.folders if str(folder) in found]
    return {"folders": entries, "commits": committed_documents(made)} if commits else entries


def _require_promoted(job: "Promoter", shown: "Sequence[Promoted]", packages: Sequence[str]) -> None:
    """Raise if a folder lacks something that the origin has."""
    behind = [one.folder for one in shown if one.changes or one.files]
    if behind:
        words = [word for name in packages for word in ("-P", name)]
        raise Differs(
            f"{len(behind)} of {len(shown)} folders are behind {job.origin}",
            why=behind[:_SHOWN],
            next=f"run: {shell('xplock', 'promote', *words, as_path(job.origin.name), *map(as_path, behind))}",
        )
