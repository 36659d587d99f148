"""A catalog file → its rows: which versions of which source define a kind."""

from collections.abc import Iterator

from render.crd_dependencies import CATALOG_API, CATALOG_KIND, NO_SINGULAR, CatalogRow, make_crd
from render.errors import RenderError, in_one_line
from render.inputs.problems import placed
from render.limits import Limits
from render.references import parse_digest, parse_source
from render.versions.constraints import parse_constraint
from render.yaml.documents import file_rules, parse_documents
from render.yaml.fields import Fields, Problems

_COLUMNS = ("group", "version", "kind", "plural", "singular", "source", "versions", "digest")
_KEYS = frozenset({"apiVersion", "kind", "rows"})


def parse_catalog(data: bytes, file: str, limits: Limits, problems: list[str]) -> tuple[CatalogRow, ...]:
    """Parse a catalog file; add to the problems."""
    found = Problems()
    rows: tuple[CatalogRow, ...] = ()
    try:
        documents = parse_documents(data, file_rules(limits))
        top = Fields(documents[0] if len(documents) == 1 else None, found)
        top.allow(_KEYS)
        top.expect("apiVersion", CATALOG_API)
        top.expect("kind", CATALOG_KIND)
        rows = tuple(_parse_rows(top, file))
    except RenderError as error:
        found.add((), in_one_line(error))
    problems.extend(placed(file, found.texts()))
    return rows


def _parse_rows(top: Fields, file: str) -> Iterator[CatalogRow]:
    for i, text in enumerate(top.list_of_texts("rows")):
        columns = text.split()
        if len(columns) != len(_COLUMNS):
            top.complain(f"expected {' '.join(_COLUMNS)}", "rows", i)
            continue
        with top.errors_at("rows", i):
            yield _parse_row(columns, file)


def _parse_row(columns: list[str], file: str) -> CatalogRow:
    group, version, kind, plural, singular, source, versions, digest = columns
    for name in (kind, plural):
        make_crd(group, version, name)
    parse_constraint(versions)
    singular = "" if singular == NO_SINGULAR else singular
    return CatalogRow(
        group, version, kind, parse_source(source), versions, parse_digest(digest), plural, singular, file
    )
