"""xplock mirror: everything locked, copied to a registry of one's own, a layout or an archive."""

from collections.abc import Mapping
from pathlib import Path

import click

from render.app.mirroring.call import MirrorCall, Mirrored
from render.app.mirroring.ends import End, parse_end
from render.app.mirroring.mirror import mirror_folders, mirror_stored, read_mirror, require_complete
from render.cli.operator_options import CACHE, REGISTRIES, OperatedCommand, operator_settings
from render.cli.options import layout_option, output_option
from render.cli.output import Output
from render.errors import InvalidInput
from render.manifests.text import format_yaml
from render.mirrors import BARE, FULL
from render.names import DNS_LABEL_MEANING, is_dns_name
from render.system.files import replace_file
from render.views.mirror import format_plan, format_reports, mirror_document


def _parse_stored(_context: click.Context, _option: click.Parameter, text: str | None) -> End | None:
    end = parse_end(text) if text else None
    if end and end.is_registry:
        raise InvalidInput(
            f"{text} is no layout and no archive",
            why="registries are read by the lock of a folder",
            next="write --from oci:FOLDER or --from oci-archive:FILE",
        )
    return end


def _parse_secret(context: click.Context, option: click.Parameter, text: str | None) -> str | None:
    if text and not is_dns_name(text):
        raise click.BadParameter(
            f"a secret is named by {DNS_LABEL_MEANING}, or several with dots", context, option
        )
    return text


@click.command(
    cls=OperatedCommand,
    settings=(*CACHE, *REGISTRIES),
    epilog="Examples: xplock mirror clusters/* --to mirror.example.org/xp --dry-run; "
    "xplock mirror --to oci-archive:closure.tar; "
    "xplock mirror --from oci-archive:closure.tar --to mirror.example.org/xp --image-configs mirror.yaml",
)
@click.argument(
    "folders", nargs=-1, metavar="[DIR]...", type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option(
    "--to",
    metavar="DEST",
    help="A registry with or without a path, oci:FOLDER or oci-archive:FILE; by default the mirror in the settings.",
)
@click.option(
    "--from",
    "stored",
    metavar="SOURCE",
    callback=_parse_stored,
    help="Copy everything in oci:FOLDER or oci-archive:FILE, without a lock and without the original registries.",
)
@click.option("--dry-run", is_flag=True, help="Copy nothing; list what would be copied, with its size.")
@click.option("--check", is_flag=True, help="Copy nothing; exit 3 if DEST lacks anything.")
@click.option("--deep", is_flag=True, help="Ask DEST for every blob, and not for manifests alone.")
@click.option(
    "--paths",
    type=click.Choice((FULL, BARE)),
    help=f"Paths in DEST with the original host, or without it.  [default: {FULL}]",
)
@click.option(
    "--no-attached", is_flag=True, help="Leave out signatures, attestations and whatever else is attached."
)
@click.option("--move-tags", is_flag=True, help="Move version tags of DEST that name other bytes.")
@click.option(
    "--image-configs",
    "file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the ImageConfigs for DEST to FILE instead of stdout.",
)
@click.option(
    "--pull-secret",
    metavar="NAME",
    callback=_parse_secret,
    help="Add an ImageConfig with the secret that Crossplane needs to pull from DEST.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    default=4,
    show_default=True,
    help="How many requests each host gets at once.",
)
@layout_option
@output_option("text", "json")
@click.pass_obj
def mirror(
    output: Output,
    folders: tuple[Path, ...],
    to: str | None,
    stored: End | None,
    dry_run: bool,
    check: bool,
    deep: bool,
    paths: str | None,
    no_attached: bool,
    move_tags: bool,
    file: Path | None,
    pull_secret: str | None,
    jobs: int,
    layouts: list[tuple[str, Path]],
    form: str,
) -> None:
    """Copy every image that the locks of DIRs can make Crossplane pull to DEST, byte for byte.

    With all platforms, extensions, signatures, attestations and other referrers; also those of packages that are
    leaving and of kept pins. What DEST has already is not copied again. A registry as DEST gets ImageConfigs, which
    go to stdout: they lead Crossplane there. With --from, DIRs only add their own rules for images to those.
    """
    if stored and layouts:
        raise click.UsageError("--from copies all of it, so it takes no --layout")
    operator = operator_settings()
    # The receiving side needs no folder.
    folders = folders if stored else folders or (Path(),)
    known = read_mirror(folders, operator, to)
    if not to and not known:
        raise click.UsageError("--to is missing, and no settings name a mirror")
    end = parse_end(to or (known.to if known else ""))
    _require_registry(end, {"--image-configs": file, "--pull-secret": pull_secret, "--paths": paths})
    call = MirrorCall(
        end,
        stored,
        layouts,
        paths or (known.paths if known else FULL),
        pull_secret or (known.pull_secret if known else None),
        attached=not no_attached,
        move_tags=move_tags,
        deep=deep,
        only_look=dry_run or check,
        jobs=jobs,
    )
    copy = mirror_stored if stored else mirror_folders
    mirrored = copy(folders, call, operator, output)
    _write(output, mirrored, call, file, form)
    if check:
        require_complete(mirrored, call)


def _require_registry(end: End, given: Mapping[str, object]) -> None:
    """Raise for an option that only a registry has a use for."""
    named = [option for option, value in given.items() if value]
    if named and not end.is_registry:
        raise click.UsageError(f"{named[0]} is for a registry, and {end.text} is none")


def _write(output: Output, mirrored: Mirrored, call: MirrorCall, file: Path | None, form: str) -> None:
    configs = format_yaml(mirrored.configs)
    if file and mirrored.configs and not call.only_look:
        replace_file(file, configs.encode())
    if form == "json":
        output.result_json(mirror_document(call.to.text, mirrored.reports, mirrored.configs))
        return
    if call.only_look:
        output.result(format_plan(mirrored.reports))
        return
    for line in format_reports(mirrored.reports):
        output.say(line)
    if not file:
        output.result(configs)
