"""xplock package: the group."""

import click

from render.cli.lazy import LazyGroup

_COMMANDS = {
    "build": ("render.cli.package_build", "Build a folder into a package."),
    "push": ("render.cli.package_push", "Push package files to a registry."),
    "inspect": ("render.cli.package_inspect", "Show what a package says and holds."),
}


@click.group(cls=LazyGroup, lazy=_COMMANDS, epilog="Example: xplock package build platform/ -o platform.xpkg")
def package() -> None:
    """Build, push and inspect packages."""
