"""xplock verify: whether registries still have what was locked."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from render.app.world import World, open_world
from render.cli.locked import read_whole_lock
from render.cli.operator_options import REGISTRIES, OperatedCommand
from render.cli.options import folders_argument, layout_option, output_option
from render.cli.output import Output
from render.errors import Differs, RenderError
from render.inputs.projects import read_inputs
from render.lock.verify import VerifyFinding, verify_package
from render.texts import counted
from render.views.verification import findings_document, format_findings


class LockNotGood(RenderError):
    """A lock that names bytes which are gone or are something else."""


# What the cache remembers is not what a registry has: it is never asked here.
@click.command(cls=OperatedCommand, settings=REGISTRIES, epilog="Example: xplock verify clusters/*")
@folders_argument
@layout_option
@output_option("text", "json")
@click.pass_obj
def verify(output: Output, folders: tuple[Path, ...], layouts: list[tuple[str, Path]], form: str) -> None:
    """Ask the registries whether the bytes locked in each DIR are there, are what the lock says, and are still tagged.

    Exit 3: a tag has moved or is gone, and the lock still installs what it always did. Exit 1: the bytes are gone or
    are something else.
    """
    environ = {**os.environ, "XPLOCK_CACHE_DIR": ""}
    world = open_world(environ, warn=output.warn, trace=output.trace)
    found: list[tuple[str, int, list[VerifyFinding]]] = []
    for folder in folders:
        with output.busy(f"asking about what {folder} has locked"):
            found.append((str(folder), *_verify(folder, world, layouts)))
    if form == "json":
        output.result_json([findings_document(*each) for each in found])
    else:
        output.result("".join(format_findings(*each) for each in found))
    _conclude([finding for _, _, findings in found for finding in findings])


def _verify(folder: Path, world: World, layouts: list[tuple[str, Path]]) -> tuple[int, list[VerifyFinding]]:
    lock = read_whole_lock(folder)
    inputs = read_inputs(folder, world.limits, os.environ)
    catalog = world.catalog([*layouts, *inputs.settings.layouts], inputs.rewrites)
    with ThreadPoolExecutor(world.limits.parallel, thread_name_prefix="xplock-verify") as pool:
        # Also what is switched off: its pin is rendered, and the cluster may pull it.
        installed = lock.installed()
        found = pool.map(lambda package: verify_package(package, catalog), installed)
        return len(installed), [finding for findings in found for finding in findings]


def _conclude(findings: list[VerifyFinding]) -> None:
    grave = sorted({str(finding.package.source) for finding in findings if finding.trouble.is_grave})
    if grave:
        raise LockNotGood(
            f"{counted(len(grave), 'locked package')} cannot be relied on",
            why=", ".join(grave),
            next="do not roll this lock out; find out who changed it or the registry, then run `xplock lock`",
        )
    moved = sorted({str(finding.package.source) for finding in findings})
    if moved:
        raise Differs(
            f"the tags of {counted(len(moved), 'package')} are not what was locked",
            why=", ".join(moved),
            next="nothing changes in the cluster; to take what a tag names now: xplock lock -P SRC",
        )
