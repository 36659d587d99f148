"""The two documents of a lock, each read by itself."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from render.constraints import parse_constraint
from render.limits import LimitExceeded
from render.lock.findings import Findings, Node, describe
from render.lock.format import DETAILS_API, LOCK_API, METADATA, PACKAGE_API
from render.lock.model import FORMAT_REVISION, FORMAT_VERSION, LockedDependency
from render.packages import Kind
from render.references import (
    Digest,
    Source,
    is_digest,
    is_tag,
    parse_dependency_source,
    parse_digest,
    parse_source,
)

_LOCK_FIELDS = frozenset({"apiVersion", "kind", "metadata", "packages"})
_DETAILS_FIELDS = _LOCK_FIELDS | {"version", "revision", "inputs"}
_ENTRY_FIELDS = frozenset({"apiVersion", "kind", "name", "source", "version", "dependencies"})
_DEPENDENCY_FIELDS = frozenset({"package", "constraints", "apiVersion", "kind", "type"})
_PACKAGE_FIELDS = frozenset(
    {"source", "object", "tag", "root", "requiredBy", "objects", "objectsDigest"}
    | {"family", "crossplane", "fields", "digest"}
)
_KINDS = frozenset(Kind)
_ANY_KIND = " or ".join(Kind)
_NO_SOURCE = Source("", "")
# Kubernetes: the name of an object is a DNS subdomain.
_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_OBJECT_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*")


@dataclass(frozen=True, slots=True)
class LockEntry:
    """What the first document says of a package."""

    source: Source
    kind: Kind
    name: str
    version: str
    dependencies: tuple[LockedDependency, ...]
    index: int


@dataclass(frozen=True, slots=True)
class DetailsEntry:
    """What the second document says of a package."""

    source: Source
    digest: Digest
    object_name: str
    tag: str | None
    root: str | None
    required_by: tuple[str, ...]
    objects: Mapping[str, int]
    objects_digest: str
    family: str | None
    crossplane: str | None
    fields: Mapping[str, object]
    index: int


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


def read_halves(first: Any, second: Any, findings: Findings) -> Halves:
    """Read both documents; a package with a problem is left out."""
    lock, details = Node(first, (0,), findings), Node(second, (1,), findings)
    revision = _read_revision(details)
    findings.tolerant = revision > FORMAT_REVISION
    _read_head(lock, LOCK_API, "Lock", _LOCK_FIELDS)
    _read_head(details, DETAILS_API, "LockDetails", _DETAILS_FIELDS)
    entries, in_lock = _read_packages(lock, _read_entry, findings)
    more, in_details = _read_packages(details, _read_details, findings)
    return Halves(entries, more, _read_inputs(details), revision, (in_lock, in_details))


def _read_revision(details: Node) -> int:
    version, revision = details.get("version"), details.get("revision")
    if type(version) is not int or version != FORMAT_VERSION:
        details.complain(
            f"expected {FORMAT_VERSION}, which is supported; found {describe(version)}", "version"
        )
    if type(revision) is int and revision >= 0:
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
    document: Node, read: Callable[[Node, Source], E], findings: Findings
) -> tuple[tuple[E, ...], frozenset[Source]]:
    nodes, limits = document.nodes("packages"), findings.limits
    if len(nodes) > limits.packages:
        raise LimitExceeded("a lock holds too many packages", "packages", limits, found=f"{len(nodes):,}")
    found: list[E] = []
    named: set[Source] = set()
    for node in nodes:
        problems = len(findings.problems)
        value = read(node, _read_source(node))
        named.add(value.source)
        if len(findings.problems) == problems:
            found.append(value)
    return tuple(found), frozenset(named - {_NO_SOURCE})


def _read_source(node: Node) -> Source:
    text = node.text("source")
    source = node.parsed("source", parse_source, text)
    if source is not None and str(source) != text:
        node.complain(f"expected its canonical form {source}", "source")
    return source or _NO_SOURCE


def _read_entry(node: Node, source: Source) -> LockEntry:
    node.allow(_ENTRY_FIELDS)
    node.expect("apiVersion", PACKAGE_API)
    kind, version = node.text("kind"), node.text("version")
    if kind and kind not in _KINDS:
        node.complain(f"expected {_ANY_KIND}, found {describe(kind)}", "kind")
    if version is not None and not is_tag(version) and not is_digest(version):
        node.complain(f"expected a tag or a digest, found {describe(version)}", "version")
    dependencies = [_read_dependency(dependency) for dependency in node.nodes("dependencies")]
    return LockEntry(
        source=source,
        kind=Kind(kind) if kind in _KINDS else Kind.PROVIDER,
        name=node.text("name") or "",
        version=version or "",
        dependencies=tuple(dependencies),
        index=int(node.place[-1]),
    )


def _read_dependency(node: Node) -> LockedDependency:
    node.allow(_DEPENDENCY_FIELDS)
    package, constraints = node.text("package"), node.text("constraints")
    node.check("package", parse_dependency_source, package)
    node.check("constraints", parse_constraint, constraints)
    api_version, kind, kind_alone = node.optional("apiVersion"), node.optional("kind"), node.optional("type")
    if (api_version is None) != (kind is None) or (kind is not None and kind_alone is not None):
        node.complain("expected apiVersion and kind, or type, or neither")
    if kind_alone is not None and kind_alone not in _KINDS:
        node.complain(f"expected {_ANY_KIND}, found {describe(kind_alone)}", "type")
    return LockedDependency(package or "", constraints or "", kind or kind_alone, api_version)


def _read_details(node: Node, source: Source) -> DetailsEntry:
    node.allow(_PACKAGE_FIELDS)
    name, tag, crossplane = node.text("object"), node.optional("tag"), node.optional("crossplane")
    if name is not None and not _OBJECT_NAME.fullmatch(name):
        node.complain(f"expected the name of an object, found {describe(name)}", "object")
    if tag is not None and not is_tag(tag):
        node.complain(f"expected a tag, found {describe(tag)}", "tag")
    objects_digest = node.optional("objectsDigest")
    node.check("objectsDigest", parse_digest, objects_digest)
    node.check("crossplane", parse_constraint, crossplane)
    return DetailsEntry(
        source=source,
        digest=node.parsed("digest", parse_digest, node.text("digest")) or Digest(""),
        object_name=name or "",
        tag=tag,
        root=node.optional("root"),
        required_by=tuple(sorted(_read_required_by(node))),
        objects=_read_objects(node),
        objects_digest=objects_digest or "",
        family=node.optional("family"),
        crossplane=crossplane,
        fields=node.mapping("fields"),
        index=int(node.place[-1]),
    )


def _read_required_by(node: Node) -> Iterator[str]:
    for i, text in enumerate(node.items("requiredBy")):
        if isinstance(text, str):
            node.check("requiredBy", parse_source, text)
            yield text
        else:
            node.complain(f"expected text, found {describe(text)}", "requiredBy", i)


def _read_objects(node: Node) -> dict[str, int]:
    objects = node.mapping("objects")
    for kind, count in objects.items():
        if type(count) is not int or count < 1:
            node.complain(f"expected a number of objects, found {describe(count)}", "objects", kind)
    return objects
