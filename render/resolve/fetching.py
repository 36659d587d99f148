"""Questions to the catalog, asked ahead of time and side by side: the wire is idle only when nothing is to be asked."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from types import TracebackType
from typing import Any, TypeVar

from render.errors import RenderError
from render.limits import Limits
from render.packages import Package
from render.references import Digest, Reference, Source
from render.resolve.candidates import highest, make_universe
from render.resolve.model import Candidate, Catalog, Edge, Wanted
from render.versions import parse_candidate

Answer = TypeVar("Answer")


class Fetcher:
    """Asks each question once; answers to likely questions are on their way before they are needed."""

    def __init__(
        self,
        catalog: Catalog,
        limits: Limits,
        edges: Callable[[Source, Package], tuple[Edge, ...]],
        wanted: Wanted,
    ) -> None:
        self._catalog = catalog
        self._edges = edges
        self._preferred = wanted.preferred
        self._pinned = wanted.pinned
        self._pool = ThreadPoolExecutor(limits.parallel, thread_name_prefix="xplock-fetch")
        self._lock = Lock()
        self._asked: dict[object, Future[Any]] = {}
        self._guessed: set[Source] = set()

    def __enter__(self) -> "Fetcher":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(cancel_futures=True)

    def tags(self, source: Source) -> tuple[str, ...]:
        """Return all tags of a source."""
        return self._tags(source).result()

    def package(self, source: Source, candidate: Candidate) -> Package:
        """Return the package behind a candidate."""
        return self._package(source, candidate).result()

    def digests(self, source: Source, tags: tuple[str, ...]) -> dict[Digest, str]:
        """Return which of these tags carries which digest; of several, the last."""
        asked = [(tag, self._package(source, Candidate(tag))) for tag in tags]
        return {future.result().digest: tag for tag, future in asked}

    def expect(self, edge: Edge) -> None:
        """Ask ahead for what will probably answer a dependency, and for what that depends on in turn."""
        with self._lock:
            if edge.source in self._guessed:
                return
            self._guessed.add(edge.source)
        tags = self._tags(edge.source)
        known = self._known_beforehand(edge)
        if known is not None:
            self._guess(edge.source, known)
        else:
            tags.add_done_callback(lambda done: self._guess_highest(edge, done))

    def _known_beforehand(self, edge: Edge) -> Candidate | None:
        """Return what will answer a dependency, if that can be told without a list of tags."""
        preferred = self._preferred.get(edge.source)
        if preferred is not None and preferred.answers(edge.request):
            return preferred
        request = edge.request
        if request.exact:
            return Candidate(request.tag, digest=request.digest)
        # Most dependencies name one version in full; then the list of tags need not be waited for.
        version = parse_candidate(request.constraint.text) if request.constraint else None
        return Candidate(version.text) if version else None

    def _guess_highest(self, edge: Edge, done: "Future[tuple[str, ...]]") -> None:
        if done.cancelled() or done.exception():
            return
        universe = make_universe(done.result(), (), {})
        bits = universe.answering(edge.request)
        if bits:
            self._guess(edge.source, universe.candidates[highest(bits)])

    def _guess(self, source: Source, candidate: Candidate) -> None:
        found = self._package(source, candidate)
        found.add_done_callback(lambda future: self._expect_dependencies(source, future))

    def _expect_dependencies(self, source: Source, found: "Future[Package]") -> None:
        if found.cancelled() or found.exception():
            return
        try:
            edges = self._edges(source, found.result())
        except RenderError:
            # It is only a guess; if the search gets here, it meets the same error.
            return
        for edge in edges:
            self.expect(edge)

    def _tags(self, source: Source) -> "Future[tuple[str, ...]]":
        return self._ask(source, lambda: tuple(self._catalog.tags(source)))

    def _package(self, source: Source, candidate: Candidate) -> "Future[Package]":
        reference = candidate.reference(source)
        pinned = self._pinned.get(reference)
        if pinned is not None:
            reference = Reference(source, digest=pinned)
        return self._ask(reference, lambda: self._catalog.package(reference))

    def _ask(self, key: Source | Reference, fetch: Callable[[], Answer]) -> "Future[Answer]":
        with self._lock:
            if key not in self._asked:
                try:
                    self._asked[key] = self._pool.submit(fetch)
                except RuntimeError:
                    # The search is over; nobody waits for this guess any more.
                    self._asked[key] = Future()
                    self._asked[key].cancel()
            return self._asked[key]
