"""Building a catalog file: the kinds that the packages of some sources define."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from render.app.operator_settings import OperatorSettings
from render.app.packages.catalog_sources import WantedSource, parse_sources
from render.app.reporter import Reporter
from render.app.world import open_world
from render.crd_dependencies import CATALOG_API, CATALOG_KIND, CatalogRow
from render.errors import RenderError, in_one_line
from render.inputs.projects import read_settings
from render.limits import Limits
from render.lock.text.file import read_lock
from render.references import Digest, Reference, Source
from render.registry.layout import Layout
from render.resolve.crds.index import Row, read_rows
from render.resolve.crds.lookup import candidates_of
from render.resolve.model import Candidate
from render.versions.requests import Request
from render.xpkg.catalog import Catalog
from render.yaml.writer import format_document

_HEADER = "# Written by `xplock catalog build`: group, version, kind, plural, singular, source, its versions, digest.\n"


class UnreadableSources(RenderError):
    """Sources that cannot be read, so that it is not known what they define."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(
            "the catalog is not built",
            why=problems,
            next="correct these sources, or leave them out",
        )


@dataclass(frozen=True, slots=True)
class _Opened:
    """A version of a source, and the kinds that it defines."""

    candidate: Candidate
    digest: Digest
    rows: tuple[Row, ...]


def build_catalog(
    sources: Sequence[str],
    folder: Path,
    layouts: Sequence[tuple[str, Path]],
    operator: OperatorSettings,
    reporter: Reporter,
    *,
    every_version: bool = False,
) -> tuple[CatalogRow, ...]:
    """Read the highest version of every source, or every version, and return what they define."""
    settings = read_settings(folder, operator.limits)
    world, everywhere = open_world(operator, reporter), [*layouts, *settings.layouts]
    listed = _listed(world.layouts(everywhere), folder, operator.limits) if "*" in "".join(sources) else set()
    wanted = parse_sources(sources, listed)
    catalog = world.catalog(everywhere, settings.rewrites)

    def read(one: WantedSource) -> list[CatalogRow] | str:
        try:
            return list(_rows(one.source, _open(one, catalog, every_version=every_version)))
        except RenderError as error:
            return f"{one.source}: {in_one_line(error, advice=False)}"

    with (
        reporter.busy("reading what packages define"),
        ThreadPoolExecutor(operator.limits.parallel, thread_name_prefix="xplock-catalog") as pool,
    ):
        found = list(pool.map(read, wanted))
    problems = [one for one in found if isinstance(one, str)]
    if problems:
        raise UnreadableSources(problems)
    return tuple(sorted({row for rows in found if not isinstance(rows, str) for row in rows}))


def _listed(layouts: Sequence[tuple[str, Layout]], folder: Path, limits: Limits) -> set[Source]:
    """Return the sources that layouts and the lock of a folder name; no registry is asked."""
    lock = read_lock(folder, limits)
    images = (reference for _, layout in layouts for reference, _ in layout.images())
    return {*(lock.packages if lock else ()), *(reference.source for reference in images if reference)}


def format_catalog(rows: Iterable[CatalogRow]) -> str:
    """Return the text of a catalog file, its rows sorted."""
    document = {"apiVersion": CATALOG_API, "kind": CATALOG_KIND, "rows": sorted(row.text for row in rows)}
    return _HEADER + format_document(document)


def _open(one: WantedSource, catalog: Catalog, *, every_version: bool) -> list[_Opened]:
    """Return the versions that are read, lowest first."""
    request = Request.of(one.constraint)
    fitting = [
        candidate for candidate in candidates_of(catalog.tags(one.source)) if candidate.answers(request)
    ]
    if not fitting:
        raise RenderError(f"it has no version that suits {request}")
    return [
        _read(one.source, candidate, catalog) for candidate in (fitting if every_version else fitting[-1:])
    ]


def _read(source: Source, candidate: Candidate, catalog: Catalog) -> _Opened:
    digest = catalog.digest(candidate.reference(source))
    definitions = catalog.definitions(Reference(source, digest=digest)).definitions
    return _Opened(candidate, digest, tuple(read_rows(source, definitions)))


def _rows(source: Source, opened: Sequence[_Opened]) -> Iterator[CatalogRow]:
    """Yield a row for each kind and API version, with the versions of the package that serve it."""
    serving: dict[tuple[str, str, str, str, str], list[_Opened]] = {}
    for one in opened:
        for row in one.rows:
            for version in row.served:
                key = row.group, version, row.kind, row.plural, row.singular
                serving.setdefault(key, []).append(one)
    for (group, version, kind, plural, singular), found in serving.items():
        lowest, highest = found[0], found[-1]
        versions = f">={lowest.candidate}" + ("" if highest is opened[-1] else f",<={highest.candidate}")
        yield CatalogRow(group, version, kind, source, versions, highest.digest, plural, singular)
