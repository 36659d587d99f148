"""The two documents of a lock, each read by itself."""

from collections.abc import Callable, Mapping, Sequence

from render.crd_dependencies import CrdAnswer
from render.lean import Any, TypeVar, dataclass
from render.limits import LimitExceeded, Limits
from render.lock.model import (
    FORMAT_REVISION,
    FORMAT_VERSION,
    LockedDependency,
    LockedPackage,
    Promotion,
    Provided,
)
from render.lock.text.entries import (
    read_answers,
    read_deactivated,
    read_kind,
    read_package,
    read_provided,
    read_source,
    read_version,
)
from render.lock.text.format import DETAILS_API, LOCK_API, METADATA, PACKAGE_API
from render.lock.text.promotion import read_promotion
from render.packages import Kind
from render.references import Source, is_digest, parse_dependency_source
from render.versions.constraints import parse_constraint
from render.yaml.documents import Place, find_lines
from render.yaml.fields import Fields, Problems, describe, format_place

DOCUMENTS = ("Lock", "LockDetails")
_LOCK_FIELDS = frozenset({"apiVersion", "kind", "metadata", "packages"})
_DETAILS_FIELDS = _LOCK_FIELDS | {
    "version",
    "revision",
    "inputs",
    "promoted",
    "crds",
    "deactivated",
    "provided",
}
_ENTRY_FIELDS = frozenset({"apiVersion", "kind", "name", "source", "version", "dependencies"})
_DEPENDENCY_FIELDS = frozenset({"package", "constraints", "apiVersion", "kind", "type"})
_KINDS = frozenset(Kind)
_ANY_KIND = " or ".join(Kind)
_NO_SOURCE = Source("", "")
_HIGHEST_REVISION = 1_000_000_000


class LockProblems(Problems):
    """The problems of a lock, each with its place and the line there."""

    __slots__ = ("doubled", "limits")

    def __init__(self, limits: Limits) -> None:
        super().__init__()
        self.limits = limits
        # How many of the problems are a package that is listed twice.
        self.doubled = 0

    def add_doubled(self, place: Place, source: object) -> None:
        """Record a package that is listed twice, as Git may merge it."""
        self.add(place, f"{source} is listed a second time")
        self.doubled += 1

    def with_lines(self, data: bytes, lines: Sequence[int] = ()) -> list[str]:
        """Return the problems in the order of their lines; `lines` are those of the file this text was cut from."""
        places = {place[:i] for place, _ in self.found for i in range(1, len(place) + 1)}
        known = find_lines(data, places)
        numbered = [(_nearest_line(place, known), _in_document(place), text) for place, text in self.found]
        return [
            f"line {lines[line - 1] if lines else line}: {place}{text}"
            for line, place, text in sorted(numbered)
        ]


def _nearest_line(place: Place, known: Mapping[Place, int]) -> int:
    # A missing field has no line of its own, so its mapping gives the line.
    found = (known[place[:i]] for i in range(len(place), 0, -1) if place[:i] in known)
    return next(found, 1)


def _in_document(place: Place) -> str:
    return f"{format_place((DOCUMENTS[int(place[0])], *place[1:]))}: " if place else ""


@dataclass(frozen=True, slots=True)
class LockEntry:
    """The entry of a package in the first document."""

    # The source in the cluster, by which both documents are joined.
    source: Source
    kind: Kind
    name: str
    version: str
    dependencies: tuple[LockedDependency, ...]
    index: int


@dataclass(frozen=True, slots=True)
class DetailsEntry:
    """The entry of a package in the second document, without version, kind and dependencies."""

    package: LockedPackage
    index: int

    @property
    def source(self) -> Source:
        """The source that the package has in the cluster."""
        return self.package.cluster_source


E = TypeVar("E", LockEntry, DetailsEntry)


@dataclass(frozen=True, slots=True)
class LockDocuments:
    """Both documents as they are; they may disagree, or hold a source twice."""

    entries: tuple[LockEntry, ...]
    details: tuple[DetailsEntry, ...]
    inputs: Mapping[str, str]
    revision: int
    # Every source in each document, including those of packages with a problem.
    named: tuple[frozenset[Source], frozenset[Source]]
    deactivated: tuple[LockedPackage, ...] = ()
    provided: tuple[Provided, ...] = ()
    crds: tuple[CrdAnswer, ...] = ()
    promoted: Promotion | None = None


