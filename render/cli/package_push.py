"""xplock package push: package files become a reference in a registry."""

import os
from pathlib import Path

import click

from render.app.world import open_world
from render.cli.operator_options import CACHE, REGISTRIES, OperatedCommand
from render.cli.output import Output
from render.errors import InvalidInput
from render.references import Reference, parse_reference
from render.xpkg.package_file import PackageFile
from render.xpkg.publish import plan_publication


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
    reference = parse_reference(ref)
    if reference.tag is None or reference.digest is not None:
        raise InvalidInput(
            f"{ref} cannot be pushed to",
            why="a push needs a tag, and no digest",
            next="write registry/name:tag",
        )
    world = open_world(os.environ, warn=output.warn, trace=output.trace)
    planned = plan_publication([PackageFile(file, world.limits) for file in files], extensions, world.limits)
    with output.busy(f"pushing {reference}"):
        planned.push(reference.source, world.pusher(reference.source), reference.tag)
        world.check_pushed(reference, planned.content.digest)
    output.result(f"{Reference(reference.source, reference.tag, planned.content.digest)}\n")
