"""xplock check: what is wrong with folders and their locks, offline."""

from pathlib import Path

import click
from click.core import ParameterSource

from render.app.check import CheckResult, Since, check_folders
from render.checks.formats import (
    count_findings,
    findings_document,
    format_annotations,
    format_findings,
    sarif_document,
)
from render.cli.operator_options import POLICY, OperatedCommand, operator_settings
from render.cli.options import folders_argument, output_option
from render.cli.output import Output
from render.definitions.rules import RISKS, Risk


@click.command(
    cls=OperatedCommand,
    settings=(POLICY,),
    epilog="Examples: xplock check clusters/*/*; xplock check -o sarif clusters/* > xplock.sarif; "
    "xplock check --in-order dev staging production; xplock check --since origin/main clusters/*",
)
@folders_argument
@click.option(
    "--same-cluster",
    is_flag=True,
    help="All folders are of one cluster, although they do not use each other: none may render what another does.",
)
@click.option(
    "--in-order",
    is_flag=True,
    help="Each DIR is an environment, and versions come from the one before it, instead of the order in `environments` "
    "of xplock.yaml.",
)
@click.option(
    "--since",
    metavar="REVISION",
    help="Also find upgrades since a Git revision that definitions make unsafe, by what is cached or in a layout.",
)
@click.option(
    "--fail-on",
    type=click.Choice([risk.value for risk in RISKS]),
    default=Risk.BLOCKED.value,
    show_default=True,
    help="With --since: the mildest class that is a finding.",
)
@output_option("text", "json", "sarif", "github")
@click.pass_context
def check(
    context: click.Context,
    folders: tuple[Path, ...],
    same_cluster: bool,
    in_order: bool,
    since: str | None,
    fail_on: str,
    form: str,
) -> None:
    """Check each DIR and its lock, and the folders of one cluster against each other.

    Neither network nor, but for --since, git is used. Folders are of one cluster if they are connected by `uses`. The exit code is that
    of the gravest finding: 2 invalid, 3 missing or out of date, 4 contradicting each other. Every finding names its
    rule, which `xplock explain RULE` explains. -o sarif is for code scanning, -o github annotates the lines of a pull
    request from a workflow; both name files from the current folder.
    """
    given = context.get_parameter_source("fail_on") is not ParameterSource.DEFAULT
    if given and since is None:
        raise click.UsageError("--fail-on needs --since: a single commit has no upgrades", context)
    result = check_folders(
        folders,
        operator_settings(),
        same_cluster=same_cluster,
        in_order=in_order,
        since=Since(since, Risk(fail_on)) if since is not None else None,
        reporter=context.obj,
    )
    # On stderr whatever the form of the result: nothing is wrong with the folders.
    for note in result.notes:
        context.obj.say(note)
    _write(result, context.obj, form)
    if result.unknown and not result.exit_code:
        raise result.unknown
    if result.unknown:
        context.obj.say(str(result.unknown))
    context.exit(result.exit_code)


def _write(result: CheckResult, output: Output, form: str) -> None:
    findings, folders = result.findings, result.folders
    match form:
        case "json":
            output.result_json(findings_document(findings))
        case "sarif":
            output.result_json(sarif_document(findings))
        case "github":
            output.result(f"{format_annotations(findings)}{count_findings(findings, folders)}\n")
        case _:
            output.result(format_findings(findings, folders, output.stand_out))
