"""xplock package: build, push and inspect packages."""

from pathlib import Path

import click

from render.app.package import inspect_package, push_package, write_package
from render.cli.main import LazyGroup
from render.cli.operator_options import CACHE, REGISTRIES, OperatedCommand, operator_settings
from render.cli.options import OUTPUT_FORMS, layout_option, output_option
from render.cli.output import Output
from render.packages import count_kinds
from render.references import parse_reference
from render.registry.oci import Platform
from render.versions import check_tag
from render.views.inspection import format_inspection, inspection_document
from render.xpkg.build import build_package

_HERE = __name__
_COMMANDS = {
    "build": (_HERE, "Build a folder into a package."),
    "push": (_HERE, "Push package files to a registry."),
    "inspect": (_HERE, "Show what a package says and holds."),
}


@click.group(cls=LazyGroup, lazy=_COMMANDS, epilog="Example: xplock package build platform/ -o platform.xpkg")
def package() -> None:
    """Build, push and inspect packages."""


def _parse_platform(context: click.Context, option: click.Parameter, text: str | None) -> Platform | None:
    if text is None:
        return None
    parts = text.split("/")
    if len(parts) not in (2, 3) or not all(part.isalnum() for part in parts):
        raise click.BadParameter("a platform is written os/architecture, as linux/amd64", context, option)
    return Platform(*parts)


def _parse_file(context: click.Context, option: click.Parameter, text: str | None) -> Path | None:
    if text in OUTPUT_FORMS:
        raise click.BadParameter(
            f"-o is the file to write here; write ./{text} for a file of that name", context, option
        )
    return None if text is None else Path(text)


@click.command(
    epilog="Example: xplock package build platform/ --to registry/ -t xpkg.example.org/acme/platform:v1.0.0"
)
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "-o",
    "--output",
    "file",
    type=click.Path(dir_okay=False),
    callback=_parse_file,
    help="The .xpkg file to write.",
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
    limits = operator_settings().limits
    references = [parse_reference(tag) for tag in tags]
    for reference in references:
        check_tag(reference.tag)
    built = build_package(folder, limits, ignore=ignore, examples=examples, platform=platform)
    written = write_package(built, limits, file=file, layout=layout, references=references)
    counts = (
        ", ".join(f"{count} {kind}" for kind, count in count_kinds(built.objects).items()) or "no objects"
    )
    output.say(f"built {built.metadata.kind} {built.metadata.name} ({counts}), {built.image.digest}")
    output.result("".join(f"{name}\n" for name in written))


@click.command(
    cls=OperatedCommand,
    settings=(*CACHE, *REGISTRIES),
    epilog="Example: xplock package push amd64.xpkg arm64.xpkg xpkg.example.org/acme/provider:v1.0.0",
)
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path), metavar="FILE..."
)
@click.argument("ref", metavar="REF")
@click.option(
    "--extensions",
    type=click.Path(exists=True, path_type=Path),
    help="A file or folder for tools other than Crossplane.",
)
@click.pass_obj
def push(output: Output, files: tuple[Path, ...], ref: str, extensions: Path | None) -> None:
    """Push FILEs to REF, a registry, repository and tag.

    One file is pushed as it is; several, built for different platforms, become one index. What was pushed is read
    back, and its reference with the digest goes to stdout.
    """
    pushed = push_package(files, ref, extensions, operator_settings(), output)
    output.result(f"{pushed}\n")


@click.command(
    cls=OperatedCommand,
    settings=(*CACHE, *REGISTRIES),
    epilog="Examples: xplock package inspect xpkg.example.org/acme/platform:v1.0.0 -o json; "
    "xplock package inspect platform.xpkg",
)
@click.argument("what", metavar="REF|FILE|LAYOUT")
@click.option("--objects", is_flag=True, help="List every object, however many there are.")
@layout_option
@output_option("text", "json")
@click.pass_obj
def inspect(output: Output, what: str, objects: bool, layouts: list[tuple[str, Path]], form: str) -> None:
    """Show a package's metadata, dependencies, objects, digests, layers and annotations.

    It may be in a registry (REF), in a .xpkg file or an OCI layout, or on disk as a folder or a metadata file.
    """
    found = inspect_package(what, layouts, operator_settings(), output)
    if form == "json":
        output.result_json(inspection_document(found))
    else:
        output.result(format_inspection(found, all_objects=objects))
