"""xplock upgrade: `lock -U` and `lock -P` by the word that people try."""

from typing import Any

import click

from render.cli.operator_options import CACHE, GIT_TOKEN, POLICY, REGISTRIES, TRUSTED_ROOT, OperatedCommand
from render.cli.options import (
    commit_options,
    default_folder,
    layout_option,
    offline_option,
    output_option,
)
from render.cli.writing.lock import lock


@click.command(
    cls=OperatedCommand,
    settings=(POLICY, TRUSTED_ROOT, *CACHE, *REGISTRIES, GIT_TOKEN),
    epilog="Examples: xplock upgrade; xplock upgrade provider-store=v1.2.0; xplock upgrade -C platform --dry-run",
)
@click.argument("packages", nargs=-1, metavar="[SRC[=VERSION]]...")
@click.option("--dry-run", is_flag=True, help="Write nothing; print what would change.")
@offline_option
@click.option(
    "--allow-downgrade",
    is_flag=True,
    help="Accept another version, a lower one too, where the locked one is no longer offered.",
)
@click.option("--commit", "commits", is_flag=True, help="Then commit the locks, as `xplock commit` does.")
@commit_options
@layout_option
@output_option("text", "json")
@click.pass_context
def upgrade(context: click.Context, /, packages: tuple[str, ...], **options: Any) -> None:
    """Let each SRC move to the newest version that fits, or to VERSION; without SRC, let everything move.

    This is `xplock lock -P SRC` and `xplock lock -U`. What a manifest asks for by an exact tag stays: edit the tag.
    """
    context.invoke(
        lock, packages=packages, everything=not packages, folders=(default_folder(context),), **options
    )
