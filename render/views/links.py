"""The locked packages as a graph: who depends on whom, and which versions everyone accepts."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from render.constraints import InvalidConstraint, parse_constraint
from render.lock.model import Lock, LockedDependency, LockedPackage
from render.references import Digest, PartialSource, Source, is_digest, parse_dependency_source
from render.resolve.model import Candidate
from render.roots import Request
from render.texts import visible
from render.versions import InvalidVersion, Version, parse_version

ANY_VERSION = str(Request())
_SHOWN_DIGEST = len("sha256:") + 12


@dataclass(frozen=True, slots=True)
class Link:
    """One locked package that depends on another."""

    dependant: LockedPackage
    target: LockedPackage
    # Usually one; a package may name another several times.
    constraints: tuple[str, ...]

    def __str__(self) -> str:
        return " and ".join(self.constraints)

    @property
    def satisfied(self) -> bool:
        """Whether the locked version is one that the dependant accepts."""
        candidate = locked_candidate(self.target)
        return all(candidate.answers(request) for request in self.requests)

    @property
    def requests(self) -> list[Request]:
        """What the dependant asks for."""
        return [Request.of(parse_constraint(text)) for text in self.constraints]


Links = Mapping[Source, tuple[Link, ...]]


@dataclass(frozen=True, slots=True)
class Closure:
    """All locked packages sorted by source, and the links of each in both directions."""

    packages: tuple[LockedPackage, ...]
    dependencies: Links
    dependants: Links

    @property
    def roots(self) -> list[LockedPackage]:
        """The packages that the user asks for."""
        return [package for package in self.packages if package.root is not None]

    def is_shared(self, package: LockedPackage) -> bool:
        """Tell whether more than one package depends on this one."""
        return len(self.dependants[package.source]) > 1


def read_closure(lock: Lock) -> Closure:
    """Return the graph of a lock."""
    packages = tuple(lock.in_order())
    links = [link for package in packages for link in _links(lock, package)]
    below: dict[Source, list[Link]] = defaultdict(list)
    above: dict[Source, list[Link]] = defaultdict(list)
    for link in links:
        below[link.dependant.source].append(link)
        above[link.target.source].append(link)
    sources = [package.source for package in packages]
    return Closure(
        packages,
        {
            source: tuple(sorted(below[source], key=lambda link: str(link.target.source)))
            for source in sources
        },
        {source: tuple(above[source]) for source in sources},
    )


def marks(closure: Closure, package: LockedPackage) -> list[str]:
    """Return what is worth knowing about a package besides its version."""
    found = {"asked for": package.root is not None, "shared": closure.is_shared(package)}
    return [mark for mark, holds in found.items() if holds]


def package_document(closure: Closure, package: LockedPackage) -> dict[str, object]:
    """Return a package as JSON values."""
    return {
        "source": str(package.source),
        "version": package.version,
        "tag": package.version_tag,
        "digest": package.digest,
        "kind": package.kind,
        "askedFor": package.root,
        "marks": marks(closure, package),
    }


def format_package(closure: Closure, package: LockedPackage) -> str:
    """Write a package with its version, kind and marks."""
    return f"{format_pin(package)} [{', '.join([package.kind, *marks(closure, package)])}]"


def format_pin(package: LockedPackage) -> str:
    """Write the source and what it is locked to."""
    return f"{visible(str(package.source))} {format_locked(package)}"


def format_locked(package: LockedPackage) -> str:
    """Write the version that is locked; of a digest its beginning, with the tag that carries it."""
    if not package.by_digest:
        return visible(package.version)
    parts = [package.tag, f"{package.digest[:_SHOWN_DIGEST]}…"]
    return visible("@".join(part for part in parts if part))


def locked_candidate(package: LockedPackage) -> Candidate:
    """Return what is locked, in the shape that requests are compared with."""
    tag = package.version_tag
    return Candidate(tag, _parse_loosely(tag) if tag else None, package.digest)


def root_request(package: LockedPackage) -> Request | None:
    """Return what the user asked for, from the text that the lock keeps of it."""
    text = package.root
    if text is None or text == ANY_VERSION:
        return None if text is None else Request()
    tag, _, digest = text.rpartition("@")
    if is_digest(digest):
        return Request(tag=tag or None, digest=Digest(digest))
    # A tag can look like a constraint; v1.2 is locked only where that very tag was asked for.
    if text == package.version_tag:
        return Request(tag=text)
    try:
        return Request.of(parse_constraint(text))
    except InvalidConstraint:
        return Request(tag=text)


def reach(
    tops: Iterable[Source], steps: Mapping[Source, Iterable[Source]], *, depth: int | None = None
) -> set[Source]:
    """Return everything within a number of steps from some sources, those included."""
    found = set(tops)
    level = set(found)
    while level and depth != 0:
        level = {following for source in level for following in steps[source]} - found
        found |= level
        depth = None if depth is None else depth - 1
    return found


def _links(lock: Lock, package: LockedPackage) -> list[Link]:
    constraints: dict[Source, list[str]] = defaultdict(list)
    for dependency in package.dependencies:
        constraints[_target(package, dependency)].append(dependency.constraints)
    return [Link(package, lock.packages[source], tuple(texts)) for source, texts in constraints.items()]


def _parse_loosely(tag: str) -> Version | None:
    # Crossplane takes a locked v1.2 for 1.2.0, although it would never choose such a tag itself.
    try:
        return parse_version(tag)
    except InvalidVersion:
        return None


def _target(package: LockedPackage, dependency: LockedDependency) -> Source:
    source = parse_dependency_source(dependency.package)
    return source.complete(package.source) if isinstance(source, PartialSource) else source
