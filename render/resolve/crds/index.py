"""Which packages define a kind: one look-up by group and name."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from render.crd_dependencies import CrdRequest
from render.references import Source
from render.xpkg.definitions import Definition


@dataclass(frozen=True, slots=True, order=True)
class Row:
    """A kind that a package defines."""

    source: Source
    group: str
    plural: str
    singular: str
    kind: str
    # The API versions that are served, in the order of the definition.
    served: tuple[str, ...]

    @property
    def words(self) -> frozenset[str]:
        """The names that a dependency may have for it, in lower case."""
        return frozenset({self.plural.lower(), self.singular.lower(), self.kind.lower()} - {""})

    @property
    def described(self) -> str:
        """The kind with its versions, as errors show it."""
        return f"{self} ({', '.join(self.served) or 'no version served'})"

    def __str__(self) -> str:
        return f"{self.plural or self.kind.lower()}.{self.group}"


@dataclass(frozen=True, slots=True)
class Matches:
    """The sources that define what is asked for: at a fitting version, and at other ones only."""

    served: tuple[Source, ...] = ()
    named: tuple[Source, ...] = ()

    @property
    def best(self) -> tuple[Source, ...]:
        """The sources that serve it, or else those that define it at other versions."""
        return self.served or self.named


class Index:
    """The kinds of some packages."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self.rows = tuple(sorted(rows))
        self._groups: dict[str, list[Row]] = defaultdict(list)
        self._named: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in self.rows:
            self._groups[row.group].append(row)
            for word in row.words:
                self._named[row.group, word].append(row)

    @property
    def groups(self) -> list[str]:
        """Every group, sorted."""
        return sorted(self._groups)

    def rows_for(self, crd: CrdRequest) -> list[Row]:
        """Return the kinds that a request names, at whatever version."""
        if crd.is_wildcard:
            return self._groups.get(crd.group, [])
        return self._named.get((crd.group, crd.name), [])

    def find(self, crd: CrdRequest) -> Matches:
        """Return the sources that define what is asked for."""
        rows = self.rows_for(crd)
        served = {row.source for row in rows if crd.accepts_version(row.served)}
        return Matches(tuple(sorted(served)), tuple(sorted({row.source for row in rows} - served)))

    def in_group(self, group: str) -> list[Row]:
        """Return the kinds of a group."""
        return self._groups.get(group, [])


def read_rows(source: Source, definitions: Iterable[Definition]) -> Iterator[Row]:
    """Yield the kinds that the definitions of a package define; an XRD may define a claim, too."""
    for one in definitions:
        plural, _, group = one.name.partition(".")
        served = tuple(version.name for version in one.versions if version.served)
        yield Row(source, one.group or group, one.plural or plural, one.singular, one.kind, served)
        if one.claim_kind:
            singular = one.claim_kind.lower()
            yield Row(source, one.group or group, one.claim_plural, singular, one.claim_kind, served)


def index_packages(packages: Mapping[Source, Iterable[Definition]]) -> Index:
    """Return the index of some packages."""
    return Index(row for source, definitions in packages.items() for row in read_rows(source, definitions))
