"""The project's catalog: the kinds that its sources define, each opened at one version, and those of its files."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

from render.crd_dependencies import CatalogRow, CatalogSource, CrdRequest
from render.errors import RenderError, Unsatisfiable, in_one_line
from render.limits import Limits
from render.references import Source
from render.resolve.crds.index import Index, Matches, Row, read_rows
from render.resolve.crds.model import Asked
from render.resolve.model import Candidate, Wanted
from render.resolve.prefetch import Fetcher
from render.versions.requests import Request
from render.versions.semantic import order_candidates


class UnreadableCatalog(RenderError):
    """Sources of the catalog that cannot be read, so that it is not known what they define."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(
            "the catalog cannot be searched",
            why=problems,
            next="correct these entries of `catalog`, or remove them",
        )


@dataclass(frozen=True, slots=True)
class Opened:
    """A source of the catalog at the version that was read."""

    source: Source
    candidate: Candidate
    rows: tuple[Row, ...]

    def __str__(self) -> str:
        return f"{self.source} {self.candidate}"


class CatalogLookup:
    """Looks in the catalog; its sources are opened for the first question that the closure does not answer."""

    def __init__(self, wanted: Wanted, fetcher: Fetcher, limits: Limits) -> None:
        self._wanted = wanted
        self._fetcher = fetcher
        self._limits = limits

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to look in."""
        return not (self._wanted.catalog or self._wanted.catalog_rows)

    def find(self, crd: CrdRequest) -> Matches:
        """Return the sources of the catalog that define what is asked for."""
        return self.index.find(crd)

    def kept(self, asked: Asked) -> Source | None:
        """Return the package that answered in the last lock, if it is still listed, locked, and serves it.

        Then no other source is opened, so that a lock is confirmed without asking registries.
        """
        source = self._wanted.kept_answers.get(asked)
        locked = self._wanted.preferred.get(source) if source else None
        if source is None or locked is None or not self._lists(source, locked):
            return None
        rows = Index(read_rows(source, self._fetcher.definitions(source, locked)))
        return source if rows.find(asked.crd).served else None

    def _lists(self, source: Source, locked: Candidate) -> bool:
        targets = self._wanted.moves
        entries = [one for one in self._wanted.catalog if source in targets.get(one.source, (one.source,))]
        if any(not locked.answers(Request.of(entry.constraint)) for entry in entries):
            return False
        return bool(entries) or any(row.source == source for row in self._wanted.catalog_rows)

    def places(self, source: Source) -> list[str]:
        """Return where the catalog lists a source."""
        targets = self._wanted.moves
        listed = [
            one.place for one in self._wanted.catalog if source in targets.get(one.source, (one.source,))
        ]
        return sorted({*listed, *(row.place for row in self._wanted.catalog_rows if row.source == source)})

    def searched(self) -> list[str]:
        """Return the sources that were looked in, with their versions."""
        return sorted({*map(str, self.opened), *(str(row.source) for row in self._wanted.catalog_rows)})

    @cached_property
    def index(self) -> Index:
        """Everything that the catalog defines."""
        rows = [row for one in self.opened for row in one.rows]
        return Index({*rows, *_rows_of(self._wanted.catalog_rows)})

    @cached_property
    def opened(self) -> list[Opened]:
        """Every source of the catalog, opened; all errors are reported together."""
        entries = sorted(self._wanted.catalog, key=lambda entry: (entry.source, entry.place))
        with ThreadPoolExecutor(self._limits.parallel, thread_name_prefix="xplock-catalog") as pool:
            found = list(pool.map(self._try_open, entries))
        problems = [str(one) for one in found if isinstance(one, str)]
        if problems:
            raise UnreadableCatalog(problems)
        return [one for group in found if not isinstance(group, str) for one in group]

    def _try_open(self, entry: CatalogSource) -> list[Opened] | str:
        try:
            targets = self._wanted.moves.get(entry.source, (entry.source,))
            return [self._open(source, entry) for source in targets]
        except RenderError as error:
            return f"{entry.place}: {in_one_line(error, advice=False)}"

    def _open(self, source: Source, entry: CatalogSource) -> Opened:
        # Nothing is asked of a source that policies refuse.
        if refused := self._wanted.judge.refuse_source(source):
            raise Unsatisfiable("; ".join(map(str, refused)))
        candidate = self._choose(source, Request.of(entry.constraint))
        definitions = self._fetcher.definitions(source, candidate)
        return Opened(source, candidate, tuple(read_rows(source, definitions)))

    def _choose(self, source: Source, request: Request) -> Candidate:
        """Return the locked version, else the highest that the entry accepts."""
        locked = self._wanted.preferred.get(source)
        if locked is not None and locked.answers(request):
            return locked
        if request.digest:
            return Candidate(None, digest=request.digest)
        tags = self._fetcher.tags(source)
        fitting = [one for one in candidates_of(tags) if one.answers(request)]
        if not fitting:
            raise RenderError(f"{source} has no version that suits {request}")
        return fitting[-1]


def candidates_of(tags: Iterable[str]) -> list[Candidate]:
    """Return the versions among tags as candidates, lowest first."""
    return [Candidate(version.text, version) for version in order_candidates(list(tags))]


def _rows_of(rows: Iterable[CatalogRow]) -> set[Row]:
    """Return the rows of catalog files, those of one kind and source joined."""
    served: dict[tuple[Source, str, str, str, str], set[str]] = {}
    for row in rows:
        served.setdefault((row.source, row.group, row.plural, row.singular, row.kind), set()).add(row.version)
    return {Row(*key, tuple(sorted(versions))) for key, versions in served.items()}
