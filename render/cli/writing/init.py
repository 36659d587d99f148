"""xplock init: a scaffold to start from."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from render.app.scaffold.demo import scaffold_demo
from render.app.scaffold.files import File, ScaffoldReport
from render.app.scaffold.pieces import CI_SERVERS, PROMOTIONS, SAMPLE, Extras
from render.app.scaffold.scaffold import scaffold_fleet, scaffold_install, scaffold_project
from render.cli.operator_options import operator_settings
from render.cli.options import output_option
from render.cli.output import Output
from render.system.boundary import real_path
from render.texts import visible

_SHARED = ("repository", "image", "force")
# The options that say something about a kind of scaffold.
_OPTIONS = {
    "a project": ("name", "path", "ci", "hydrate", "renovate", "cron_job", "promote", "origin", *_SHARED),
    "--argocd": ("commit_to", *_SHARED),
    "--applicationset": ("name", "path", "shards", *_SHARED),
    "--demo": (),
}


@click.command(
    epilog="Examples: xplock init; xplock init clusters/production --ci github --renovate; "
    "xplock init clusters/production --promote actions --promote-from clusters/staging; "
    "xplock init clusters --applicationset --shards 4; xplock init --argocd argocd/xplock; xplock init --demo demo"
)
@click.argument("folder", metavar="[DIR]", default=Path(), type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--argocd",
    is_flag=True,
    help="Instead, write the install for one Argo CD into DIR: the plugin, its sidecar, health checks.",
)
@click.option(
    "--demo", is_flag=True, help="Instead, write a project whose packages need no registry into DIR."
)
@click.option(
    "--applicationset",
    is_flag=True,
    help="Instead, write an ApplicationSet for all project folders below DIR, which rolls a commit out from one "
    "environment to the next.",
)
@click.option("--name", metavar="NAME", help="The Application's name, instead of the folder's.")
@click.option("--repo", "repository", metavar="URL", help="The repository, instead of git's remote origin.")
@click.option("--path", metavar="PATH", help="The folder's path in the repository, instead of where it is.")
@click.option("--image", metavar="REF", help="The image that xplock runs in, which you have built.")
@click.option(
    "--hydrate",
    is_flag=True,
    help="Use Argo CD's source hydrator: rendered manifests go to a branch of their own.",
)
@click.option("--ci", type=click.Choice(CI_SERVERS), help="Also write a job for this CI server.")
@click.option(
    "--renovate", is_flag=True, help="Also write a configuration for Renovate, which locks what it upgrades."
)
@click.option("--cron-job", is_flag=True, help="Also write a CronJob that locks and pushes.")
@click.option(
    "--promote",
    type=click.Choice(PROMOTIONS),
    help="Also write what proposes the versions of another folder here: a workflow, or objects for Kargo or gitops-promoter.",
)
@click.option(
    "--promote-from",
    "origin",
    metavar="DIR",
    help="The folder whose versions come here, such as clusters/staging.",
)
@click.option(
    "--shards",
    type=click.IntRange(2, 256),
    metavar="N",
    help="With --applicationset: also write an Indexed CronJob and a workflow that lock the projects in N parts.",
)
@click.option(
    "--commit-to",
    metavar="BRANCH",
    help="With --argocd: let the plugin commit a lock that is missing or out of date to this branch.",
)
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
    argocd: bool,
    demo: bool,
    applicationset: bool,
    dry_run: bool,
    form: str,
    **given: Any,
) -> None:
    """Write the first files of a project into DIR: a sample, an Argo CD Application and a pre-commit hook.

    Files that belong to the top of a repository, such as .pre-commit-config.yaml, are written there. Without --force,
    files that exist stay as they are; those at the top always do, and the lines to add to them are printed.
    """
    kinds = {"--argocd": argocd, "--demo": demo, "--applicationset": applicationset}
    kind = _check_options(given, [option for option, chosen in kinds.items() if chosen])
    report = _scaffold(kind, folder, given, dry_run=dry_run)
    if form == "json":
        output.result_json(_report_document(folder, report, dry_run=dry_run))
    elif output.verbosity >= 0:
        output.result(_format_report(folder, report, dry_run=dry_run))
    if demo and not dry_run:
        output.say(f"next: xplock lock {_quoted(folder)} && xplock render {_quoted(folder)}")
    if demo:
        return
    _name_same(output, report)
    _name_examples(output, folder, report, given, argocd=argocd)
    for path, file in report.lacking.items():
        _advise(output, path, file)


def _check_options(given: dict[str, Any], chosen: Sequence[str]) -> str:
    """Return the kind of scaffold; raise for an option of another kind."""
    if len(chosen) > 1:
        raise click.UsageError(f"{' and '.join(chosen)} exclude each other")
    kind = chosen[0] if chosen else "a project"
    used = [_option(name) for name, value in given.items() if value and name not in _OPTIONS[kind]]
    if used:
        raise click.UsageError(f"{', '.join(used)}: not an option of {kind}")
    if given["origin"] and not given["promote"]:
        raise click.UsageError("--promote-from needs --promote")
    return kind


def _option(name: str) -> str:
    known = {"repository": "--repo", "origin": "--promote-from"}
    return known.get(name) or f"--{name.replace('_', '-')}"


def _scaffold(kind: str, folder: Path, given: dict[str, Any], *, dry_run: bool) -> ScaffoldReport:
    limits = operator_settings().limits
    if kind == "--demo":
        return scaffold_demo(folder, limits, dry_run=dry_run)
    force, shards = given.pop("force"), given.pop("shards")
    extras = Extras(**{name: given.pop(name) for name in Extras._fields})
    if kind == "--argocd":
        return scaffold_install(folder, given, limits, force=force, dry_run=dry_run)
    if kind == "--applicationset":
        return scaffold_fleet(folder, given, limits, shards=shards, force=force, dry_run=dry_run)
    # A promotion by gitops-promoter is between branches, which the hydrator writes.
    extras = extras._replace(hydrate=extras.hydrate or extras.promote == "gitops-promoter")
    return scaffold_project(folder, given, extras, limits, force=force, dry_run=dry_run)


def _name_same(output: Output, report: ScaffoldReport) -> None:
    """Warn of two Applications with one name: in one Argo CD, each would replace the other."""
    if report.same_name is None:
        return
    name = report.choices.name
    if report.renamed:
        output.warn(
            f"{report.same_name} has the name of this folder already, so the Application here is {name}; "
            "to choose another name: --name NAME"
        )
    else:
        output.warn(
            f"{report.same_name} is called {name} as well, and one Argo CD has room for one of them; choose another --name"
        )


def _name_examples(
    output: Output, folder: Path, report: ScaffoldReport, given: dict[str, Any], *, argocd: bool
) -> None:
    """Say which values are examples, and what to do about them."""
    choices = report.choices
    if given["repository"] is None and not report.knows_repository and (not argocd or choices.commit_to):
        output.warn(
            f"git has no remote with a URL for others; {choices.repository} is an example: --repo URL"
        )
    if given["image"] is None and any(
        choices.image.encode() in report.files[path].data for path in report.written
    ):
        output.say(f"{choices.image} is an example: build the image, and name yours with --image REF")
    if folder / SAMPLE in report.written:
        output.say(
            f"{folder / SAMPLE} is an example: replace it by what you want, then run: xplock lock {_quoted(folder)}"
        )
    if argocd and report.written:
        output.say(
            f"name {folder} and {folder / 'health'} below `components` in the kustomization of your Argo CD"
        )


def _quoted(folder: Path) -> str:
    return shlex.quote(str(folder))


def _advise(output: Output, path: Path, file: File) -> None:
    where = f"add below its {file.below}" if file.below else "add to it"
    output.say(f"{path} stays as it is; for this folder, {where}:")
    for line in file.part.splitlines():
        output.say(line)


def _format_report(folder: Path, report: ScaffoldReport, *, dry_run: bool) -> str:
    own = real_path(folder)
    lines = [
        f"{'Would write' if dry_run else 'Wrote   '} {path}"
        f"{'' if real_path(path).is_relative_to(own) else ' (at the top of the repository)'}"
        for path in report.written
    ]
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
