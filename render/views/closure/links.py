"""The graph of a lock for people: who depends on whom, and which versions each dependant accepts."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from render.crd_dependencies import CrdRequest
from render.lock.candidates import installed_candidate
from render.lock.graph import ANY_VERSION as ANY_TEXT
from render.lock.graph import LockGraph, Need, Target
from render.lock.model import Lock, LockedPackage, Provided, State
from render.references import Digest, Source, is_digest
from render.versions.constraints import InvalidConstraint, parse_constraint
from render.versions.requests import Request

ANY_VERSION = str(Request())


@dataclass(frozen=True, slots=True)
class Link:
    """One locked package that depends on another."""

    dependant: LockedPackage
    target: Target
    # Usually one; a package may name another several times.
    constraints: tuple[str, ...]
    # The sources that the dependant names, where the target replaced them.
    instead_of: tuple[Source, ...] = ()
    # The CRDs that the dependant asks for and the target defines.
    crds: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " and ".join([*self.constraints, *(f"crd {crd}" for crd in self.crds)])

    @property
    def satisfied(self) -> bool:
        """Whether the locked version is one that the dependant accepts."""
        candidate = installed_candidate(self.target)
        return all(candidate.answers(request) for request in self.requests)

    @property
    def requests(self) -> list[Request]:
        """The requests of the dependant."""
        return [Request.of(parse_constraint(text)) for text in self.constraints]


Links = Mapping[Source, tuple[Link, ...]]


@dataclass(frozen=True, slots=True)
class Closure:
    """All active and provided packages, sorted by source, and the links of each in both directions."""

    packages: tuple[LockedPackage, ...]
    provided: tuple[Provided, ...]
    dependencies: Links
    dependants: Links

    @property
    def everything(self) -> tuple[Target, ...]:
        """All packages that can serve a dependency."""
        return (*self.packages, *self.provided)

    @property
    def roots(self) -> list[LockedPackage]:
        """The packages that the user asks for."""
        return [package for package in self.packages if package.root is not None]

    @property
    def starts(self) -> list[LockedPackage]:
        """The packages that are there for their own sake: roots, and orphans without a dependant."""
        orphans = [package for package in self.packages if package.state is State.ORPHANED]
        return [*self.roots, *[orphan for orphan in orphans if not self.dependants[orphan.source]]]

    def is_shared(self, package: Target) -> bool:
        """Return whether more than one package depends on this one."""
        return len(self.dependants[package.source]) > 1


def read_closure(lock: Lock) -> Closure:
    """Return the graph of a lock."""
    packages = tuple(lock.in_order())
    graph = LockGraph(lock)
    provided = tuple(lock.provided[source] for source in sorted(lock.provided, key=str))
    links = [link for package in packages for link in _links(package, graph.needs[package.source])]
    below: dict[Source, list[Link]] = defaultdict(list)
    above: dict[Source, list[Link]] = defaultdict(list)
    for link in links:
        below[link.dependant.source].append(link)
        above[link.target.source].append(link)
    sources = [*(package.source for package in packages), *(package.source for package in provided)]
    return Closure(
        packages,
        provided,
        {
            source: tuple(sorted(below[source], key=lambda link: str(link.target.source)))
            for source in sources
        },
        {source: tuple(above[source]) for source in sources},
    )


def root_request(package: LockedPackage) -> Request | None:
    """Return the request of a root, from its text in the lock."""
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


def _links(package: LockedPackage, needs: Iterable[Need]) -> Iterator[Link]:
    found: dict[Source, Link] = {}
    for need in needs:
        for target in need.targets:
            link = found.get(target.source, Link(package, target, ()))
            if need.crd is not None:
                found[target.source] = _by_crd(link, need.crd, need.dependency.constraints)
                continue
            other = () if target.source == need.named or need.named in link.instead_of else (need.named,)
            found[target.source] = replace(
                link,
                constraints=(*link.constraints, need.dependency.constraints),
                instead_of=(*link.instead_of, *other),
            )
    yield from found.values()


def _by_crd(link: Link, crd: CrdRequest, versions: str) -> Link:
    more = () if versions == ANY_TEXT else (versions,)
    return replace(link, constraints=(*link.constraints, *more), crds=(*link.crds, str(crd)))
