"""Locks, layouts and archives → the images to copy, each once and with a tag of its own."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from render.app.mirroring.call import MirrorCall
from render.app.mirroring.controllers import find_controllers
from render.app.reporter import Reporter
from render.app.world import World
from render.errors import InvalidInput
from render.inputs.projects import Inputs, read_inputs
from render.lock.freshness import require_consistent_lock
from render.manifests.mirror_configs import mirror_configs
from render.manifests.pulled import PulledImage, find_pulled
from render.mirrors import check_paths
from render.references import Digest, InvalidReference, Reference, Source, parse_reference
from render.registry.copying.model import Job
from render.registry.layout import Layout
from render.rewrites import InvalidRewrite, Rewrite, Rewrites
from render.texts import counted

# Tags of what is attached to an image, or of the list of its referrers: they are copied with the image.
_ATTACHED_TAG = re.compile(r"sha256-[0-9a-f]{64}(?:\..*)?")


@dataclass(frozen=True, slots=True)
class LockedFolder:
    """What one folder has locked."""

    inputs: Inputs
    pulled: Sequence[PulledImage]
    jobs: Sequence[Job]
    # Providers that run another image than their package, and that image.
    controllers: Sequence[tuple[Source, str]]

    @classmethod
    def read(cls, folder: Path, world: World, call: MirrorCall) -> "LockedFolder":
        lock = require_consistent_lock(folder, world.limits)
        inputs = read_inputs(folder, world.limits, world.settings.environ, world.boundary)
        pulled = list(find_pulled(lock.installed(), pinned=inputs.settings.pin == "digest"))
        rewrites = _upstream(inputs, call)
        jobs = [_job(one, Rewrites(rewrites), call) for one in pulled]
        controllers = list(find_controllers(lock, inputs, world, call.layouts, rewrites))
        return cls(inputs, pulled, jobs, controllers)

    def configs(self, call: MirrorCall) -> list[dict[str, Any]]:
        """Return the ImageConfigs for this folder's packages."""
        if call.mirror is None:
            return []
        sources = [one.source for one in self.pulled]
        return mirror_configs(call.mirror, sources, self.inputs.passthrough, Rewrites(self.inputs.rewrites))


def controller_job(reference: Reference, call: MirrorCall) -> Job:
    """Return the job for an image that a Provider runs, by its digest."""
    if reference.digest is None:
        raise AssertionError("a controller without a digest")
    target = call.mirror.place(reference.source) if call.mirror else reference.source
    return Job(reference.source, reference.source, reference.digest, target, reference.tag, lax=True)


def _upstream(inputs: Inputs, call: MirrorCall) -> list[Rewrite]:
    """Return the rewrites that lead to where packages come from: one to the mirror would copy it onto itself."""
    mirror = call.mirror
    return [one for one in inputs.rewrites if not mirror or not mirror.holds(one.replacement)]


def _job(image: PulledImage, rewrites: Rewrites, call: MirrorCall) -> Job:
    text = str(Reference(image.source, image.tag, None if image.tag else image.digest))
    rewrite, place = rewrites.find(text), image.source
    if rewrite:
        try:
            place = parse_reference(rewrite.apply(text)).source
        except InvalidReference as error:
            raise InvalidRewrite(rewrite, text, error) from None
    target = call.mirror.place(image.source) if call.mirror else image.source
    return Job(image.source, place, image.digest, target, image.tag, lax=not image.current)


def stored_jobs(layout: Layout, call: MirrorCall, reporter: Reporter) -> Iterator[Job]:
    """Yield a job for each image in a layout or an archive that has a full name."""
    unnamed = 0
    for reference, entry in layout.images():
        if reference is None:
            unnamed += 1
        elif reference.tag is None or not _ATTACHED_TAG.fullmatch(reference.tag):
            target = call.mirror.place(reference.source) if call.mirror else reference.source
            job = Job(reference.source, reference.source, entry.digest, target, reference.tag)
            # This tag is made from the digest.
            yield replace(job, tag=None) if job.tag == job.own_tag else job
    if unnamed:
        reporter.warn(f"{counted(unnamed, 'image')} without a full name in {layout.folder}, not copied")


def agree(jobs: Iterable[Job], call: MirrorCall, reporter: Reporter) -> list[Job]:
    """Return each image once, with a tag that no other one has at the destination; what is installed comes first."""
    found: dict[tuple[Source, Digest], Job] = {}
    tags: dict[tuple[Source, str], Digest] = {}
    for job in sorted(jobs, key=lambda job: (job.lax, str(job.target), job.tag or "", job.digest)):
        if job.place == job.target and call.to.is_registry:
            raise InvalidInput(
                f"{job.place} would be copied onto itself",
                why="it is fetched from the place that it would be copied to",
                next="use another destination, or remove the rewrite that leads there",
            )
        kept = found.setdefault((job.target, job.digest), job)
        if kept is not job or job.tag is None:
            continue
        if tags.setdefault((job.target, job.tag), job.digest) != job.digest:
            reporter.say(f"two images want to be {job.target}:{job.tag}; {job.digest} gets {job.own_tag}")
            found[job.target, job.digest] = replace(job, tag=None)
    if call.mirror:
        check_paths(call.mirror, (job.source for job in found.values()))
    return sorted(found.values(), key=lambda job: (str(job.target), job.tag or "", job.digest))
