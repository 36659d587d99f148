"""The locked packages as a graph: who depends on whom, and which versions everyone accepts."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from render.constraints import InvalidConstraint, parse_constraint
from render.lock.candidates import installed_candidate
from render.lock.graph import Serving, Target
from render.lock.model import Lock, LockedPackage, Provided, State
from render.references import Digest, Source, is_digest
from render.requests import Request

ANY_VERSION = str(Request())


@dataclass(frozen=True, slots=True)
class Link:
    """One locked package that depends on another."""

    dependant: LockedPackage
    target: Target
    # Usually one; a package may name another several times.
    constraints: tuple[str, ...]
    # The sources that the dependant names, where the target has taken their place.
    instead_of: tuple[Source, ...] = ()

    def __str__(self) -> str:
        return " and ".join(self.constraints)

    @property
    def satisfied(self) -> bool:
        """Whether the locked version is one that the dependant accepts."""
        candidate = installed_candidate(self.target)
        return all(candidate.answers(request) for request in self.requests)

    @property
    def requests(self) -> list[Request]:
        """What the dependant asks for."""
        return [Request.of(parse_constraint(text)) for text in self.constraints]


Links = Mapping[Source, tuple[Link, ...]]


@dataclass(frozen=True, slots=True)
class Closure:
    """All active packages and what others provide, sorted by source, and the links of each in both directions."""

    packages: tuple[LockedPackage, ...]
    provided: tuple[Provided, ...]
    dependencies: Links
    dependants: Links

    @property
    def everything(self) -> tuple[Target, ...]:
        """All that dependencies can lead to."""
        return (*self.packages, *self.provided)

    @property
    def roots(self) -> list[LockedPackage]:
        """The packages that the user asks for."""
        return [package for package in self.packages if package.root is not None]

    @property
    def starts(self) -> list[LockedPackage]:
        """What everything is there for: what the user asks for, and what nobody asks for and is not retired yet."""
        orphans = [package for package in self.packages if package.state is State.ORPHANED]
        return [*self.roots, *[orphan for orphan in orphans if not self.dependants[orphan.source]]]

    def is_shared(self, package: Target) -> bool:
        """Tell whether more than one package depends on this one."""
        return len(self.dependants[package.source]) > 1


def read_closure(lock: Lock) -> Closure:
    """Return the graph of a lock."""
    packages = tuple(lock.in_order())
    serving = Serving(lock)
    provided = tuple(lock.provided[source] for source in sorted(lock.provided, key=str))
    links = [link for package in packages for link in _links(package, serving)]
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


def _links(package: LockedPackage, serving: Serving) -> Iterator[Link]:
    found: dict[Source, Link] = {}
    for dependency in package.dependencies:
        named = serving.source(package.source, dependency)
        for target in serving.targets(package.source, dependency):
            link = found.get(target.source, Link(package, target, ()))
            other = () if target.source == named or named in link.instead_of else (named,)
            found[target.source] = replace(
                link,
                constraints=(*link.constraints, dependency.constraints),
                instead_of=(*link.instead_of, *other),
            )
    yield from found.values()
