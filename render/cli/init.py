"""xplock init: a scaffold to start from."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import click

from render.app.scaffold import (
    CI_SERVERS,
    SAMPLE,
    Choices,
    File,
    ScaffoldReport,
    check_choices,
    choose_pieces,
    place_files,
    write_scaffold,
)
from render.cli.options import output_option
from render.cli.output import Output
from render.git.failures import GitMissing, NotARepository
from render.git.repository import Repository, locate_folder
from render.git.temporary import InvalidUrl, check_url
from render.inputs.folders import list_yaml_files
from render.limits import Limits
from render.names import dns_label
from render.system.files import is_folder
from render.texts import visible


class _Surroundings(NamedTuple):
    """The top of the repository that a folder is in, the folder's path from there, its name, and the remote's URL."""

    top: Path
    path: str
    name: str | None
    url: str | None


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
    help="Apply by way of Argo CD's source hydrator: what is rendered goes to a branch of its own.",
)
@click.option("--ci", type=click.Choice(CI_SERVERS), help="Also write a job for this CI server.")
@click.option(
    "--force", is_flag=True, help="Replace files that are there already, but for those that others share."
)
@click.option("--dry-run", is_flag=True, help="Write nothing; tell what would be written.")
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
    """Write what a project starts with into DIR: a sample, an Argo CD Application, the plugin's sidecar, a CronJob.

    What belongs to the top of a repository, such as .pre-commit-config.yaml, is written there. Files that exist are
    left as they are without --force, and those at the top always: what to add to them is printed.
    """
    limits = Limits.from_environment(os.environ)
    around = _look_around(folder, limits)
    choices = _choose(around, given)
    check_choices(choices)
    # A sample beside what the folder asks for already would be installed as well.
    sample = not (is_folder(folder) and list_yaml_files(folder, limits))
    pieces = choose_pieces(choices, ci, sample=sample, hydrate=hydrate)
    files = place_files(pieces, choices, folder, around.top)
    report = write_scaffold(files, force=force, dry_run=dry_run)
    if not sample:
        report = replace(report, left={folder / SAMPLE: "the folder has manifests already", **report.left})
    if form == "json":
        output.result_json(_report_document(folder, report, dry_run=dry_run))
    elif output.verbosity >= 0:
        output.result(_format_report(report, dry_run=dry_run))
    if given["repository"] is None and around.url is None:
        output.warn(
            f"no remote tells where the repository is; {choices.repository} is an example: --repo URL"
        )
    if given["image"] is None and report.written:
        output.say(f"{choices.image} is an example: build the image, and name yours with --image REF")
    if folder / SAMPLE in report.written:
        output.say(
            f"{folder / SAMPLE} is an example: replace it by what you want, then run: xplock lock {folder}"
        )
    for path, file in report.lacking.items():
        _advise(output, path, file)


def _look_around(folder: Path, limits: Limits) -> _Surroundings:
    here = Path(os.path.realpath(folder))
    # The folder may be one that is still to be made.
    existing = next(path for path in (here, *here.parents) if is_folder(path))
    name = dns_label(here.name.lower()) or None
    try:
        repository = locate_folder(existing, limits).repository
    except (NotARepository, GitMissing):
        return _Surroundings(folder, ".", name, None)
    path = here.relative_to(repository.root).as_posix()
    return _Surroundings(Path(os.path.relpath(repository.root)), path, name, _find_url(repository))


def _find_url(repository: Repository) -> str | None:
    """Return the URL of the remote, if others can use it, and without anybody's user name and password."""
    answer = repository.ask("config", "--get", "remote.origin.url")
    url = answer.output.decode(errors="replace").strip()
    try:
        parts = urlsplit(url)
        if parts.scheme == "https":
            url = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        check_url(url)
    except (InvalidUrl, ValueError):
        return None
    return url


def _choose(around: _Surroundings, given: Mapping[str, str | None]) -> Choices:
    """Return what was said, else what was found, else the example."""
    found = {"name": around.name, "repository": around.url, "path": around.path}
    known = [*found.items(), *given.items()]
    choices = replace(Choices(), **{key: value for key, value in known if value is not None})
    return replace(choices, path=PurePosixPath(choices.path).as_posix())


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
