"""One run of `mirror`: a thread for each repository, other threads for requests, and every failure reported."""

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from threading import Event

from render.app.mirroring.call import MirrorCall
from render.app.mirroring.ends import open_destination
from render.app.reporter import Reporter, SilentReporter, Transfer
from render.app.world import World
from render.errors import RenderError
from render.references import Source
from render.registry.copying.copier import Copier
from render.registry.copying.folder import FolderDestination
from render.registry.copying.model import Job, Origin, Report, count_bytes
from render.texts import counted, first_names

# How many images an error names.
_SHOWN = 5
# How often each of them asked differs, and is nothing that matters.
_TRIES = re.compile(r" \(tried [0-9]+ times\)")


class SeveralNotCopied(RenderError):
    """Several images that were not copied; their errors were reported before."""

    def __init__(self, failures: Sequence[RenderError], images: int) -> None:
        super().__init__(
            f"{len(failures)} of {counted(images, 'image')} could not be copied",
            why="everything that was copied stays, and no tag names anything incomplete",
            next="correct the errors above, and run the command again",
        )
        self.exit_code = max(error.exit_code for error in failures)


@dataclass(slots=True)
class Run:
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
        reports = [self._reports[job] for job in jobs]
        count_bytes(reports, in_one_place=isinstance(destination, FolderDestination))
        return reports

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
            if len(failures) < len(jobs):
                names = [str(job.source) for job in jobs if job in self._failures]
                failures[0].why = (*failures[0].why, f"not copied: {first_names(names, _SHOWN)}")
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
