"""xplock remove: ask for one package less, and lock what is left."""

from collections.abc import Sequence
from pathlib import Path

import click

from render.cli.operator_options import (
    CACHE,
    POLICY,
    REGISTRIES,
    TRUSTED_ROOT,
    OperatedCommand,
    operator_settings,
)
from render.cli.options import folder_argument, layout_option, offline_option, output_option
from render.cli.output import Output
from render.cli.writing.root_changes import locking, write_root_change


@click.command(
    cls=OperatedCommand,
    settings=(POLICY, TRUSTED_ROOT, *CACHE, *REGISTRIES),
    epilog="Examples: xplock remove provider-store; xplock remove provider-net platform/ --dry-run",
)
@click.argument("source", metavar="SRC")
@folder_argument
@click.option("--dry-run", is_flag=True, help="Write nothing; print what would change.")
@offline_option
@layout_option
@output_option("text", "json")
@click.pass_obj
def remove(
    output: Output,
    source: str,
    folder: Path,
    dry_run: bool,
    offline: bool,
    layouts: Sequence[tuple[str, Path]],
    form: str,
) -> None:
    """Take the manifest that asks for SRC out of DIR, and lock what is left.

    What is installed stays: a package that nothing requires any more is leaving, and `xplock retire` removes it. The
    last components of SRC are enough if only one package ends with them.
    """
    from render.app.roots import plan_removal

    resolver = locking(operator_settings(), output, layouts, offline=offline)
    change = plan_removal(resolver, folder, source)
    write_root_change(change, resolver, output, form, dry_run=dry_run)
