"""xplock retire: let go of packages that are leaving."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import click

from render.cli.locked import read_whole_lock
from render.cli.options import output_option
from render.cli.output import Output
from render.inputs.projects import read_settings
from render.lifecycle.blockers import LockedFolder
from render.lifecycle.retire import Retirement, require_agreed, require_synced, retire_packages
from render.lifecycle.states import was_guarded
from render.limits import Limits
from render.live.guards import require_unguarded
from render.live.objects import parse_live_objects
from render.lock.file import write_lock
from render.lock.format import format_lock
from render.views.retirement import format_retirements, retirement_document, retirement_hints


@click.command(
    epilog="Examples: xplock retire provider-old; xplock retire provider-old --synced; "
    "kubectl get provider.pkg.crossplane.io/acme-provider-old -o yaml | xplock retire provider-old --live -"
)
@click.argument("names", nargs=-1, required=True, metavar="SRC...")
@click.option(
    "-C",
    "--dir",
    "folders",
    multiple=True,
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A project folder whose lock is meant, instead of the current one. May be repeated: packages of one that "
    "need something of another count.",
)
@click.option("--synced", is_flag=True, help="Every cluster has synced the first step.")
@click.option(
    "--live",
    metavar="FILE",
    type=click.File("rb"),
    help="Objects of the cluster, as kubectl prints them, that show it; - for stdin.",
)
@click.option(
    "--delete-objects",
    is_flag=True,
    help="Agree that what a replaced package installed, and none of its successors brings, is deleted with it.",
)
@click.option("--dry-run", is_flag=True, help="Write nothing; tell what would change.")
@output_option("text", "json")
@click.pass_obj
def retire(
    output: Output,
    names: tuple[str, ...],
    folders: tuple[Path, ...],
    synced: bool,
    live: BinaryIO | None,
    delete_objects: bool,
    dry_run: bool,
    form: str,
) -> None:
    """Let go of packages that are leaving: that nobody asks for any more, or that others have replaced.

    The first run takes the guard off, so that a cluster may delete them. The second one drops them from the lock,
    when every cluster has synced the first: say so with --synced, or show it with --live. What another of them
    needs waits for one more sync. Only the lock changes, and no registry is asked.
    """
    limits = Limits.from_environment(os.environ)
    made = retire_packages(names, _read_folders(folders or (Path(),), limits))
    require_agreed(made, delete=delete_objects)
    if live is not None:
        dropped = [package for one in made for package in one.dropped]
        # One byte more than may be there tells that there is too much.
        require_unguarded(dropped, parse_live_objects(live.read(limits.lock_bytes + 1), limits))
    else:
        require_synced(made, synced=synced)
    if not dry_run:
        _write(made, limits)
    _tell(made, output, form)


def _read_folders(folders: Sequence[Path], limits: Limits) -> list[LockedFolder]:
    given: dict[Path, Path] = {}
    for folder in folders:
        # The same one may be written in two ways.
        given.setdefault(folder.resolve(), folder)
    return [_read_folder(folder, given, limits) for folder in given.values()]


def _read_folder(folder: Path, given: Mapping[Path, Path], limits: Limits) -> LockedFolder:
    settings, lock = read_settings(folder, limits), read_whole_lock(folder)
    used = {one.folder: (folder / one.folder).resolve() for one in lock.provided.values()}
    uses = {text: str(given[path]) for text, path in used.items() if path in given}
    # What was locked with its guard on has it on in the cluster, too.
    guard = settings.guard or was_guarded(lock)
    return LockedFolder(str(folder), lock, guard, settings.crossplane_version, uses)


def _write(made: Sequence[Retirement], limits: Limits) -> None:
    # What cannot be written as text is found before anything is.
    texts = {Path(one.folder.name): format_lock(one.lock) for one in made}
    for folder, text in texts.items():
        write_lock(folder, text, limits=limits)


def _tell(made: Sequence[Retirement], output: Output, form: str) -> None:
    if form == "json":
        output.result_json([retirement_document(one) for one in made])
        return
    if output.verbosity >= 0:
        output.report(format_retirements(made))
    for hint in retirement_hints(made):
        output.say(hint)
