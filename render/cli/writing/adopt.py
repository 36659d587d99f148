"""xplock adopt: from a running cluster to a folder that changes nothing in it."""

from pathlib import Path
from typing import BinaryIO

import click

from render.app.adopting.adopt import adopt as adopt_cluster
from render.app.adopting.choices import AdoptChoices, parse_take
from render.app.adopting.folder import check_files, write_files
from render.app.live_input import LiveInput, read_cluster
from render.app.resolving.resolver import Resolver
from render.cli.operator_options import operator_settings
from render.cli.options import layout_option, live_options, offline_option, output_option
from render.cli.output import Output
from render.settings import SETTINGS_FILE, PinMode
from render.system.files import LOCK_FILE
from render.views.adoption import adoption_document, adoption_hints, format_adoption


@click.command(
    epilog="Examples: xplock adopt --to platform; xplock adopt --to platform cluster.yaml; "
    "xplock adopt --to platform --context staging --save cluster.json --dry-run"
)
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.File("rb"))
@click.option(
    "--to",
    "folder",
    required=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="The project folder to write; one that exists only gets what it lacks.",
)
@live_options
@click.option(
    "--pin",
    type=click.Choice([PinMode.TAG.value, PinMode.DIGEST.value]),
    help="How a new folder pins packages. By default as the cluster does, which changes nothing there: by tag, unless "
    "all have pins of xplock. digest adds an ImageConfig for each package, and restarts each provider once.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="SRC",
    help="Adopt only this package and what it depends on; may be repeated. A source may be shortened to its last parts.",
)
@click.option(
    "--take",
    "taken",
    multiple=True,
    metavar="installed=DIGEST|registry",
    help="Which bytes to lock where a tag has moved since it was installed: those that run, by their digest, or those "
    "of the registry. May be repeated.",
)
@offline_option
@layout_option
@click.option("--dry-run", is_flag=True, help="Write nothing; print what would be written.")
@click.option("--force", is_flag=True, help="Replace files that exist with other contents.")
@output_option("text", "json")
@click.pass_obj
def adopt(
    output: Output,
    /,
    files: tuple[BinaryIO, ...],
    folder: Path,
    context: str | None,
    kubeconfig: Path | None,
    save: Path | None,
    pin: str | None,
    only: tuple[str, ...],
    taken: tuple[str, ...],
    offline: bool,
    layouts: list[tuple[str, Path]],
    dry_run: bool,
    force: bool,
    form: str,
) -> None:
    """Take over the packages of a running cluster: write their manifests and a lock that change nothing there.

    The cluster is read by kubectl, or from files with what `kubectl get ... -o yaml` printed; - is stdin. Packages that
    were asked for become manifests, and all others are locked as their dependencies: versions and names as they are,
    digests proven by the names of the revisions. What is written is rendered first and compared with every object:
    unless only annotations differ, nothing is written.
    """
    digests, from_registry = parse_take(taken)
    operator = operator_settings()
    given = LiveInput(files, context, kubeconfig, save)
    cluster = read_cluster(given, operator)
    choices = AdoptChoices(
        folder,
        PinMode(pin) if pin else None,
        only,
        digests,
        take_registry=from_registry,
        commands=given.commands,
    )
    resolver = Resolver(operator, output, layouts, offline=offline)
    made = adopt_cluster(cluster, choices, resolver, operator)
    check_files(folder, made.files, replaced=(LOCK_FILE, SETTINGS_FILE), force=force)
    if not dry_run:
        write_files(folder, made.files)
    if form == "json":
        output.result_json(adoption_document(made, dry_run=dry_run))
        return
    if output.verbosity >= 0:
        output.report(format_adoption(made))
    for hint in adoption_hints(made, dry_run=dry_run):
        output.say(hint)
