"""The two documents of a lock, each read by itself."""

from collections.abc import Callable, Mapping

from render.constraints import parse_constraint
from render.lean import Any, TypeVar, dataclass
from render.limits import LimitExceeded
from render.lock.entries import (
    read_deactivated,
    read_kind,
    read_package,
    read_provided,
    read_source,
    read_version,
)
from render.lock.findings import Findings, Node, describe
from render.lock.format import DETAILS_API, LOCK_API, METADATA, PACKAGE_API
from render.lock.model import FORMAT_REVISION, FORMAT_VERSION, LockedDependency, LockedPackage, Provided
from render.packages import Kind
from render.references import Source, is_digest, parse_dependency_source

_LOCK_FIELDS = frozenset({"apiVersion", "kind", "metadata", "packages"})
_DETAILS_FIELDS = _LOCK_FIELDS | {"version", "revision", "inputs", "deactivated", "provided"}
_ENTRY_FIELDS = frozenset({"apiVersion", "kind", "name", "source", "version", "dependencies"})
_DEPENDENCY_FIELDS = frozenset({"package", "constraints", "apiVersion", "kind", "type"})
_KINDS = frozenset(Kind)
_ANY_KIND = " or ".join(Kind)
_NO_SOURCE = Source("", "")
_HIGHEST_REVISION = 1_000_000_000


@dataclass(frozen=True, slots=True)
class LockEntry:
    """What the first document says of a package."""

    # As the cluster knows it; both documents are joined by that.
    source: Source
    kind: Kind
    name: str
    version: str
    dependencies: tuple[LockedDependency, ...]
    index: int


@dataclass(frozen=True, slots=True)
class DetailsEntry:
    """What the second document says of a package; its version, kind and dependencies are missing."""

    package: LockedPackage
    index: int

    @property
    def source(self) -> Source:
        """The source by which the cluster knows it."""
        return self.package.cluster_source


E = TypeVar("E", LockEntry, DetailsEntry)


@dataclass(frozen=True, slots=True)
class Halves:
    """Both documents; whether they agree, and hold each source once, is another question."""

    entries: tuple[LockEntry, ...]
    details: tuple[DetailsEntry, ...]
    inputs: Mapping[str, str]
    revision: int
    # Every source that a document names, also those whose package has a problem.
    named: tuple[frozenset[Source], frozenset[Source]]
    deactivated: tuple[LockedPackage, ...] = ()
    provided: tuple[Provided, ...] = ()


def read_halves(first: Any, second: Any, findings: Findings) -> Halves:
    """Read both documents; a package with a problem is left out."""
    lock, details = Node(first, (0,), findings), Node(second, (1,), findings)
    revision = _read_revision(details)
    findings.tolerant = revision > FORMAT_REVISION
    _read_head(lock, LOCK_API, "Lock", _LOCK_FIELDS)
    _read_head(details, DETAILS_API, "LockDetails", _DETAILS_FIELDS)
    entries, in_lock = _read_packages(lock, _read_entry, findings)
    more, in_details = _read_packages(details, _read_details, findings)
    return Halves(
        entries,
        more,
        _read_inputs(details),
        revision,
        (in_lock, in_details),
        tuple(read_deactivated(node) for node in _nodes(details, "deactivated", required=False)),
        tuple(read_provided(node) for node in _nodes(details, "provided", required=False)),
    )


def _read_revision(details: Node) -> int:
    version, revision = details.get("version"), details.get("revision")
    if type(version) is not int or version != FORMAT_VERSION:
        details.complain(
            f"expected {FORMAT_VERSION}, which is supported; found {describe(version)}", "version"
        )
    if type(revision) is int and 0 <= revision <= _HIGHEST_REVISION:
        return revision
    details.complain(f"expected a whole number from 0 on; found {describe(revision)}", "revision")
    return FORMAT_REVISION


def _read_head(document: Node, api_version: str, kind: str, known: frozenset[str]) -> None:
    document.allow(known)
    document.expect("apiVersion", api_version)
    document.expect("kind", kind)
    if document.get("metadata") != METADATA and not document.findings.tolerant:
        document.complain("expected the name and the two annotations that xplock writes", "metadata")


def _read_inputs(details: Node) -> dict[str, str]:
    inputs = details.mapping("inputs", required=True)
    for name, digest in inputs.items():
        if not isinstance(digest, str) or not is_digest(digest):
            details.complain(f"expected a digest, found {describe(digest)}", "inputs", name)
    return inputs


def _read_packages(
    document: Node, read: Callable[[Node], E], findings: Findings
) -> tuple[tuple[E, ...], frozenset[Source]]:
    found: list[E] = []
    named: set[Source] = set()
    for node in _nodes(document, "packages"):
        problems = len(findings.problems)
        value = read(node)
        named.add(value.source)
        if len(findings.problems) == problems:
            found.append(value)
    return tuple(found), frozenset(named - {_NO_SOURCE})


def _nodes(document: Node, key: str, *, required: bool = True) -> list[Node]:
    nodes, limits = document.nodes(key, required=required), document.findings.limits
    if len(nodes) > limits.packages:
        raise LimitExceeded("a lock holds too many packages", "packages", limits, found=f"{len(nodes):,}")
    return nodes


def _read_entry(node: Node) -> LockEntry:
    node.allow(_ENTRY_FIELDS)
    node.expect("apiVersion", PACKAGE_API)
    return LockEntry(
        source=read_source(node),
        kind=read_kind(node),
        name=node.text("name") or "",
        version=read_version(node),
        dependencies=tuple(_read_dependency(dependency) for dependency in node.nodes("dependencies")),
        index=int(node.place[-1]),
    )


def _read_details(node: Node) -> DetailsEntry:
    return DetailsEntry(read_package(node), int(node.place[-1]))


def _read_dependency(node: Node) -> LockedDependency:
    node.allow(_DEPENDENCY_FIELDS)
    package, constraints = node.text("package"), node.text("constraints")
    node.parsed("package", parse_dependency_source, package)
    node.parsed("constraints", parse_constraint, constraints)
    api_version, kind, kind_alone = node.optional("apiVersion"), node.optional("kind"), node.optional("type")
    if (api_version is None) != (kind is None) or (kind is not None and kind_alone is not None):
        node.complain("expected apiVersion and kind, or type, or neither")
    if kind_alone is not None and kind_alone not in _KINDS:
        node.complain(f"expected {_ANY_KIND}, found {describe(kind_alone)}", "type")
    return LockedDependency(package or "", constraints or "", kind or kind_alone, api_version)
