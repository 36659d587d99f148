"""xplock render: manifests from the lock."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from render.app.operator_settings import OperatorSettings
from render.app.render import render_folder
from render.cli.operator_options import (
    CACHE,
    POLICY,
    REGISTRIES,
    TRUSTED_ROOT,
    OperatedCommand,
    given_settings,
    operator_settings,
)
from render.cli.options import folder_argument, layout_option, offline_option, output_option
from render.cli.output import Output
from render.manifests.out_folder import FolderReport, write_folder
from render.manifests.text import format_json, format_yaml
from render.system.boundary import real_path
from render.texts import counted

if TYPE_CHECKING:
    from render.app.resolving.resolver import Resolver


@click.command(
    cls=OperatedCommand,
    settings=(POLICY, TRUSTED_ROOT, *CACHE, *REGISTRIES),
    epilog="Examples: xplock render | kubectl apply -f -; xplock render platform/ --out rendered; "
    "xplock render --resolve",
)
@folder_argument
@click.option(
    "--out",
    "target",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Write one file per object and a kustomization.yaml that lists them; -o json then lists the files.",
)
@click.option(
    "--resolve", is_flag=True, help="Resolve as lock would, render that, and write no lock: a dry run."
)
@offline_option
@layout_option
@output_option("yaml", "json")
@click.pass_obj
def render(
    output: Output,
    folder: Path,
    target: Path | None,
    resolve: bool,
    offline: bool,
    layouts: list[tuple[str, Path]],
    form: str,
) -> None:
    """Render what is locked in DIR: the packages, pinned, and every other object of the folder.

    Neither network nor git is used. A lock that is missing or out of date is an error.
    --offline, --layout and the operator's settings but --policy are for --resolve.
    """
    asking = given_settings(click.get_current_context()).keys() - {POLICY.variable}
    if (offline or layouts or asking) and not resolve:
        raise click.UsageError("--offline, --layout and the operator's settings need --resolve")
    if target is not None and real_path(target) == real_path(folder):
        raise click.BadParameter("it is the folder that is rendered", param_hint="'--out'")
    operator = operator_settings()
    if resolve:
        objects = _resolver(operator, output, layouts, offline=offline).render(folder)
    else:
        objects = render_folder(folder, operator)
    if target is None:
        output.result(format_json(objects) if form == "json" else format_yaml(objects))
        return
    report = write_folder(target, objects, operator.limits)
    if form == "json":
        output.result_json(_report_document(target, report))
    else:
        output.say(_format_report(target, report))


def _resolver(
    operator: OperatorSettings, output: Output, layouts: list[tuple[str, Path]], *, offline: bool
) -> "Resolver":
    # Imported late: rendering a lock needs no solver.
    from render.app.resolving.resolver import Resolver

    return Resolver(operator, output, layouts, offline=offline, in_memory=True)


def _format_report(target: Path, report: FolderReport) -> str:
    written, unchanged, removed = map(len, (report.written, report.unchanged, report.removed))
    return f"{target}: {counted(written, 'file')} written, {unchanged:,} unchanged, {removed:,} removed"


def _report_document(target: Path, report: FolderReport) -> dict[str, Any]:
    return {
        "folder": str(target),
        "written": report.written,
        "unchanged": report.unchanged,
        "removed": report.removed,
    }
