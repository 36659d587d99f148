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
        self._provided = wanted.provided
        self._follow_families = wanted.follow_families
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

    def expect(self, edge: Edge, *, major: int | None = None) -> None:
        """Ask ahead for what will probably answer a dependency, and for what that depends on in turn.

        A family package will probably have the major version of its members.
        """
        with self._lock:
            if edge.source in self._guessed or edge.source in self._provided:
                return
            self._guessed.add(edge.source)
        known = self._known_beforehand(edge)
        if known is not None:
            self._guess(edge.source, known)
        # Most dependencies name one version in full; then nobody needs a list of tags.
        if edge.request.only_tag is None:
            tags = self._tags(edge.source)
            if known is None:
                tags.add_done_callback(lambda done: self._guess_highest(edge, major, done))

    def _known_beforehand(self, edge: Edge) -> Candidate | None:
        """Return what will answer a dependency, if that can be told without a list of tags."""
        preferred = self._preferred.get(edge.source)
        if preferred is not None and preferred.answers(edge.request):
            return preferred
        tag, digest = edge.request.only_tag or edge.request.tag, edge.request.digest
        return Candidate(tag, digest=digest) if tag or digest else None

    def _guess_highest(self, edge: Edge, major: int | None, done: "Future[tuple[str, ...]]") -> None:
        if done.cancelled() or done.exception():
            return
        universe = make_universe(done.result(), (), {})
        bits = universe.answering(edge.request)
        bits = bits & universe.of_majors({major} if major is not None else set()) or bits
        if bits:
            self._guess(edge.source, universe.candidates[highest(bits)])

    def _guess(self, source: Source, candidate: Candidate) -> None:
        found = self._package(source, candidate)
        found.add_done_callback(lambda future: self._expect_dependencies(source, candidate, future))

    def _expect_dependencies(self, source: Source, candidate: Candidate, found: "Future[Package]") -> None:
        if found.cancelled() or found.exception():
            return
        package = found.result()
        try:
            edges = self._edges(source, package)
        except RenderError:
            # It is only a guess; if the search gets here, it meets the same error.
            return
        version = parse_candidate(candidate.tag) if candidate.tag and self._follow_families else None
        for edge in edges:
            in_family = version is not None and edge.source.name == package.metadata.family
            self.expect(edge, major=version.major if version and in_family else None)

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
