"""xplock outdated: which locked packages have newer versions."""

from collections.abc import Sequence
from pathlib import Path

import click

from render.app.upstream import find_outdated
from render.app.world import open_world
from render.cli.each import for_each, format_folders
from render.cli.operator_options import CACHE, REGISTRIES, OperatedCommand, operator_settings
from render.cli.options import folders_argument, has_one_folder, layout_option, offline_option, output_option
from render.cli.output import Output
from render.errors import Differs
from render.texts import counted
from render.views.outdated import Standing, format_standings, standings_document


@click.command(
    cls=OperatedCommand,
    settings=(*CACHE, *REGISTRIES),
    epilog="Examples: xplock outdated platform/ --exit-code; xplock outdated --definitions",
)
@folders_argument
@click.option(
    "--all", "everything", is_flag=True, help="List every package, also those without anything newer."
)
@click.option(
    "--exit-code", is_flag=True, help=f"Leave with {Differs.exit_code} if something newer suits everyone."
)
@click.option(
    "--definitions",
    is_flag=True,
    help="For each upgrade that is available now, count the definitions that it hits, by class; this reads the packages.",
)
@layout_option
@offline_option
@output_option("text", "json")
@click.pass_context
def outdated(
    context: click.Context,
    folders: tuple[Path, ...],
    everything: bool,
    exit_code: bool,
    definitions: bool,
    layouts: list[tuple[str, Path]],
    offline: bool,
    form: str,
) -> None:
    """Show which packages locked in each DIR have newer versions in their registries.

    What can be upgraded now has a newer version that you and every dependant accept: `xplock upgrade` chooses it. What
    is held back has one that is newer still, with those who do not accept it, and the versions that they do; -v lists
    all of them. STEP is the size of the step. Prereleases count only where a constraint allows them. Leaving packages are not listed: they
    keep their version until they are retired.

    With --definitions, what can be upgraded now has the number of definitions that the upgrade by itself changes, for
    each class of `xplock diff`: blocked, lost, writers and note.
    """
    output: Output = context.obj
    world = open_world(operator_settings(), output)

    def find(folder: Path) -> list[Standing]:
        return find_outdated(folder, layouts, world, output, offline=offline, definitions=definitions)

    each = for_each(folders, find, output)
    shown = [(folder, _shown(rows, everything=everything)) for folder, rows in each.found]
    single = has_one_folder(context, folders)
    if form == "json":
        documents = each.documents(lambda rows: standings_document(_shown(rows, everything=everything)))
        output.result_json(standings_document(shown[0][1]) if single else documents)
    else:
        everyone = output.verbosity > 0
        texts = [(folder, format_standings(rows, everyone=everyone)) for folder, rows in shown]
        output.report(texts[0][1] if single else format_folders(texts))
    standings = [standing for _, rows in each.found for standing in rows]
    output.say(_summary(standings, offline=offline))
    differs = exit_code and any(standing.newer_within for standing in standings)
    context.exit(max(each.worst, Differs.exit_code if differs else 0))


def _shown(rows: Sequence[Standing], *, everything: bool) -> list[Standing]:
    return [one for one in rows if everything or one.is_outdated]


def _summary(standings: Sequence[Standing], *, offline: bool) -> str:
    behind = sum(standing.is_outdated for standing in standings)
    unknown = sum(standing.locked is None for standing in standings)
    parts = [f"something newer for {behind:,} of {counted(len(standings), 'package')}"]
    parts += [f"{unknown:,} locked without a version to compare"] if unknown else []
    # Only the versions whose packages are cached are known then.
    parts += ["registries were not asked, and may have more"] if offline else []
    return "; ".join(parts)
