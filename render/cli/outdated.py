"""xplock outdated: which locked packages have newer versions."""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from render.app.world import open_world
from render.cli.locked import folder_argument, read_whole_lock
from render.cli.operator_options import CACHE, REGISTRIES, OperatedCommand
from render.cli.options import layout_option, output_option
from render.cli.output import Output
from render.errors import Differs
from render.inputs.projects import read_inputs
from render.references import Source
from render.texts import counted
from render.views.outdated import (
    Standing,
    find_standings,
    format_standings,
    standings_document,
    wanted_packages,
)


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
    lock = read_whole_lock(folder)
    world = open_world(os.environ, warn=output.warn, trace=output.trace)
    inputs = read_inputs(folder, world.limits, os.environ)
    catalog = world.catalog([*layouts, *inputs.settings.layouts], inputs.rewrites)
    sources = [package.source for package in wanted_packages(lock)]
    with output.busy(f"asking for the tags of {counted(len(sources), 'package')}"):
        tags = fetch_tags(sources, catalog.tags, parallel=world.limits.parallel)
    standings = find_standings(lock, tags, follow_families=inputs.settings.families == "follow")
    shown = [standing for standing in standings if everything or standing.is_outdated]
    if form == "json":
        output.result_json(standings_document(shown))
    else:
        output.result(format_standings(shown))
    output.say(_summary(standings))
    if exit_code and any(standing.newer_within for standing in standings):
        context.exit(Differs.exit_code)


def fetch_tags(
    sources: Iterable[Source], fetch: Callable[[Source], Sequence[str]], *, parallel: int
) -> dict[Source, Sequence[str]]:
    """Ask for the tags of all sources, side by side; of several failures the first in order is raised."""
    pool = ThreadPoolExecutor(parallel, thread_name_prefix="xplock-tags")
    try:
        asked = {source: pool.submit(fetch, source) for source in sources}
        return {source: future.result() for source, future in asked.items()}
    finally:
        pool.shutdown(cancel_futures=True)


def _summary(standings: Sequence[Standing]) -> str:
    behind = sum(standing.is_outdated for standing in standings)
    unknown = sum(standing.locked is None for standing in standings)
    text = f"something newer for {behind:,} of {counted(len(standings), 'package')}"
    return f"{text}; {unknown:,} locked without a version to compare" if unknown else text
