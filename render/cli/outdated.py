"""xplock outdated: which locked packages have newer versions."""

from collections.abc import Sequence
from pathlib import Path

import click

from render.app.upstream import find_outdated
from render.cli.operator_options import CACHE, REGISTRIES, OperatedCommand, operator_settings
from render.cli.options import folder_argument, layout_option, output_option
from render.cli.output import Output
from render.errors import Differs
from render.texts import counted
from render.views.outdated import Standing, format_standings, standings_document


@click.command(
    cls=OperatedCommand,
    settings=(*CACHE, *REGISTRIES),
    epilog="Example: xplock outdated platform/ --exit-code",
)
@folder_argument
@click.option(
    "--all", "everything", is_flag=True, help="List every package, also those without anything newer."
)
@click.option(
    "--exit-code", is_flag=True, help=f"Leave with {Differs.exit_code} if something newer suits everyone."
)
@layout_option
@output_option("text", "json")
@click.pass_context
def outdated(
    context: click.Context,
    folder: Path,
    everything: bool,
    exit_code: bool,
    layouts: list[tuple[str, Path]],
    form: str,
) -> None:
    """Show which packages locked in DIR have newer versions in their registries.

    WANTED is the newest version that you and every dependant accept, LATEST the newest of all. STEP is the
    size of the step to WANTED and, where that is larger, to LATEST. HELD BACK BY lists who does not accept
    LATEST. Prereleases count only where a constraint allows them. Leaving packages are not listed: they
    keep their version until they are retired.
    """
    output: Output = context.obj
    standings = find_outdated(folder, layouts, operator_settings(), output)
    shown = [standing for standing in standings if everything or standing.is_outdated]
    if form == "json":
        output.result_json(standings_document(shown))
    else:
        output.result(format_standings(shown))
    output.say(_summary(standings))
    if exit_code and any(standing.newer_within for standing in standings):
        context.exit(Differs.exit_code)


def _summary(standings: Sequence[Standing]) -> str:
    behind = sum(standing.is_outdated for standing in standings)
    unknown = sum(standing.locked is None for standing in standings)
    text = f"something newer for {behind:,} of {counted(len(standings), 'package')}"
    return f"{text}; {unknown:,} locked without a version to compare" if unknown else text
