"""xplock versions: what a registry offers of a package."""

from collections.abc import Sequence
from pathlib import Path

import click

from render.app.upstream import find_versions
from render.cli.operator_options import CACHE, REGISTRIES, OperatedCommand, operator_settings
from render.cli.options import folder_argument, layout_option, output_option
from render.cli.output import Output
from render.texts import counted
from render.views.versions import format_versions, versions_document


@click.command(
    cls=OperatedCommand,
    settings=(*CACHE, *REGISTRIES),
    epilog="Examples: xplock versions xpkg.example.org/acme/provider-store; xplock versions provider-store platform/ --pre",
)
@click.argument("source", metavar="SRC")
@folder_argument
@click.option("--pre", "prereleases", is_flag=True, help="List prereleases as well.")
@layout_option
@output_option("text", "json")
@click.pass_obj
def versions(
    output: Output,
    source: str,
    folder: Path,
    prereleases: bool,
    layouts: Sequence[tuple[str, Path]],
    form: str,
) -> None:
    """List the versions that the registry of SRC has, newest first.

    If DIR has locked SRC, the locked version is marked, each other one has the size of the step to it, and the last
    components of SRC are enough. Tags that are no versions are counted.
    """
    offered = find_versions(source, folder, layouts, operator_settings(), output)
    shown = offered.releases if not prereleases else offered.versions
    if form == "json":
        output.result_json(versions_document(offered, shown))
    else:
        output.result(format_versions(offered, shown))
    hidden = len(offered.versions) - len(shown)
    if hidden:
        output.say(f"{counted(hidden, 'prerelease')} not listed; --pre lists them")
    if offered.others:
        output.say(
            f"{counted(offered.others, 'tag')} that {'is no version' if offered.others == 1 else 'are no versions'}"
        )
