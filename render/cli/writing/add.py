"""xplock add: ask for one package more, and lock it."""

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
    epilog="Examples: xplock add xpkg.example.org/acme/provider-store; "
    "xplock add 'xpkg.example.org/acme/provider-net@>=v1.2' platform/",
)
@click.argument("wanted", metavar="SRC[@VERSION]")
@folder_argument
@click.option("--file", metavar="NAME", help="The file for the manifest; an existing one gets it at its end.")
@click.option("--dry-run", is_flag=True, help="Write nothing; print what would change.")
@offline_option
@layout_option
@output_option("text", "json")
@click.pass_obj
def add(
    output: Output,
    wanted: str,
    folder: Path,
    file: str | None,
    dry_run: bool,
    offline: bool,
    layouts: Sequence[tuple[str, Path]],
    form: str,
) -> None:
    """Write a manifest into DIR that asks for SRC, and lock what it needs.

    VERSION is a tag, a digest or a range like '>=v1.2 <v2'; without it, the newest version that suits everyone is
    asked for. The kind comes from the package, and the name is the one that Crossplane would give it. Of a package
    that is locked already the last components are enough; it then stays when nothing else requires it.
    """
    from render.app.roots import plan_addition

    resolver = locking(operator_settings(), output, layouts, offline=offline)
    change = plan_addition(resolver, folder, wanted, file=file)
    write_root_change(change, resolver, output, form, dry_run=dry_run)
