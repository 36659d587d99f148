"""Copying everything that folders have locked to a mirror, and the ImageConfigs that lead Crossplane there."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from render.app.mirroring.call import MirrorCall, Mirrored
from render.app.mirroring.controllers import resolve_controller
from render.app.mirroring.ends import open_origin, open_stored
from render.app.mirroring.jobs import LockedFolder, agree, controller_job, stored_jobs
from render.app.mirroring.run import Run
from render.app.operator_settings import OperatorSettings
from render.app.reporter import Reporter
from render.app.world import World, open_world
from render.commands import xplock
from render.errors import Differs, InvalidInput
from render.inputs.projects import read_inputs, read_settings
from render.manifests.mirror_configs import mirror_configs
from render.mirrors import Mirror
from render.registry.copying.origins import LayoutOrigin
from render.rewrites import Rewrites
from render.system.deadline import Deadline, parse_seconds
from render.texts import counted, first_lines

_SHOWN = 20


def read_mirror(folders: Sequence[Path], operator: OperatorSettings, to: str | None = None) -> Mirror | None:
    """Return the mirror in the settings of folders, which have to agree on it; with `to`, what they say about that one."""
    found = {folder: read_settings(folder, operator.limits, operator.boundary).mirror for folder in folders}
    named = {mirror: folder for folder, mirror in found.items() if not to or (mirror and mirror.to == to)}
    if len(named) > 1:
        raise InvalidInput(
            "the folders have different mirrors",
            why=[f"{folder}: {_describe(mirror)}" for mirror, folder in named.items()],
            next="mirror them one by one"
            if to
            else "mirror them one by one, or name the destination: --to DEST",
        )
    return next(iter(named), None)


def _describe(mirror: Mirror | None) -> str:
    if mirror is None:
        return "none"
    secret = f", pullSecret: {mirror.pull_secret}" if mirror.pull_secret else ""
    return f"to: {mirror.to}, paths: {mirror.paths}{secret}"


def mirror_folders(
    folders: Sequence[Path], call: MirrorCall, operator: OperatorSettings, reporter: Reporter
) -> Mirrored:
    """Copy what several folders have locked, and return what was done."""
    world = _open_world(call, operator, reporter)
    read = [LockedFolder.read(folder, world, call) for folder in folders]
    layouts = [*call.layouts, *(layout for one in read for layout in one.inputs.settings.layouts)]
    origin = open_origin(world, layouts)
    images = {image: provider for one in read for provider, image in one.controllers}
    controllers = [
        controller_job(reference, call)
        for image, provider in images.items()
        if (reference := resolve_controller(provider, image, origin, reporter))
    ]
    jobs = agree([*(job for one in read for job in one.jobs), *controllers], call, reporter)
    reports = Run(call, world, reporter, origin).run(jobs)
    return Mirrored(reports, _unique((one.configs(call) for one in read), reporter))


def mirror_stored(
    folders: Sequence[Path], call: MirrorCall, operator: OperatorSettings, reporter: Reporter
) -> Mirrored:
    """Copy everything in a layout or an archive, without a lock and without the registries it came from.

    The rules of folders that match by the place of an image are repeated for the mirror.
    """
    world = _open_world(call, operator, reporter)
    read = [read_inputs(one, world.limits, world.settings.environ, world.boundary) for one in folders]
    if call.stored is None:
        raise AssertionError("nothing to copy from")
    layout = open_stored(call.stored, world.limits)
    jobs = agree(stored_jobs(layout, call, reporter), call, reporter)
    if not jobs:
        raise InvalidInput(
            f"{call.stored.text} has no image with a full name",
            why="images in it are named by references with their registries",
            next=f"write it with: {xplock('mirror', '--to', call.stored.text)}",
        )
    reports = Run(call, world, reporter, LayoutOrigin(layout)).run(jobs)
    if not call.mirror:
        return Mirrored(reports)
    sources = [job.source for job in jobs]
    rules = [(one.passthrough, Rewrites(one.rewrites)) for one in read] or [((), Rewrites(()))]
    made = (mirror_configs(call.mirror, sources, *rule) for rule in rules)
    return Mirrored(reports, _unique(made, reporter))


def require_complete(mirrored: Mirrored, call: MirrorCall) -> None:
    """Raise if the destination lacks anything."""
    lacking = [report for report in mirrored.reports if report.missing]
    if lacking:
        raise Differs(
            f"{call.to.text} lacks {counted(len(lacking), 'image')}, or parts of them",
            why=first_lines([line for report in lacking for line in report.missing], _SHOWN),
            next="copy them: the same command without --check",
        )


def _open_world(call: MirrorCall, operator: OperatorSettings, reporter: Reporter) -> World:
    # Copies take longer than anything else.
    deadline = Deadline(parse_seconds(operator.environ, operator.limits.mirror_seconds))
    limits = replace(
        operator.limits,
        parallel_per_host=call.jobs,
        parallel=2 * call.jobs,
        # A list of referrers is an index, too.
        index_entries=max(operator.limits.index_entries, operator.limits.attached),
    )
    return open_world(replace(operator, limits=limits), reporter, deadline=deadline)


def _unique(folders: Iterable[Iterable[dict[str, Any]]], reporter: Reporter) -> list[dict[str, Any]]:
    """Return the ImageConfigs of all folders, each once."""
    found: dict[str, dict[str, Any]] = {}
    for config in chain.from_iterable(folders):
        name = str(config["metadata"]["name"])
        if found.setdefault(name, config) != config:
            reporter.warn(f"the folders differ in the ImageConfig {name}; mirror them one by one to get each")
    return [found[name] for name in sorted(found)]
