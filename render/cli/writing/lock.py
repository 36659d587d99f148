"""xplock lock: resolve and write."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from render.app.commits.options import CommitOptions
from render.app.head_start import start_requests
from render.app.operator_settings import OperatorSettings
from render.cli.operator_options import (
    CACHE,
    GIT_TOKEN,
    POLICY,
    REGISTRIES,
    TRUSTED_ROOT,
    OperatedCommand,
    given_words,
    operator_settings,
)
from render.cli.options import (
    commit_options,
    folders_argument,
    layout_option,
    layout_words,
    offline_option,
    output_option,
)
from render.cli.output import Output
from render.cli.writing.lock_results import committed_documents, lock_documents, write_commits, write_reports
from render.cli.writing.mimic import check_mimic_usage, write_mimic
from render.commands import LockCall

if TYPE_CHECKING:
    from render.app.commits.committer import Committer


@click.command(
    cls=OperatedCommand,
    settings=(POLICY, TRUSTED_ROOT, *CACHE, *REGISTRIES, GIT_TOKEN),
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
    help="Let this pin move, to VERSION if given; its family moves along, to the same VERSION or not at all. "
    "May be repeated.",
)
@click.option("--check", is_flag=True, help="Write nothing; exit 3 if the lock would change.")
@click.option("--dry-run", is_flag=True, help="Write nothing; print what would change.")
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
    "--mimic",
    "mimics",
    is_flag=True,
    help="Write nothing; show what Crossplane alone would pick, one dependency after the other, beside the answer of "
    "xplock.",
)
@click.option(
    "--crossplane-flags",
    "flag",
    type=click.Choice(["upgrades", "downgrades"]),
    help="With --mimic: the alpha flag for dependency versions that Crossplane runs with; downgrades implies upgrades.",
)
@click.option(
    "--from-live",
    "there",
    metavar="FILE",
    type=click.File("rb"),
    help="With --mimic: start from the Lock of a cluster, as `kubectl get lock lock -o yaml` prints it; - for stdin.",
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
    mimics: bool,
    flag: str | None,
    there: BinaryIO | None,
    commits: bool,
    layouts: list[tuple[str, Path]],
    form: str,
    **how: Any,
) -> None:
    """Resolve everything that each DIR asks for, and write the answer to its crossplane.lock.yaml.

    Pins that still fit stay. A folder that fails does not stop the others; folders of one cluster, which are connected
    by `uses`, are written together or not at all.
    """
    operator = operator_settings()
    how_to_commit = CommitOptions(**how)
    _check_usage(how_to_commit, commits=commits, check=check)
    check_mimic_usage(mimics=mimics, writes=commits or check, flag=flag, there=there, folders=len(folders))
    starts = folders and not (offline or new)
    head_start = start_requests(operator, output, folders[0], layouts) if starts else None
    # Imported late: the first requests are under way meanwhile.
    import render.yaml.libyaml  # noqa: F401 - parses their answers
    from render.app.definitions import compare_outcomes
    from render.app.lock import lock_folders
    from render.app.resolving.resolver import Resolver
    from render.lifecycle.update import LockOptions

    flags = {
        "-U": everything,
        "--offline": offline,
        "--new": new,
        "--allow-downgrade": allow_downgrade,
        "--accept-unknown-objects": accept_unknown,
    }
    call = _repeat_call(folders, packages, flags, layouts)
    options = LockOptions(packages, everything, allow_downgrade, accept_unknown, call)
    resolver = Resolver(
        operator,
        output,
        layouts,
        offline=offline,
        options=options,
        new=new,
        confirm=True,
        check=check,
        head_start=head_start,
    )
    if mimics:
        write_mimic(output, resolver, folders[0], call, flag, there, form)
        return
    committer = _open_committer(output, how_to_commit, folders, operator) if commits else None
    done = lock_folders(resolver, folders, output)
    # A lock that cannot be committed is not written either.
    plans = committer.plan(done.texts(), dry_run=dry_run) if committer else []
    if not check and not dry_run:
        done.write(operator.limits)
    is_read = not check and (output.verbosity >= 0 or form == "json")
    compared = compare_outcomes(done.outcomes, resolver, output) if is_read else {}
    if form != "json":
        write_reports(
            done.outcomes,
            output,
            compared,
            several=len(done.folders) > 1,
            to_stderr=how_to_commit.branch is not None,
            is_written=not (dry_run or commits),
        )
        if dry_run:
            output.say("nothing was written")
    made = committer.commit(plans, dry_run=dry_run) if committer else []
    if form == "json":
        locks = lock_documents(done, compared)
        output.result_json({"locks": locks, "commits": committed_documents(made)} if committer else locks)
    elif committer:
        write_commits(made, output, to_branch=how_to_commit.branch is not None)
    if check:
        done.require_unchanged(call)
    done.require_all()


def _repeat_call(
    folders: Sequence[Path],
    packages: Sequence[str],
    flags: Mapping[str, bool],
    layouts: Sequence[tuple[str, Path]],
) -> LockCall:
    """Return this call as advice repeats it: with everything that decides about versions."""
    words = [flag for flag, given in flags.items() if given]
    words += layout_words(layouts)
    words += given_words(click.get_current_context())
    return LockCall(tuple(map(str, folders)), tuple(packages), tuple(words))


def _check_usage(how: CommitOptions, *, commits: bool, check: bool) -> None:
    if how.given and not commits:
        raise click.UsageError("the options for committing need --commit")
    if commits and check:
        raise click.UsageError(
            "--check writes nothing that could be committed: leave out --check or --commit"
        )


def _open_committer(
    output: Output, how: CommitOptions, folders: Sequence[Path], operator: OperatorSettings
) -> "Committer":
    # Imported late, here and below: GitPython takes long to import.
    from render.app.commits.committer import open_committer

    opened = open_committer(output, how, folders, operator)
    return click.get_current_context().with_resource(opened)