def read_documents(first: Any, second: Any, problems: LockProblems) -> LockDocuments:
    """Read both documents; leave out packages that have a problem."""
    lock, details = Fields(first, problems, (0,)), Fields(second, problems, (1,))
    revision = _read_revision(details)
    problems.ignore_unknown = revision > FORMAT_REVISION
    _read_head(lock, LOCK_API, "Lock", _LOCK_FIELDS)
    _read_head(details, DETAILS_API, "LockDetails", _DETAILS_FIELDS)
    entries, in_lock = _read_packages(lock, _read_entry, problems)
    more, in_details = _read_packages(details, _read_details, problems)
    return LockDocuments(
        entries,
        more,
        _read_inputs(details),
        revision,
        (in_lock, in_details),
        tuple(read_deactivated(entry) for entry in _mappings(details, "deactivated", problems.limits)),
        tuple(read_provided(entry) for entry in _mappings(details, "provided", problems.limits)),
        read_answers(details, "crds"),
        read_promotion(details, len(in_lock)) if details.get("promoted") is not None else None,
    )


def _read_revision(details: Fields) -> int:
    version, revision = details.get("version"), details.get("revision")
    if type(version) is not int or version != FORMAT_VERSION:
        details.complain(
            f"expected {FORMAT_VERSION}, which is supported; found {describe(version)}", "version"
        )
    if type(revision) is int and 0 <= revision <= _HIGHEST_REVISION:
        return revision
    details.complain(f"expected a whole number from 0 on; found {describe(revision)}", "revision")
    return FORMAT_REVISION


def _read_head(document: Fields, api_version: str, kind: str, known: frozenset[str]) -> None:
    document.allow(known)
    document.expect("apiVersion", api_version)
    document.expect("kind", kind)
    if document.get("metadata") != METADATA and not document.problems.ignore_unknown:
        document.complain("expected the name and the two annotations that xplock writes", "metadata")


def _read_inputs(details: Fields) -> dict[str, str]:
    if details.get("inputs") is None:
        details.complain("inputs is missing")
    inputs = details.mapping("inputs").value
    for name, digest in inputs.items():
        if not isinstance(digest, str) or not is_digest(digest):
            details.complain(f"expected a digest, found {describe(digest)}", "inputs", name)
    return inputs


def _read_packages(
    document: Fields, read: Callable[[Fields], E], problems: LockProblems
) -> tuple[tuple[E, ...], frozenset[Source]]:
    found: list[E] = []
    named: set[Source] = set()
    for entry in _mappings(document, "packages", problems.limits, required=True):
        known = len(problems)
        value = read(entry)
        named.add(value.source)
        # An entry that is not a mapping has been reported, and has no source.
        if len(problems) == known and value.source != _NO_SOURCE:
            found.append(value)
    return tuple(found), frozenset(named - {_NO_SOURCE})


def _mappings(document: Fields, key: str, limits: Limits, *, required: bool = False) -> list[Fields]:
    entries = document.mappings(key, required=required)
    if len(entries) > limits.packages:
        raise LimitExceeded("a lock holds too many packages", "packages", limits, found=f"{len(entries):,}")
    return entries


def _read_entry(entry: Fields) -> LockEntry:
    entry.allow(_ENTRY_FIELDS)
    entry.expect("apiVersion", PACKAGE_API)
    return LockEntry(
        source=read_source(entry),
        kind=read_kind(entry),
        name=entry.required_text("name") or "",
        version=read_version(entry),
        dependencies=tuple(
            _read_dependency(dependency) for dependency in entry.mappings("dependencies", required=True)
        ),
        index=int(entry.place[-1]),
    )


def _read_details(entry: Fields) -> DetailsEntry:
    return DetailsEntry(read_package(entry), int(entry.place[-1]))


def _read_dependency(entry: Fields) -> LockedDependency:
    entry.allow(_DEPENDENCY_FIELDS)
    package, constraints = entry.required_text("package"), entry.required_text("constraints")
    entry.parse_text(package, parse_dependency_source, "package")
    entry.parse_text(constraints, parse_constraint, "constraints")
    api_version, kind, kind_alone = (
        entry.optional_text("apiVersion"),
        entry.optional_text("kind"),
        entry.optional_text("type"),
    )
    if (api_version is None) != (kind is None) or (kind is not None and kind_alone is not None):
        entry.complain("expected apiVersion and kind, or type, or neither")
    if kind_alone is not None and kind_alone not in _KINDS:
        entry.complain(f"expected {_ANY_KIND}, found {describe(kind_alone)}", "type")
    return LockedDependency(package or "", constraints or "", kind or kind_alone, api_version)
