"""Values of the solver: candidates, edges between packages, its input (Wanted) and its result (Resolution)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Protocol

from render.commands import LockCall
from render.crd_dependencies import CatalogRow, CatalogSource, CrdRequest
from render.packages import Dependency, Kind, Package
from render.policy.judge import Judge
from render.references import Digest, Reference, Source
from render.resolve.crds.model import Answers, Asked
from render.versions.constraints import ANY
from render.versions.requests import CrdRoot, Request, Root
from render.versions.version import Version
from render.xpkg.definitions import Definitions

# The place of requests that options of the command make.
COMMAND_LINE = "the command line"


class Catalog(Protocol):
    """The solver's view of registries; it is called from several threads at once."""

    def tags(self, source: Source) -> Sequence[str]: ...
    def package(self, reference: Reference) -> Package: ...
    def definitions(self, reference: Reference) -> Definitions: ...


@dataclass(frozen=True, slots=True)
class Candidate:
    """A version that the solver may choose: a tag, or a digest that was requested."""

    tag: str | None
    version: Version | None = None
    digest: Digest | None = None

    def __str__(self) -> str:
        return self.tag or self.digest or ""

    def reference(self, source: Source) -> Reference:
        """Return the reference of this candidate."""
        return Reference(source, None if self.digest else self.tag, self.digest)

    def answers(self, request: Request) -> bool:
        """Return whether this candidate satisfies a request."""
        if request.tag is not None and request.tag != self.tag:
            return False
        if request.digest is not None:
            return request.digest == self.digest
        if request.tag is not None:
            return True
        return self.version is not None and (request.constraint or ANY).accepts(self.version)


@dataclass(frozen=True, slots=True)
class Edge:
    """A dependency of a package, or of the user, on a source."""

    source: Source
    request: Request
    # None for the user, whose request is at `place`.
    dependant: Source | None
    place: str = ""
    dependency: Dependency | None = None
    completed: bool = False
    # The source that the dependant names, if this one replaces it.
    instead_of: Source | None = None
    # What the dependant asks for, if it is a CRD and not a package.
    crd: CrdRequest | None = None
    # Whether every candidate will do, also one that no constraint accepts: a prerelease, or a digest without a tag.
    accepts_all: bool = False


@dataclass(frozen=True, slots=True)
class Chosen:
    """A package of the resolution, at the chosen version."""

    source: Source
    candidate: Candidate
    package: Package
    dependencies: tuple[Edge, ...]

    @property
    def kind(self) -> Kind:
        """The kind in the package's own metadata; a dependant may name another one."""
        return self.package.metadata.kind


@dataclass(frozen=True, slots=True)
class Resolution:
    """One version for every package, sorted by source; without packages that used folders provide."""

    packages: Mapping[Source, Chosen]
    roots: tuple[Root, ...]
    notes: tuple[str, ...] = ()
    # The packages that answer dependencies on CRDs.
    answers: Answers = field(default_factory=dict)
    _edges: dict[Source, list[Edge]] = field(default_factory=dict, init=False, compare=False, repr=False)

    def edges_to(self, source: Source) -> list[Edge]:
        """Return all dependencies on a package, of the user and of other packages."""
        if not self._edges:
            asked = [Edge(root.source, root.request, None, root.place) for root in self.roots]
            dependencies = [chosen.dependencies for chosen in self.packages.values()]
            for edge in chain(asked, *dependencies):
                self._edges.setdefault(edge.source, []).append(edge)
        return list(self._edges.get(source, ()))


@dataclass(frozen=True, slots=True)
class Bound:
    """A constraint on a package that applies only if something else requires the package."""

    edge: Edge
    # The locked version of the dependant, if it is a package, and advice on how to remove the bound.
    holder: Candidate | None = None
    advice: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """The input of the solver."""

    roots: tuple[Root, ...]
    # The CRDs that the user asks for, and where to look for packages that define CRDs.
    crd_roots: tuple[CrdRoot, ...] = ()
    catalog: tuple[CatalogSource, ...] = ()
    catalog_rows: tuple[CatalogRow, ...] = ()
    # The packages of the last lock that answer from the catalog; each stays while it serves what is asked for.
    kept_answers: Mapping[Asked, Source] = field(default_factory=dict)
    # The candidates of the last lock; preferred while they satisfy every dependant.
    preferred: Mapping[Source, Candidate] = field(default_factory=dict)
    # The digests of those candidates, so that a moved tag has no effect.
    pinned: Mapping[Reference, Digest] = field(default_factory=dict)
    # Locked candidates that an upgrade was requested for; they are not preferred.
    upgraded: Mapping[Source, Candidate] = field(default_factory=dict)
    # Requests of the command line, in addition to those of the files; they require no package.
    asked: Mapping[Source, Request] = field(default_factory=dict)
    # Members of a family that an upgrade to a version takes along, with the packages that it names: they get the
    # version of one of these, or stay.
    followers: Mapping[Source, tuple[Source, ...]] = field(default_factory=dict)
    # Further constraints, from orphaned packages and from other folders.
    bounds: tuple[Bound, ...] = ()
    # Replaced sources and their replacements.
    moves: Mapping[Source, tuple[Source, ...]] = field(default_factory=dict)
    # Packages that used folders provide, at fixed versions.
    provided: Mapping[Source, Candidate] = field(default_factory=dict)
    # The API groups in which each of them defines kinds.
    provided_groups: Mapping[Source, Collection[str]] = field(default_factory=dict)
    # The folder that provides each of them.
    providers: Mapping[Source, str] = field(default_factory=dict)
    crossplane: Version | None = None
    follow_families: bool = True
    complete_partial: bool = True
    # Whether two owners of one object are an error here; with moves, the caller checks that itself.
    judge_owners: bool = True
    # Whether a locked version may be replaced by a lower one although it still fits.
    allow_lower: bool = False
    # Sources or prefixes that layouts stand in for: their hosts exist.
    served: tuple[Source, ...] = ()
    # The policies that candidates have to satisfy.
    judge: Judge = field(default_factory=Judge)
    # The command that advice repeats with other options.
    call: LockCall = field(default_factory=LockCall)
