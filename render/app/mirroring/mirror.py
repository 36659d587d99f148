"""Copying everything that folders have locked to a mirror, and the ImageConfigs that lead Crossplane there."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Any

from render.app.mirroring.controllers import find_controllers, resolve_controller
from render.app.mirroring.ends import End, open_destination, open_origin, open_stored
from render.app.operator_settings import OperatorSettings
from render.app.reporter import Reporter, SilentReporter, Transfer
from render.app.world import World, open_world
from render.commands import xplock
from render.errors import Differs, InvalidInput, RenderError
from render.inputs.projects import Inputs, read_inputs, read_settings
from render.lock.freshness import require_consistent_lock
from render.manifests.mirror_configs import mirror_configs
from render.manifests.pulled import PulledImage, find_pulled
from render.mirrors import FULL, Mirror, check_paths
from render.references import Digest, InvalidReference, Reference, Source, parse_reference
from render.registry.copying.copier import Copier
from render.registry.copying.folder import FolderDestination
from render.registry.copying.model import Job, Origin, Report
from render.registry.copying.origins import LayoutOrigin
from render.registry.layout import Layout
from render.rewrites import InvalidRewrite, Rewrite, Rewrites
from render.system.deadline import Deadline, parse_seconds
from render.texts import counted, first_lines

# Tags of what is attached to an image, or of the list of its referrers: they are copied with the image.
_ATTACHED_TAG = re.compile(r"sha256-[0-9a-f]{64}(?:\..*)?")
_SHOWN = 20
# How often each of them asked differs, and is nothing that matters.
_TRIES = re.compile(r" \(tried [0-9]+ times\)")


@dataclass(frozen=True, slots=True)
class MirrorCall:
    """What `xplock mirror` was asked to do."""

    to: End
    # Where images come from instead of the registries of a lock.
    stored: End | None = None
    layouts: Sequence[tuple[str, Path]] = ()
    paths: str = FULL
    pull_secret: str | None = None
    attached: bool = True
    move_tags: bool = False
    deep: bool = False
    # Whether nothing is written.
    only_look: bool = False
    jobs: int = 4

    @property
    def mirror(self) -> Mirror | None:
        """The mirror, if it is a registry."""
        return Mirror(self.to.prefix, self.paths, self.pull_secret) if self.to.is_registry else None


@dataclass(frozen=True, slots=True)
class Mirrored:
    """What was copied, or would be, and the ImageConfigs for it."""

    reports: Sequence[Report]
    configs: Sequence[dict[str, Any]] = ()


class SeveralNotCopied(RenderError):
    """Several images that were not copied; their errors were reported before."""

    def __init__(self, failures: Sequence[RenderError], images: int) -> None:
        super().__init__(
            f"{len(failures)} of {counted(images, 'image')} could not be copied",
            why="everything that was copied stays, and no tag names anything incomplete",
            next="correct the errors above, and run the command again",
        )
        self.exit_code = max(error.exit_code for error in failures)


def read_mirror(folders: Sequence[Path], operator: OperatorSettings) -> Mirror | None:
    """Return the mirror in the settings of folders, which have to agree on it."""
    found = {folder: read_settings(folder, operator.limits, operator.boundary).mirror for folder in folders}
    named = {mirror: folder for folder, mirror in found.items()}
    if len(named) > 1:
        raise InvalidInput(
            "the folders have different mirrors",
            why=[f"{folder}: {mirror.to if mirror else 'none'}" for mirror, folder in named.items()],
            next="mirror them one by one, or name the destination: --to DEST",
        )
    return next(iter(named), None)


def mirror_folders(
    folders: Sequence[Path], call: MirrorCall, operator: OperatorSettings, reporter: Reporter
) -> Mirrored:
    """Copy what several folders have locked, and return what was done."""
    world = _open_world(call, operator, reporter)
    read = [_Folder.read(folder, world, call) for folder in folders]
    layouts = [*call.layouts, *(layout for one in read for layout in one.inputs.settings.layouts)]
    origin = open_origin(world, layouts)
    images = {image: provider for one in read for provider, image in one.controllers}
    controllers = [
        _controller_job(reference, call)
        for image, provider in images.items()
        if (reference := resolve_controller(provider, image, origin, reporter))
    ]
    jobs = _agree([*(job for one in read for job in one.jobs), *controllers], call, reporter)
    reports = _Run(call, world, reporter, origin).run(jobs)
    return Mirrored(reports, _unique(config for one in read for config in one.configs(call)))


def mirror_stored(call: MirrorCall, operator: OperatorSettings, reporter: Reporter) -> Mirrored:
    """Copy everything in a layout or an archive, without a lock and without the registries it came from."""
    world = _open_world(call, operator, reporter)
    if call.stored is None:
        raise AssertionError("nothing to copy from")
    layout = open_stored(call.stored, world.limits)
    jobs = _agree(_stored_jobs(layout, call, reporter), call, reporter)
    if not jobs:
        raise InvalidInput(
            f"{call.stored.text} has no image with a full name",
            why="images in it are named by references with their registries",
            next=f"write it with: {xplock('mirror', '--to', call.stored.text)}",
        )
    reports = _Run(call, world, reporter, LayoutOrigin(layout)).run(jobs)
    mirror = call.mirror
    sources = [job.source for job in jobs]
    return Mirrored(reports, mirror_configs(mirror, sources, (), Rewrites(())) if mirror else ())


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


@dataclass(frozen=True, slots=True)
class _Folder:
    """What one folder has locked."""

    inputs: Inputs
    pulled: Sequence[PulledImage]
    jobs: Sequence[Job]
    # Providers that run another image than their package, and that image.
    controllers: Sequence[tuple[Source, str]]

    @classmethod
    def read(cls, folder: Path, world: World, call: MirrorCall) -> "_Folder":
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


def _controller_job(reference: Reference, call: MirrorCall) -> Job:
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


def _stored_jobs(layout: Layout, call: MirrorCall, reporter: Reporter) -> Iterator[Job]:
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


def _agree(jobs: Iterable[Job], call: MirrorCall, reporter: Reporter) -> list[Job]:
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


@dataclass(slots=True)
class _Run:
    """One run, with one thread for each repository and others for requests."""

    call: MirrorCall
    world: World
    reporter: Reporter
    origin: Origin
    _reports: dict[Job, Report] = field(default_factory=dict)
    _failures: dict[Job, RenderError] = field(default_factory=dict)
    _interrupted: Event = field(default_factory=Event)

    def run(self, jobs: Sequence[Job]) -> list[Report]:
        destination = open_destination(self.world, self.call.to)
        text = f"{'looking at' if self.call.only_look else 'copying'} {counted(len(jobs), 'image')}"
        with ExitStack() as stack:
            if isinstance(destination, FolderDestination) and not self.call.only_look:
                stack.enter_context(destination.opened())
            # Where nothing is copied, there are no bytes to count.
            shown = SilentReporter() if self.call.only_look else self.reporter
            progress = stack.enter_context(shown.transfer(text))
            if self.call.only_look:
                stack.enter_context(self.reporter.busy(text))
            requests = stack.enter_context(self._pool(self.call.jobs * 2))
            copier = Copier(
                self.origin,
                destination,
                self.world.transport,
                requests.map,
                _Stoppable(progress, self._interrupted),
                attached=self.call.attached,
                move_tags=self.call.move_tags,
                deep=self.call.deep,
            )
            self._run_all(jobs, copier.examine if self.call.only_look else copier.copy)
            self._raise_failures(jobs)
            if isinstance(destination, FolderDestination) and not self.call.only_look:
                destination.finish()
        return [self._reports[job] for job in jobs]

    def _run_all(self, jobs: Sequence[Job], work: Callable[[Job], Report]) -> None:
        # Tags and lists of referrers of one repository are changed by one thread.
        repositories: dict[Source, list[Job]] = {}
        for job in jobs:
            repositories.setdefault(job.target, []).append(job)
        with self._pool(self.call.jobs * 4) as pool:
            for _ in pool.map(lambda group: self._run_some(group, work), repositories.values()):
                pass

    def _run_some(self, jobs: Sequence[Job], work: Callable[[Job], Report]) -> None:
        for job in jobs:
            if self._interrupted.is_set():
                return
            try:
                self._reports[job] = work(job)
            except RenderError as error:
                self._failures[job] = error

    @contextmanager
    def _pool(self, width: int) -> Iterator[ThreadPoolExecutor]:
        pool = ThreadPoolExecutor(width, thread_name_prefix="xplock-mirror")
        try:
            yield pool
        except BaseException:
            # Ctrl-C does not wait for the blobs that are on their way.
            self._interrupted.set()
            raise
        finally:
            pool.shutdown(cancel_futures=True)

    def _raise_failures(self, jobs: Sequence[Job]) -> None:
        failures = [self._failures[job] for job in jobs if job in self._failures]
        # One cause, such as a registry that is down, gives many images the same error.
        different = {_TRIES.sub("", str(error)): error for error in failures}
        if len(different) == 1:
            raise failures[0]
        for error in different.values():
            self.reporter.error(error)
        if failures:
            raise SeveralNotCopied(failures, len(jobs))


class _Stopped(RenderError):
    """A copy that was stopped; the caller that stopped it reports the reason."""


@dataclass(frozen=True, slots=True)
class _Stoppable:
    """The progress of copies, which ends them after an interrupt."""

    progress: Transfer
    interrupted: Event

    def expect_bytes(self, count: int) -> None:
        self.progress.expect_bytes(count)

    def advance_bytes(self, count: int) -> None:
        if self.interrupted.is_set():
            raise _Stopped("the copy was stopped")
        self.progress.advance_bytes(count)


def _unique(configs: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the ImageConfigs of all folders, each once."""
    found: dict[str, dict[str, Any]] = {}
    for config in configs:
        found.setdefault(str(config["metadata"]["name"]), config)
    return [found[name] for name in sorted(found)]
