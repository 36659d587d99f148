"""xplock package build: a folder becomes a package."""

import os
from pathlib import Path

import click

from render.app.package import build_into_layout
from render.cli.output import Output
from render.limits import Limits
from render.packages import count_kinds
from render.references import parse_reference
from render.registry.layout import Layout
from render.registry.oci import Platform
from render.system.files import replace_file
from render.xpkg.build import build_package
from render.xpkg.package_file import default_file_name, format_package_file


def _parse_platform(context: click.Context, option: click.Parameter, text: str | None) -> Platform | None:
    if text is None:
        return None
    parts = text.split("/")
    if len(parts) not in (2, 3) or not all(part.isalnum() for part in parts):
        raise click.BadParameter("a platform is written os/architecture, as linux/amd64", context, option)
    return Platform(*parts)


@click.command(
    epilog="Example: xplock package build platform/ --to registry/ -t xpkg.example.org/acme/platform:v1.0.0"
)
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "-o", "--output", "file", type=click.Path(dir_okay=False, path_type=Path), help="The .xpkg file to write."
)
@click.option(
    "--to", "layout", type=click.Path(file_okay=False, path_type=Path), help="An OCI layout to add it to."
)
@click.option(
    "-t", "--tag", "tags", multiple=True, metavar="REF", help="Its name in the layout; may be repeated."
)
@click.option("--ignore", multiple=True, metavar="GLOB", help="Files to leave out; may be repeated.")
@click.option(
    "--examples",
    metavar="FOLDER",
    default="examples",
    show_default=True,
    help="The folder of examples, a layer of its own.",
)
@click.option(
    "--platform", metavar="OS/ARCH", callback=_parse_platform, help="What the package is for, as linux/amd64."
)
@click.pass_obj
def build(
    output: Output,
    folder: Path,
    file: Path | None,
    layout: Path | None,
    tags: tuple[str, ...],
    ignore: tuple[str, ...],
    examples: str,
    platform: Platform | None,
) -> None:
    """Build the package of DIR: its crossplane.yaml and every YAML file below it.

    Without -o and --to the file is written next to where you are, named as the Crossplane CLI names it. The same
    folder gives the same bytes. The path or reference of what was built goes to stdout.
    """
    if file and layout:
        raise click.UsageError("-o and --to exclude each other")
    if tags and not layout:
        raise click.UsageError("-t names a package in a layout; it goes with --to")
    limits = Limits.from_environment(os.environ)
    references = [parse_reference(tag) for tag in tags]
    built = build_package(folder, limits, ignore=ignore, examples=examples, platform=platform)
    if layout:
        build_into_layout(built, Layout(layout, limits), references)
        written = [str(reference) for reference in references] or [str(built.image.digest)]
    else:
        path = file or Path(default_file_name(built.metadata.name, built.image.digest))
        replace_file(path, format_package_file(built.image))
        written = [str(path)]
    counts = (
        ", ".join(f"{count} {kind}" for kind, count in count_kinds(built.objects).items()) or "no objects"
    )
    output.say(f"built {built.metadata.kind} {built.metadata.name} ({counts}), {built.image.digest}")
    output.result("".join(f"{name}\n" for name in written))
