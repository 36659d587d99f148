"""xplock init: a scaffold to start from."""

from pathlib import Path
from typing import Any

import click

from render.app.scaffold import CI_SERVERS, SAMPLE, File, ScaffoldReport, scaffold
from render.cli.operator_options import operator_settings
from render.cli.options import output_option
from render.cli.output import Output
from render.texts import visible


@click.command(
    epilog="Examples: xplock init; xplock init clusters/production --ci github; "
    "xplock init --repo https://git.example.org/acme/platform.git --path clusters/production --dry-run"
)
@click.argument("folder", metavar="[DIR]", default=Path(), type=click.Path(file_okay=False, path_type=Path))
@click.option("--name", metavar="NAME", help="The Application's name, instead of the folder's.")
@click.option("--repo", "repository", metavar="URL", help="The repository, instead of git's remote origin.")
@click.option("--path", metavar="PATH", help="The folder's path in the repository, instead of where it is.")
@click.option("--image", metavar="REF", help="The image that xplock runs in, which you have built.")
@click.option(
    "--commit-to",
    metavar="BRANCH",
    help="Let the plugin commit a lock that is missing or out of date to this branch.",
)
@click.option(
    "--hydrate",
    is_flag=True,
    help="Use Argo CD's source hydrator: rendered manifests go to a branch of their own.",
)
@click.option("--ci", type=click.Choice(CI_SERVERS), help="Also write a job for this CI server.")
@click.option(
    "--force", is_flag=True, help="Replace files that exist already, except those shared with others."
)
@click.option("--dry-run", is_flag=True, help="Write nothing; print what would be written.")
@output_option("text", "json")
@click.pass_obj
def init(
    output: Output,
    /,
    folder: Path,
    ci: str | None,
    hydrate: bool,
    force: bool,
    dry_run: bool,
    form: str,
    **given: str | None,
) -> None:
    """Write the first files of a project into DIR: a sample, an Argo CD Application, the plugin's sidecar, a CronJob.

    Files that belong to the top of a repository, such as .pre-commit-config.yaml, are written there. Without --force,
    files that exist stay as they are; those at the top always do, and the lines to add to them are printed.
    """
    limits = operator_settings().limits
    report = scaffold(folder, given, limits, ci=ci, hydrate=hydrate, force=force, dry_run=dry_run)
    if form == "json":
        output.result_json(_report_document(folder, report, dry_run=dry_run))
    elif output.verbosity >= 0:
        output.result(_format_report(report, dry_run=dry_run))
    if given["repository"] is None and not report.knows_repository:
        output.warn(
            f"git has no remote with a URL for others; {report.choices.repository} is an example: --repo URL"
        )
    if given["image"] is None and report.written:
        output.say(f"{report.choices.image} is an example: build the image, and name yours with --image REF")
    if folder / SAMPLE in report.written:
        output.say(
            f"{folder / SAMPLE} is an example: replace it by what you want, then run: xplock lock {folder}"
        )
    for path, file in report.lacking.items():
        _advise(output, path, file)


def _advise(output: Output, path: Path, file: File) -> None:
    where = f"add below its {file.below}" if file.below else "add to it"
    output.say(f"{path} stays as it is; for this folder, {where}:")
    for line in file.part.splitlines():
        output.say(line)


def _format_report(report: ScaffoldReport, *, dry_run: bool) -> str:
    lines = [f"{'Would write' if dry_run else 'Wrote   '} {path}" for path in report.written]
    lines += [f"Left     {path} ({why})" for path, why in report.left.items()]
    return "".join(f"{visible(line)}\n" for line in lines)


def _report_document(folder: Path, report: ScaffoldReport, *, dry_run: bool) -> dict[str, Any]:
    return {
        "folder": str(folder),
        "dryRun": dry_run,
        "written": [str(path) for path in report.written],
        "left": [
            {
                "path": str(path),
                "why": why,
                "add": report.lacking[path].part if path in report.lacking else None,
            }
            for path, why in report.left.items()
        ],
    }
