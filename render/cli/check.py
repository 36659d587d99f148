"""xplock check: what is wrong with folders and their locks, without asking anybody."""

import os
from pathlib import Path

import click

from render.checks.reading import read_checked
from render.checks.report import findings_document, format_findings
from render.checks.rules import find_findings
from render.cli.options import folders_argument, output_option
from render.cli.output import Output
from render.limits import Limits


@click.command(epilog="Example: xplock check clusters/*/*")
@folders_argument
@click.option(
    "--same-cluster",
    is_flag=True,
    help="All folders are of one cluster, although they do not use each other: none may render what another does.",
)
@output_option("text", "json")
@click.pass_context
def check(context: click.Context, folders: tuple[Path, ...], same_cluster: bool, form: str) -> None:
    """Check each DIR and its lock, and what folders of one cluster have to do with each other.

    Neither network nor git is used. Folders are of one cluster if they are connected by `uses`. The exit code is that
    of the gravest finding: 2 what cannot be read, 3 what is missing or out of date, 4 what cannot be together.
    """
    output: Output = context.obj
    limits = Limits.from_environment(os.environ)
    checked = read_checked(folders, limits, os.environ, same_cluster=same_cluster)
    findings = find_findings(checked)
    if form == "json":
        output.result_json(findings_document(findings))
    else:
        output.result(format_findings(findings, len(checked.folders)))
    context.exit(max((finding.exit_code for finding in findings), default=0))
