"""The cluster as a whole: objects are applied, controllers run in any order, and one can ask how it ended."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from render.packages import Kind
from render.resolve.model import Catalog
from render.versions.version import parse_version
from rig.cluster.manager import reconcile_package
from rig.cluster.registry import Registry
from rig.cluster.resolver import resolve_lock
from rig.cluster.revisions import reconcile_revision
from rig.cluster.state import ACTIVE, Entry, Installed, Key, ObjectKey, Revision, State
from rig.cluster.sync import Group, Identity, Manifest, apply, identify, is_applied, plan, prune

_MOST_ROUNDS = 100
_MOST_ATTEMPTS = 5
# How many controllers run between two objects that are applied.
_PAUSES = (0, 0, 1, 3, 10)


class NeverSettles(Exception):
    """A cluster that goes on changing, or that never becomes what was applied."""


class Cluster:
    """A cluster with Crossplane, whose controllers run in an order that a seed decides."""

    def __init__(
        self,
        catalog: Catalog,
        *,
        crossplane: str = "v2.3.4",
        seed: int = 0,
        in_order: bool = False,
        keeps_fields: bool = False,
        slow_deletion: bool = False,
    ) -> None:
        by_generation = parse_version(crossplane).precedence[:2] >= (2, 4)
        self.state = State(Registry(catalog), by_generation)
        self._chance = random.Random(seed)
        # Whether objects of one wave are applied as they are listed, as kubectl does; Argo CD sorts them by name.
        self._in_order = in_order
        # Whether a field stays as it was when the manifest stops naming it.
        self._keeps_fields = keeps_fields
        # Whether anything else can happen between the end of two packages that are pruned together.
        self._slow_deletion = slow_deletion
        self._tracked: dict[Identity, Manifest] = {}
        self._rendered: set[Identity] = set()

    def apply(self, *objects: Manifest) -> None:
        """Apply objects and let nothing else happen."""
        for value in objects:
            if not apply(self.state, value, keeps_fields=self._keeps_fields):
                raise LookupError(f"{identify(value)} is not there")
            self._rendered.add(identify(value))

    def delete(self, kind: str, name: str) -> None:
        """Delete an object, as a user does."""
        package = prune(self.state, (kind, name))
        if package is not None:
            self._finish([package])
        self._rendered.discard((kind, name))

    def sync(self, objects: Iterable[Manifest]) -> None:
        """Do what Argo CD does with a new commit, self-healing and retries included, until all is quiet."""
        wanted = list(objects)
        self._rendered = {identify(value) for value in wanted}
        for _ in range(_MOST_ATTEMPTS):
            refused = self._attempt(wanted)
            self.settle()
            if not refused and all(is_applied(self.state, value) for value in wanted):
                return
        raise NeverSettles(f"never in sync: {refused}")

    def settle(self) -> None:
        """Run all controllers, each round in another order, until none of them changes anything."""
        for _ in range(_MOST_ROUNDS):
            before = self.state.fingerprint()
            controllers = self._controllers()
            self._chance.shuffle(controllers)
            for run in controllers:
                run()
            if self.state.fingerprint() == before:
                return
        raise NeverSettles("the controllers go on for ever")

    def resolve(self) -> None:
        """Let the resolver look at the Lock once."""
        resolve_lock(self.state)

    def package(self, name: str, kind: Kind = Kind.PROVIDER) -> Installed:
        """Return a package object."""
        return self.state.packages[kind, name]

    def revision(self, package: str, kind: Kind = Kind.PROVIDER) -> Revision:
        """Return the current revision of a package."""
        return self.state.revisions[kind, self.package(package, kind).current]

    def images(self) -> dict[str, str]:
        """Return what each package object says that it installs."""
        return {f"{kind}/{name}": package.spec["package"] for (kind, name), package in self._packages()}

    def entries(self) -> dict[str, str]:
        """Return the sources in the Lock with their versions."""
        return {entry.source: entry.version for entry in self.state.lock}

    def duplicates(self) -> list[str]:
        """Return the sources that are in the Lock twice; one of them stops every package."""
        counted = Counter(entry.source for entry in self.state.lock)
        return sorted(source for source, times in counted.items() if times > 1)

    def unhealthy(self) -> dict[str, str]:
        """Return the packages that are not healthy, and why."""
        return {name: package.problem for (_, name), package in self._packages() if package.problem}

    def inactive(self) -> set[Identity]:
        """Return the packages without an active revision."""
        return {(str(kind), name) for (kind, name), package in self._packages() if not package.active}

    def came_back(self) -> set[Identity]:
        """Return the packages that Crossplane installed by itself, and that were not applied since."""
        return {(str(kind), name) for (kind, name), package in self._packages() if package.uninvited}

    def left_behind(self) -> set[Identity]:
        """Return the packages that were applied once, and are in no manifest any more."""
        there = {(str(kind), name) for (kind, name), package in self._packages()}
        return there - self._rendered - self.came_back()

    def stale_entries(self) -> list[Entry]:
        """Return the entries in the Lock of packages that are not to be there."""
        revisions = {revision.name: revision for revision in self.state.revisions.values()}
        return [e for e in self.state.lock if e.name not in revisions or revisions[e.name].skip]

    def controller(self, key: ObjectKey) -> str | None:
        """Return the revision that controls an object."""
        owners = self.state.objects.get(key, {})
        names = {revision.uid: revision.name for revision in self.state.revisions.values()}
        return next((names[uid] for uid, controls in owners.items() if controls), None)

    def owners(self, key: ObjectKey) -> set[str]:
        """Return all owners of an object."""
        known: Mapping[str, str] = {one.uid: one.name for one in self.state.revisions.values()}
        known = {**known, **{one.uid: one.name for one in self.state.packages.values()}}
        return {known[uid] for uid in self.state.objects[key]}

    def deployments(self) -> set[str]:
        """Return what runs: the active revisions of everything that has a program."""
        revisions = self.state.revisions.values()
        return {r.name for r in revisions if r.desired == ACTIVE and r.kind is not Kind.CONFIGURATION}

    def _packages(self) -> list[tuple[Key, Installed]]:
        return sorted(self.state.packages.items())

    def _attempt(self, wanted: list[Manifest]) -> list[Identity]:
        """Go through the waves once; return what the API server refused."""
        groups = plan(self.state, wanted, self._tracked)
        refused = [key for group in groups for key in self._carry_out(group)]
        self._tracked |= {identify(value): value for value in wanted}
        return refused

    def _carry_out(self, group: Group) -> list[Identity]:
        ends = [prune(self.state, key) for key in group.prunes]
        self._finish([package for package in ends if package is not None])
        for key in group.prunes:
            del self._tracked[key]
        self._pause()
        applies = list(group.applies)
        if not self._in_order:
            self._chance.shuffle(applies)
        refused = []
        for value in applies:
            if not apply(self.state, value, keeps_fields=self._keeps_fields):
                refused.append(identify(value))
            self._pause()
        return refused

    def _finish(self, packages: list[Installed]) -> None:
        """Carry deletions through to their end, unless that may take its time."""
        if self._slow_deletion:
            return
        for package in packages:
            for revision in self.state.revisions_of(package):
                revision.deleting = True
                reconcile_revision(self.state, revision)
        for package in packages:
            reconcile_package(self.state, package)

    def _pause(self) -> None:
        """Let some controllers run."""
        for _ in range(self._chance.choice(_PAUSES)):
            self._chance.choice(self._controllers())()

    def _controllers(self) -> list[Callable[[], None]]:
        packages = [partial(self._reconcile, package) for package in self.state.packages.values()]
        revisions = [partial(self._reconcile, revision) for revision in self.state.revisions.values()]
        return [self.resolve, *packages, *revisions]

    def _reconcile(self, one: Installed | Revision) -> None:
        # Another controller may have removed it meanwhile.
        if isinstance(one, Installed) and self.state.packages.get(one.key) is one:
            reconcile_package(self.state, one)
        if isinstance(one, Revision) and self.state.revisions.get(one.key) is one:
            reconcile_revision(self.state, one)
