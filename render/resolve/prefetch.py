"""Questions to the catalog, asked ahead of time and in parallel, so that the network is never idle without need."""

from collections.abc import Callable, Hashable
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
from render.versions.version import parse_candidate
from render.xpkg.definitions import Definition

Result = TypeVar("Result")

# How many urgencies one level of dependencies has.
_LEVEL = 1 << 10


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
        self._judge = wanted.judge
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

    def definitions(self, source: Source, candidate: Candidate) -> tuple[Definition, ...]:
        """Return the definitions of the package behind a candidate."""
        digest = candidate.digest or self.package(source, candidate).digest
        reference = Reference(source, digest=digest)
        asked = self._ask((source, digest), AT_ONCE, lambda: self._catalog.definitions(reference))
        return asked.result().definitions

    def digests(self, source: Source, tags: tuple[str, ...]) -> dict[Digest, str]:
        """Return which of these tags carries which digest; of several, the last."""
        asked = [(tag, self._package(source, Candidate(tag), AT_ONCE)) for tag in tags]
        return {future.result().digest: tag for tag, future in asked}

    def expect(self, edge: Edge, *, major: int | None = None, urgency: int = 0) -> None:
        """Ask ahead for what will probably answer a dependency, and for what that depends on in turn.

        A family package will probably have the major version of its members. Deeper dependencies
        are asked for sooner: more questions may follow from their answers, and each takes a round trip. Within a
        level the first dependency of every package comes before the second of any: the dependencies of one
        package often belong to one family, so the other packages lead to the other families.
        """
        if edge.source in self._provided or self._judge.refuse_source(edge.source):
            return
        with self._lock:
            is_first = edge.source not in self._guessed
            self._guessed.add(edge.source)
        known = self._known_beforehand(edge)
        if is_first and known is not None:
            self._guess(edge.source, known, urgency)
        # Most dependencies name one version in full; then no list of tags is needed.
        if edge.request.only_tag is None:
            tags = self._tags(edge.source, urgency)
            if is_first and known is None:
                tags.add_done_callback(lambda done: self._guess_highest(edge, major, urgency, done))

    def _known_beforehand(self, edge: Edge) -> Candidate | None:
        """Return the candidate that will answer a dependency, if that is known without a list of tags."""
        preferred = self._preferred.get(edge.source)
        if preferred is not None and preferred.answers(edge.request):
            return preferred
        tag, digest = edge.request.only_tag or edge.request.tag, edge.request.digest
        return Candidate(tag, digest=digest) if tag or digest else None

    def _guess_highest(
        self, edge: Edge, major: int | None, urgency: int, done: "Future[tuple[str, ...]]"
    ) -> None:
        if done.cancelled() or done.exception():
            return
        universe = make_universe(done.result(), (), {})
        bits = universe.answering(edge.request)
        bits = bits & universe.of_majors({major} if major is not None else set()) or bits
        if bits:
            self._guess(edge.source, universe.candidates[highest(bits)], urgency)

    def _guess(self, source: Source, candidate: Candidate, urgency: int) -> None:
        if self._judge.refuse_source(source, candidate.tag, candidate.digest):
            return
        found = self._package(source, candidate, urgency)
        found.add_done_callback(lambda future: self._expect_dependencies(source, candidate, urgency, future))

    def _expect_dependencies(
        self, source: Source, candidate: Candidate, urgency: int, found: "Future[Package]"
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
        for position, edge in enumerate(edges):
            in_family = version is not None and edge.source.name == package.metadata.family
            major = version.major if version and in_family else None
            self.expect(edge, major=major, urgency=_next_urgency(urgency, position))

    def _tags(self, source: Source, urgency: int) -> "Future[tuple[str, ...]]":
        return self._ask(source, urgency, lambda: tuple(self._catalog.tags(source)))

    def _package(self, source: Source, candidate: Candidate, urgency: int) -> "Future[Package]":
        reference = candidate.reference(source)
        pinned = self._pinned.get(reference)
        if pinned is not None:
            reference = Reference(source, digest=pinned)
        return self._ask(reference, urgency, lambda: self._catalog.package(reference))

    def _ask(self, key: Hashable, urgency: int, fetch: Callable[[], Result]) -> "Future[Result]":
        with self._lock:
            known = self._asked.get(key)
            if known is None:
                known = self._asked[key] = self._workers.submit(fetch, urgency)
            elif urgency == AT_ONCE:
                self._workers.hurry(known, fetch)
            return known


def _next_urgency(urgency: int, position: int) -> int:
    """Return the urgency of a dependency, from that of its dependant and its position there."""
    return (urgency // _LEVEL + 1) * _LEVEL + max(_LEVEL - 1 - position, 0)
