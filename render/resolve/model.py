"""What could answer a request, and what was chosen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Protocol

from render.constraints import ANY
from render.packages import Dependency, Kind, Package
from render.references import Digest, Reference, Source
from render.requests import Request, Root
from render.versions import Version


class Catalog(Protocol):
    """What the solver asks of the outside world; from several threads at once."""

    def tags(self, source: Source) -> Sequence[str]: ...
    def package(self, reference: Reference) -> Package: ...


@dataclass(frozen=True, slots=True)
class Candidate:
    """A version worth trying: a tag, or a digest that was asked for by name."""

    tag: str | None
    version: Version | None = None
    digest: Digest | None = None

    def __str__(self) -> str:
        return self.tag or self.digest or ""

    def reference(self, source: Source) -> Reference:
        """Return where to find it."""
        return Reference(source, None if self.digest else self.tag, self.digest)

    def answers(self, request: Request) -> bool:
        """Tell whether this is what was asked for."""
        if request.tag is not None and request.tag != self.tag:
            return False
        if request.digest is not None:
            return request.digest == self.digest
        if request.tag is not None:
            return True
        return self.version is not None and (request.constraint or ANY).accepts(self.version)


@dataclass(frozen=True, slots=True)
class Edge:
    """One package, or the user, depending on another."""

    source: Source
    request: Request
    # None: the user, at this place.
    dependant: Source | None
    place: str = ""
    dependency: Dependency | None = None
    completed: bool = False
    # What the dependant names, where this source replaces it.
    instead_of: Source | None = None


@dataclass(frozen=True, slots=True)
class Chosen:
    """A package of the answer."""

    source: Source
    candidate: Candidate
    package: Package
    dependencies: tuple[Edge, ...]

    @property
    def kind(self) -> Kind:
        """What the package says it is, whatever its dependants think."""
        return self.package.metadata.kind


@dataclass(frozen=True, slots=True)
class Resolution:
    """One version for every package, sorted by source, and who asked for each; without what others provide."""

    packages: Mapping[Source, Chosen]
    roots: tuple[Root, ...]
    notes: tuple[str, ...] = ()
    _edges: dict[Source, list[Edge]] = field(default_factory=dict, init=False, compare=False, repr=False)

    def edges_to(self, source: Source) -> list[Edge]:
        """Return everyone who depends on a package."""
        if not self._edges:
            asked = [Edge(root.source, root.request, None, root.place) for root in self.roots]
            dependencies = [chosen.dependencies for chosen in self.packages.values()]
            for edge in chain(asked, *dependencies):
                self._edges.setdefault(edge.source, []).append(edge)
        return list(self._edges.get(source, ()))


@dataclass(frozen=True, slots=True)
class Bound:
    """What the versions of a package have to suit if it is needed at all; it makes nobody need the package."""

    edge: Edge
    # What the dependant is locked to, if it is a package, and how to be free of it.
    holder: Candidate | None = None
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Everything that resolution starts from."""

    roots: tuple[Root, ...]
    # The choices of the last lock; kept while they fit.
    preferred: Mapping[Source, Candidate] = field(default_factory=dict)
    # The bytes behind those choices; a tag that has moved since does not matter.
    pinned: Mapping[Reference, Digest] = field(default_factory=dict)
    # Choices that an upgrade lets go of.
    released: Mapping[Source, Candidate] = field(default_factory=dict)
    # What the command line asks for, on top of what the files say; it makes nobody need the package.
    asked: Mapping[Source, Request] = field(default_factory=dict)
    # What binds besides: packages that are installed and that nobody asks for any more, other folders.
    bounds: tuple[Bound, ...] = ()
    # Sources that others have taken the place of.
    moves: Mapping[Source, tuple[Source, ...]] = field(default_factory=dict)
    # Packages of other folders, taken as they are.
    provided: Mapping[Source, Candidate] = field(default_factory=dict)
    # Which folder each of them is in.
    providers: Mapping[Source, str] = field(default_factory=dict)
    crossplane: Version | None = None
    follow_families: bool = True
    complete_partial: bool = True
    # Whether two owners of one object are an error here; who lets packages replace others judges that later.
    judge_owners: bool = True
    # Whether a version may go down although the higher one still fits.
    allow_lower: bool = False
