"""Questions to the catalog, asked ahead of time and in parallel, so that the network is never idle without need."""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock
from types import TracebackType
from typing import Any, TypeVar

from render.errors import RenderError
from render.limits import Limits
from render.packages import Package
from render.references import Digest, Reference, Source
from render.resolve.candidates import highest, make_universe
from render.resolve.model import Candidate, Catalog, Edge, Wanted
from render.resolve.workers import AT_ONCE, Workers
from render.versions import parse_candidate

Result = TypeVar("Result")


class Fetcher:
    """Asks each question once, and likely ones before the search needs their answers."""

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
        self._workers = Workers(limits.parallel, name="xplock-fetch")
        self._lock = Lock()
        self._asked: dict[object, Future[Any]] = {}
        self._guessed: set[Source] = set()

    def __enter__(self) -> "Fetcher":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._workers.stop()

    def tags(self, source: Source) -> tuple[str, ...]:
        """Return all tags of a source."""
        return self._tags(source, AT_ONCE).result()

    def package(self, source: Source, candidate: Candidate) -> Package:
        """Return the package behind a candidate."""
        return self._package(source, candidate, AT_ONCE).result()

    def digests(self, source: Source, tags: tuple[str, ...]) -> dict[Digest, str]:
        """Return which of these tags carries which digest; of several, the last."""
        asked = [(tag, self._package(source, Candidate(tag), AT_ONCE)) for tag in tags]
        return {future.result().digest: tag for tag, future in asked}

    def expect(self, edge: Edge, *, major: int | None = None, depth: int = 0) -> None:
        """Ask ahead for what will probably answer a dependency, and for what that depends on in turn.

        A family package will probably have the major version of its members. The deeper a dependency is, the
        sooner it is asked for: more questions may follow from its answer, and each takes a round trip.
        """
        with self._lock:
            if edge.source in self._guessed or edge.source in self._provided:
                return
            self._guessed.add(edge.source)
        known = self._known_beforehand(edge)
        if known is not None:
            self._guess(edge.source, known, depth)
        # Most dependencies name one version in full; then no list of tags is needed.
        if edge.request.only_tag is None:
            tags = self._tags(edge.source, depth)
            if known is None:
                tags.add_done_callback(lambda done: self._guess_highest(edge, major, depth, done))

    def _known_beforehand(self, edge: Edge) -> Candidate | None:
        """Return the candidate that will answer a dependency, if that is known without a list of tags."""
        preferred = self._preferred.get(edge.source)
        if preferred is not None and preferred.answers(edge.request):
            return preferred
        tag, digest = edge.request.only_tag or edge.request.tag, edge.request.digest
        return Candidate(tag, digest=digest) if tag or digest else None

    def _guess_highest(
        self, edge: Edge, major: int | None, depth: int, done: "Future[tuple[str, ...]]"
    ) -> None:
        if done.cancelled() or done.exception():
            return
        universe = make_universe(done.result(), (), {})
        bits = universe.answering(edge.request)
        bits = bits & universe.of_majors({major} if major is not None else set()) or bits
        if bits:
            self._guess(edge.source, universe.candidates[highest(bits)], depth)

    def _guess(self, source: Source, candidate: Candidate, depth: int) -> None:
        found = self._package(source, candidate, depth)
        found.add_done_callback(lambda future: self._expect_dependencies(source, candidate, depth, future))

    def _expect_dependencies(
        self, source: Source, candidate: Candidate, depth: int, found: "Future[Package]"
    ) -> None:
        if found.cancelled() or found.exception():
            return
        package = found.result()
        try:
            edges = self._edges(source, package)
        except RenderError:
            # This is only a guess; the search will meet the same error if it gets here.
            return
        version = parse_candidate(candidate.tag) if candidate.tag and self._follow_families else None
        for edge in edges:
            in_family = version is not None and edge.source.name == package.metadata.family
            self.expect(edge, major=version.major if version and in_family else None, depth=depth + 1)

    def _tags(self, source: Source, urgency: int) -> "Future[tuple[str, ...]]":
        return self._ask(source, urgency, lambda: tuple(self._catalog.tags(source)))

    def _package(self, source: Source, candidate: Candidate, urgency: int) -> "Future[Package]":
        reference = candidate.reference(source)
        pinned = self._pinned.get(reference)
        if pinned is not None:
            reference = Reference(source, digest=pinned)
        return self._ask(reference, urgency, lambda: self._catalog.package(reference))

    def _ask(self, key: Source | Reference, urgency: int, fetch: Callable[[], Result]) -> "Future[Result]":
        with self._lock:
            known = self._asked.get(key)
            if known is None:
                known = self._asked[key] = self._workers.submit(fetch, urgency)
            elif urgency == AT_ONCE:
                self._workers.hurry(known, fetch)
            return known
