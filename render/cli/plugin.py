"""xplock plugin: what plugin.yaml calls, as far as people ask for help with it; the calls themselves need no click."""

import os

import click

from render.argocd.plugin import POLICIES, write_parameters
from render.argocd.plugin import generate as generate_manifests
from render.cli.output import Output


@click.group(epilog="Example: cd platform && xplock plugin generate --lock-policy frozen")
def plugin() -> None:
    """Argo CD's way in: render the folder that it stands in, from the lock that is committed there."""


@plugin.command(epilog="Example: xplock plugin generate --lock-policy resolve")
@click.option(
    "--lock-policy",
    type=click.Choice(POLICIES),
    help="What to do if the lock is missing or out of date: refuse, resolve for this once and write nothing, or "
    "commit a lock where the operator allows that. Without it, XPLOCK_LOCK_POLICY or frozen.",
)
@click.pass_obj
def generate(output: Output, lock_policy: str | None) -> None:
    """Write the manifests of the current folder to stdout, all of them or none."""
    generate_manifests(lock_policy, os.environ, output)


@plugin.command(epilog="Example: xplock plugin parameters")
@click.pass_obj
def parameters(output: Output) -> None:
    """Write what an Application may choose, in the form that Argo CD shows."""
    write_parameters(os.environ, output)
