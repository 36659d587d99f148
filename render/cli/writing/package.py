"""xplock package: build, push and inspect packages."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from render.app.packages.first_format import (
    Choices,
    InspectedFirstFormat,
    build_first_format,
    making,
    manifests_folder,
    open_origin,
    write_manifests,
)
from render.app.packages.package import inspect_package, push_package, write_package
from render.cli.main import LazyGroup
from render.cli.operator_options import CACHE, REGISTRIES, OperatedCommand, operator_settings
from render.cli.options import OUTPUT_FORMS, layout_option, output_option
from render.cli.output import Output
from render.packages import count_kinds
from render.packages_v1.convert import Converted
from render.references import parse_reference
from render.registry.oci import Platform
from render.versions.version import check_tag
from render.views.packages.first_format import first_format_document, format_first_format
from render.views.packages.inspection import format_inspection, inspection_document
from render.xpkg.building.build import build_package

Command = Callable[..., Any]

_HERE = __name__
_COMMANDS = {
    "build": (_HERE, "Build a folder into a package."),
    "push": (_HERE, "Push package files to a registry."),
    "inspect": (_HERE, "Show what a package says and holds."),
}


@click.group(cls=LazyGroup, lazy=_COMMANDS, epilog="Example: xplock package build platform/ -o platform.xpkg")
def package() -> None:
    """Build, push and inspect packages."""


def _first_format_options(command: Command) -> Command:
    """Add the options for packages of the first format."""
    options = (
        click.option(
            "--name", default="", metavar="NAME", help="Packages v1: its name; without it, the folder's."
        ),
        click.option(
            "--version",
            default="",
            metavar="TAG",
            help="Packages v1: its version; one in app.yaml has to be the same.",
        ),
        click.option(
            "--source",
            default="",
            metavar="HOST",
            help="Packages v1: the registry of images and packages that name none.",
        ),
        click.option(
            "--cluster-wide",
            is_flag=True,
            help="Packages v1: turn permissions in a namespace into those of a cluster.",
        ),
        click.option(
            "--runtime-image",
            default="",
            metavar="REF|FILE",
            help="Packages v1: the image of the controller, for an install.yaml without one.",
        ),
        click.option(
            "--manifests",
            metavar="FOLDER",
            type=click.Path(file_okay=False, path_type=Path),
            help="Packages v1: where runtime.yaml and rbac.yaml go; without it, NAME.manifests.",
        ),
        click.option(
            "--lock",
            metavar="DIR",
            type=click.Path(exists=True, file_okay=False, path_type=Path),
            help="Packages v1: a project whose lock answers the package's dependencies on CRDs.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


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
    cls=OperatedCommand,
    settings=(*CACHE, *REGISTRIES),
    epilog="Example: xplock package build platform/ --to registry/ -t xpkg.example.org/acme/platform:v1.0.0",
)
@click.argument("what", metavar="DIR|REF|FILE")
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
@_first_format_options
@click.pass_obj
def build(
    output: Output,
    /,
    what: str,
    file: Path | None,
    layout: Path | None,
    tags: tuple[str, ...],
    ignore: tuple[str, ...],
    examples: str,
    platform: Platform | None,
    **choices: Any,
) -> None:
    """Build the package of DIR: its crossplane.yaml and every YAML file below it.

    Without -o and --to the file is written next to where you are, named as the Crossplane CLI names it. The same
    folder gives the same bytes. The path or reference of what was built goes to stdout.

    A folder, an image (REF) or a file of docker save (FILE) with .registry/app.yaml is a package of the first format,
    Packages v1, and becomes a Provider of today. Its runtime config and its permissions are written as manifests.
    """
    if file and layout:
        raise click.UsageError("-o and --to exclude each other")
    if tags and not layout:
        raise click.UsageError("-t names a package in a layout; it goes with --to")
    operator = operator_settings()
    references = [parse_reference(tag) for tag in tags]
    for reference in references:
        check_tag(reference.tag)
    origin, chosen, converted = open_origin(what, operator, output), Choices(**choices), None
    if origin is None:
        _refuse_first_format_options(chosen, what)
        built = build_package(
            Path(what), operator.limits, ignore=ignore, examples=examples, platform=platform
        )
    else:
        built, converted = build_first_format(origin, chosen, references, platform, operator, output)
    folder = chosen.manifests or manifests_folder(built, file, layout)
    with making(folder) if converted else nullcontext():
        written = write_package(built, operator.limits, file=file, layout=layout, references=references)
    counts = (
        ", ".join(f"{count} {kind}" for kind, count in count_kinds(built.objects).items()) or "no objects"
    )
    output.say(f"built {built.metadata.kind} {built.metadata.name} ({counts}), {built.image.digest}")
    if built.metadata.crds:
        output.warn(
            "it depends on CRDs, which Crossplane does not resolve: a folder that locks it detaches it"
        )
    if converted:
        _write_manifests(output, converted, folder)
    output.result("".join(f"{name}\n" for name in written))


def _refuse_first_format_options(chosen: Choices, what: str) -> None:
    if chosen.given:
        raise click.UsageError(
            f"{', '.join(chosen.given)}: only for packages of the first format, which have .registry/app.yaml; "
            f"{what} has none"
        )


def _write_manifests(output: Output, converted: Converted, folder: Path) -> None:
    for warning in converted.warnings:
        output.warn(warning)
    for path in write_manifests(converted, folder):
        output.say(f"wrote {path}")
    name = converted.runtime_config["metadata"]["name"]
    output.say(f"apply the runtime config, and name it in the Provider: spec.runtimeConfigRef.name: {name}")


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

    Of a package of the first format, Packages v1, show what `package build` would make of it.
    """
    found = inspect_package(what, layouts, operator_settings(), output)
    if isinstance(found, InspectedFirstFormat):
        _show_first_format(output, found, form)
    elif form == "json":
        output.result_json(inspection_document(found))
    else:
        output.result(format_inspection(found, all_objects=objects))


def _show_first_format(output: Output, found: InspectedFirstFormat, form: str) -> None:
    if form == "json":
        output.result_json(first_format_document(found.inspection, found.converted))
    else:
        output.result(format_first_format(found.inspection, found.converted))
