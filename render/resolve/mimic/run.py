"""Crossplane's resolver, edge by edge, from the packages that a user applies or from a Lock that is there.

How its answers compare with those of a real Crossplane: docs/mimic.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from render.errors import RenderError, Unavailable, in_one_line
from render.limits import Limits
from render.names import object_name
from render.packages import Package
from render.references import (
    DOCKER_HUB,
    Digest,
    InvalidReference,
    PartialSource,
    Reference,
    Source,
    is_digest,
    parse_dependency_source,
)
from render.resolve.mimic.graph import (
    NextEdge,
    constraints_by_source,
    find_cycle,
    find_doubled,
    find_edge,
    find_unhealthy,
    without_outdated,
)
from render.resolve.mimic.model import (
    Action,
    AppliedRoot,
    CrossplaneAnswer,
    Flag,
    LockEntry,
    Pick,
    Stop,
    Unhealthy,
    read_dependencies,
)
from render.resolve.mimic.versions import NothingFits, pick_new, pick_update
from render.resolve.model import Catalog
from render.versions.version import Version

_DOCKER_HUB = "index.docker.io"

# How Crossplane knows a package object: by kind and name.
ObjectKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Installed:
    """A package object, by the texts in its spec.package."""

    source: str
    version: str


@dataclass(frozen=True, slots=True)
class Start:
    """What a cluster has before the roots are applied."""

    entries: Sequence[LockEntry] = ()
    # Package objects that are not in its Lock.
    objects: Mapping[ObjectKey, Installed] | None = None


EMPTY_CLUSTER = Start()


def mimic(
    roots: Sequence[AppliedRoot],
    catalog: Catalog,
    limits: Limits,
    *,
    flag: Flag | None = None,
    crossplane: Version | None = None,
    start: Start = EMPTY_CLUSTER,
) -> CrossplaneAnswer:
    """Return what Crossplane settles on; the roots enter its Lock in the order given."""
    run = _Run(catalog, limits, flag, crossplane, start)
    for root in roots:
        run.apply(root)
    stop = run.resolve()
    unhealthy = [] if find_doubled(run.entries) else [*find_unhealthy(run.entries)]
    return CrossplaneAnswer(run.picks, run.entries, [*unhealthy, *run.blocked.values()], stop)


class _Run:
    """One simulation: the Lock, the package objects, and what happened so far."""

    def __init__(
        self, catalog: Catalog, limits: Limits, flag: Flag | None, crossplane: Version | None, start: Start
    ) -> None:
        self._catalog = catalog
        self._limits = limits
        self._upgrades = flag is not None
        self._downgrades = flag is Flag.DOWNGRADES
        self._crossplane = crossplane
        self.entries = list(start.entries)
        self.picks: list[Pick] = []
        # Packages that cannot enter the Lock, with the reason.
        self.blocked: dict[ObjectKey, Unhealthy] = {}
        self._objects = dict(start.objects or {})
        for entry in start.entries:
            self._objects[entry.kind, entry.object_name] = Installed(entry.source, entry.version)

    def apply(self, root: AppliedRoot) -> None:
        """Apply a package object of the user's."""
        kind = root.kind or self._kind_of(root)
        key = (kind, root.object_name or object_name(root.source))
        pick = Pick(Action.APPLIED, str(root.source), root.version)
        if self._objects.get(key) != Installed(pick.source, pick.version):
            self._install(key, pick, root.source)

    def resolve(self) -> Stop | None:
        """Handle one edge after the other; return where it stops before all are served."""
        for _ in range(self._limits.packages):
            doubled = find_doubled(self.entries)
            if doubled:
                return Stop(f"the Lock holds {doubled} twice, so that no graph can be built from it", False)
            entries = without_outdated(self.entries) if self._upgrades else self.entries
            cycle = find_cycle(entries)
            if cycle:
                return Stop(f"the packages depend on each other: {' -> '.join(cycle)}", False)
            edge = find_edge(entries, upgrades=self._upgrades)
            if edge is None:
                return None
            stop = self._handle(edge, entries)
            if stop:
                return replace(stop, dependant=str(edge.dependant), dependency=edge.dependency)
        return Stop("it does not settle: versions go up and down in turn", True)

    def _handle(self, edge: NextEdge, entries: Sequence[LockEntry]) -> Stop | None:
        """Create or update the package object that serves an edge; return the reason if that changes nothing."""
        try:
            source = parse_dependency_source(edge.dependency.package)
            there = self._find_object(edge, source) if self._upgrades else None
            if there:
                return self._update(edge, source, there, entries)
            return self._create(edge, source)
        except (NothingFits, InvalidReference) as error:
            return Stop(str(error).partition("\n")[0], False)
        except Unavailable:
            raise
        except RenderError as error:
            return Stop(in_one_line(error, advice=False), False)

    def _create(self, edge: NextEdge, source: Source | PartialSource) -> Stop | None:
        wish = edge.dependency
        version = (
            wish.constraints if is_digest(wish.constraints) else self._pick_new(wish.constraints, source)
        )
        if isinstance(source, PartialSource):
            return Stop(f"{wish.package} names no registry, and the API server accepts no such object", False)
        key = (wish.kind, object_name(source))
        taken = self._objects.get(key)
        if taken is None:
            self._install(key, _pick(Action.CREATED, edge, version), source)
            return None
        # Crossplane takes an object that exists already for the one it wanted.
        if taken.source == wish.package:
            return self._stays_out(key)
        return Stop(f"the object {key[0]}/{key[1]} exists, and installs {taken.source}", True)

    def _update(
        self, edge: NextEdge, source: Source | PartialSource, key: ObjectKey, entries: Sequence[LockEntry]
    ) -> Stop | None:
        constraints = constraints_by_source(entries)[edge.dependency.package]
        installed = self._objects[key].version
        tags = [] if any(map(is_digest, constraints)) else self._catalog.tags(_as_pulled(source))
        version = pick_update(constraints, installed, tags, downgrades=self._downgrades)
        if version == installed:
            return self._stays_out(key)
        self._install(key, _pick(Action.UPDATED, edge, version), _as_pulled(source))
        return None

    def _stays_out(self, key: ObjectKey) -> Stop:
        blocked = self.blocked.get(key)
        why = f": {blocked.why[0]}" if blocked else ""
        return Stop(f"{key[0]}/{key[1]} is there and cannot enter the Lock{why}", True)

    def _find_object(self, edge: NextEdge, source: Source | PartialSource) -> ObjectKey | None:
        wanted = _as_pulled(source)
        same = [
            key
            for key, one in self._objects.items()
            if key[0] == edge.dependency.kind and _parse_pulled(one.source) == wanted
        ]
        return max(same, default=None)

    def _pick_new(self, constraints: str, source: Source | PartialSource) -> str:
        return pick_new(constraints, self._catalog.tags(_as_pulled(source)))

    def _kind_of(self, root: AppliedRoot) -> str:
        try:
            return str(self._fetch(root.source, root.version).metadata.kind)
        except Unavailable:
            raise
        except RenderError:
            # It is recorded as one that cannot be fetched.
            return "Configuration"

    def _install(self, key: ObjectKey, pick: Pick, source: Source) -> None:
        """Let a revision take the place of an earlier one at the end of the Lock, if it can enter it."""
        before = self._objects.get(key)
        self._objects[key] = Installed(pick.source, pick.version)
        self.picks.append(pick)
        self.blocked.pop(key, None)
        try:
            package = self._fetch(source, pick.version)
        except Unavailable:
            raise
        except RenderError as error:
            self._block(key, pick, in_one_line(error, advice=False))
            return
        unsuited = self._unsuited(key, package)
        self.entries = [
            entry for entry in self.entries if before is None or (entry.kind, entry.object_name) != key
        ]
        if unsuited:
            self._block(key, pick, unsuited)
        else:
            self.entries.append(
                LockEntry(pick.source, pick.version, *key, read_dependencies(package), package.digest)
            )

    def _unsuited(self, key: ObjectKey, package: Package) -> str:
        metadata = package.metadata
        if metadata.kind != key[0]:
            return f"the package is a {metadata.kind}, and the object is a {key[0]}"
        if self._crossplane and metadata.crossplane and not metadata.crossplane.accepts(self._crossplane):
            return f"it accepts Crossplane {metadata.crossplane}, and not {self._crossplane}"
        return ""

    def _block(self, key: ObjectKey, pick: Pick, why: str) -> None:
        self.blocked[key] = Unhealthy(pick.source, pick.version, (why,), locked=False)

    def _fetch(self, source: Source, version: str) -> Package:
        reference = (
            Reference(source, digest=Digest(version)) if is_digest(version) else Reference(source, version)
        )
        return self._catalog.package(reference)


def _pick(action: Action, edge: NextEdge, version: str) -> Pick:
    return Pick(action, edge.dependency.package, version, str(edge.dependant), edge.dependency.constraints)


def _as_pulled(source: Source | PartialSource) -> Source:
    """Return the repository that Crossplane asks: a source without a registry is on Docker Hub for it."""
    if isinstance(source, Source) and source.registry not in DOCKER_HUB:
        return source
    name = source.repository
    return Source(_DOCKER_HUB, name if "/" in name else f"library/{name}")


def _parse_pulled(text: str) -> Source | None:
    try:
        return _as_pulled(parse_dependency_source(text))
    except InvalidReference:
        return None
