"""xplock plugin: help for people; the calls of plugin.yaml run without click."""

import os

import click

from render.argocd.plugin import POLICIES, write_parameters
from render.argocd.plugin import generate as generate_manifests
from render.cli.output import Output


@click.group(epilog="Example: cd platform && xplock plugin generate --lock-policy frozen")
def plugin() -> None:
    """The Argo CD plugin: render the current folder from the lock that is committed there."""


@plugin.command(epilog="Example: xplock plugin generate --lock-policy resolve")
@click.option(
    "--lock-policy",
    type=click.Choice(POLICIES),
    help="What to do if the lock is missing or out of date: fail, resolve in memory and write nothing, or "
    "commit a lock where the operator allows it. Without this option, XPLOCK_LOCK_POLICY or frozen.",
)
@click.pass_obj
def generate(output: Output, lock_policy: str | None) -> None:
    """Write the manifests of the current folder to stdout, all of them or none."""
    generate_manifests(lock_policy, os.environ, output)


@plugin.command(epilog="Example: xplock plugin parameters")
@click.pass_obj
def parameters(output: Output) -> None:
    """Write the parameters that an Application may set, in the form that Argo CD shows."""
    write_parameters(os.environ, output)
