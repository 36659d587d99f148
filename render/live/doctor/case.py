"""A cluster as the diagnosis asks about it: who has which source, what is missing, and what is not explained yet."""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from render.crossplane import keeps_stale_entries
from render.live.doctor.messages import QUOTED_REVISION, names_in
from render.live.doctor.model import Finding, ObjectKey, Trouble
from render.live.lock import LivePackage
from render.live.model import Cluster, PackageObject, Revision, RevisionState
from render.live.start import lock_entry, split_reference
from render.lock.model import Lock, LockedPackage
from render.references import split_tag
from render.resolve.mimic.model import LockEntry
from render.versions.version import InvalidVersion, Version, parse_version

_NEW_CONDITION = "RuntimeActive"
_FIRST_WITH_IT = parse_version("v2.4.0")
_NAMESPACE = "crossplane-system"
# The API server accepts no longer one; a file may have anything.
_LONGEST_MESSAGE = 32_768
_UNHEALTHY = ("RevisionHealthy", "RuntimeHealthy", "Healthy")


class Case:
    """What is known of a cluster; troubles that a finding explains are taken out."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        ours: Lock | None = None,
        crossplane: Version | None = None,
        kubectl: tuple[str, ...] = ("kubectl",),
        complete: bool = False,
    ) -> None:
        self.cluster = cluster
        self.ours = ours
        self.kubectl = kubectl
        # Whether the cluster was asked for everything, so that what is not there does not exist.
        self.complete = complete
        self._given_version = crossplane
        self._explained: set[Trouble] = set()
        self._missing: dict[Trouble, set[str]] = {}
        self._about: set[ObjectKey] = set()

    @cached_property
    def crossplane(self) -> Version | None:
        """The version of Crossplane: as given, by the image of its Deployment, or by conditions that only new ones write."""
        return self._given_version or self._version_of_image() or self._version_of_conditions()

    @property
    def keeps_stale_entries(self) -> bool:
        """Whether an entry stays in the Lock when its package is detached; so does an unknown Crossplane."""
        return keeps_stale_entries(self.crossplane)

    @cached_property
    def namespace(self) -> str:
        """The namespace of Crossplane."""
        found = [
            one.metadata.namespace for one in self.cluster.deployments if _is_crossplane(one.metadata.name)
        ]
        return found[0] if found else _NAMESPACE

    # Packages and revisions

    @cached_property
    def entries(self) -> tuple[LivePackage, ...]:
        """The entries of the Lock."""
        return self.cluster.lock.lock.packages if self.cluster.lock else ()

    @cached_property
    def simulated(self) -> list[LockEntry]:
        """The entries as the simulation of the resolver takes them."""
        return [lock_entry(entry, entry.name) for entry in self.entries]

    @cached_property
    def by_source(self) -> dict[str, LivePackage]:
        """The entries of the Lock by their sources; of a doubled one the first."""
        return {entry.source: entry for entry in reversed(self.entries)}

    @cached_property
    def packages(self) -> dict[ObjectKey, PackageObject]:
        """All package objects."""
        return {(str(one.kind), one.name): one for one in self.cluster.packages}

    @cached_property
    def _revisions(self) -> dict[ObjectKey, Revision]:
        return {(str(one.kind), one.name): one for one in self.cluster.revisions}

    @cached_property
    def _packages_by_source(self) -> dict[str, list[PackageObject]]:
        found: dict[str, list[PackageObject]] = {}
        for one in self.cluster.packages:
            found.setdefault(source_of(one), []).append(one)
        return found

    def packages_with(self, source: str) -> list[PackageObject]:
        """Return the package objects of a source, whatever stands behind it."""
        return self._packages_by_source.get(source, [])

    def revision_of(self, entry: LivePackage) -> Revision | None:
        """Return the revision of an entry of the Lock."""
        found = self._revisions.get((entry.kind, entry.name))
        return found or next((one for one in self.cluster.revisions if one.name == entry.name), None)

    def package_of(self, revision: Revision) -> PackageObject | None:
        """Return the package object of a revision."""
        return self.packages.get((str(revision.kind), revision.package))

    @cached_property
    def _revisions_by_package(self) -> dict[ObjectKey, list[Revision]]:
        found: dict[ObjectKey, list[Revision]] = {}
        for one in sorted(self.cluster.revisions, key=lambda revision: (revision.number, revision.name)):
            found.setdefault((str(one.kind), one.package), []).append(one)
        return found

    def revisions_of(self, package: PackageObject) -> list[Revision]:
        """Return the revisions of a package, oldest first."""
        return self._revisions_by_package.get(key_of(package), [])

    def current_revision(self, package: PackageObject) -> Revision | None:
        """Return the revision that the status of a package names; else its only active one, or its newest."""
        revisions = self.revisions_of(package)
        named = [one for one in revisions if one.name == package.current_revision]
        active = [one for one in revisions if one.state is RevisionState.ACTIVE]
        return next(iter([*named, *active[-1:], *revisions[-1:]]), None)

    def earlier_image(self, package: PackageObject) -> str:
        """Return what the newest other revision of a package was made from, if that is not what is asked for now."""
        current = self.current_revision(package)
        others = [
            one for one in self.revisions_of(package) if one is not current or one.image != package.package
        ]
        images = [one.image for one in reversed(others) if one.image and one.image != package.package]
        return images[0] if images else ""

    def locked(self, source: str) -> LockedPackage | None:
        """Return what the lock of the folder says of a source."""
        if self.ours is None:
            return None
        return next((one for one in self.ours.packages.values() if str(one.cluster_source) == source), None)

    # What is missing

    def missing_of(self, trouble: Trouble) -> set[str]:
        """Return the sources that a package misses: those that its entry reaches and the Lock does not have."""
        if trouble not in self._missing:
            self._missing[trouble] = self._find_missing(trouble)
        return self._missing[trouble]

    def _find_missing(self, trouble: Trouble) -> set[str]:
        package = self.packages.get(trouble.package)
        entry = self.by_source.get(source_of(package)) if package else None
        if entry is None:
            return set(names_in(trouble.message))
        return self.reached(entry) - self.by_source.keys()

    def reached(self, entry: LivePackage) -> set[str]:
        """Return all sources that an entry depends on, directly or not."""
        found: set[str] = set()
        waiting = [entry]
        while waiting:
            for edge in waiting.pop().edges:
                if edge.package not in found:
                    found.add(edge.package)
                    if edge.package in self.by_source:
                        waiting.append(self.by_source[edge.package])
        return found

    def dependants(self, source: str) -> list[LivePackage]:
        """Return the entries that depend on a source directly, in the order of the Lock."""
        return self._dependants.get(source, [])

    @cached_property
    def _dependants(self) -> dict[str, list[LivePackage]]:
        found: dict[str, list[LivePackage]] = {}
        for entry in self.entries:
            for source in dict.fromkeys(edge.package for edge in entry.edges):
                found.setdefault(source, []).append(entry)
        return found

    def above(self, entries: Iterable[LivePackage]) -> list[LivePackage]:
        """Return some entries and all that depend on them, directly or not, in the order of the Lock."""
        found = {entry.source for entry in entries}
        waiting = list(found)
        while waiting:
            more = {entry.source for entry in self.dependants(waiting.pop())} - found
            found |= more
            waiting += more
        return [entry for entry in self.entries if entry.source in found]

    # What is not explained yet

    @cached_property
    def troubles(self) -> tuple[Trouble, ...]:
        """Everything that objects complain about, packages last; a package that repeats its revision is left out."""
        own = [*self._of_revisions()]
        complaining = {one.package for one in own}
        return (*own, *self._of_packages(complaining))

    @cached_property
    def _troubles_by_package(self) -> dict[ObjectKey, list[Trouble]]:
        found: dict[ObjectKey, list[Trouble]] = {}
        for one in self.troubles:
            found.setdefault(one.package, []).append(one)
        return found

    def open(self, *parts: str, where: Callable[[Trouble], bool] = lambda _: True) -> list[Trouble]:
        """Return the troubles that no finding explains, with one of these parts in their messages."""
        return [
            one
            for one in self.troubles
            if one not in self._explained
            and (not parts or any(part in one.message for part in parts))
            and where(one)
        ]

    def take_out(self, finding: Finding) -> None:
        """Take out what a finding explains."""
        self._explained.update(finding.troubles)
        if finding.is_stuck:
            self._about.update(finding.objects)

    def is_found(self, key: ObjectKey) -> bool:
        """Return whether a finding is about an object already."""
        return key in self._about

    def is_explained(self, trouble: Trouble) -> bool:
        """Return whether a finding explains a trouble already."""
        return trouble in self._explained

    def open_of(self, package: PackageObject) -> list[Trouble]:
        """Return what a package and its revisions still complain about."""
        own = self._troubles_by_package.get(key_of(package), ())
        return [one for one in own if one not in self._explained]

    def waiting_for(self, source: str) -> list[Trouble]:
        """Return the open troubles of packages that miss a source."""
        return self.open("dependenc", "missing node", where=lambda one: source in self.missing_of(one))

    def _of_revisions(self) -> Iterator[Trouble]:
        for one in self.cluster.revisions:
            package = self.package_of(one)
            is_current = package is None or one is self.current_revision(package)
            if one.state is RevisionState.INACTIVE and not is_current:
                continue
            for name in _UNHEALTHY:
                condition = one.conditions.get(name)
                if (
                    condition
                    and condition.status != "True"
                    and (condition.message or condition.status == "False")
                ):
                    yield Trouble(
                        (f"{one.kind}Revision", one.name),
                        (str(one.kind), one.package),
                        name,
                        condition.reason,
                        condition.message[:_LONGEST_MESSAGE],
                    )

    def _of_packages(self, complaining: set[ObjectKey]) -> Iterator[Trouble]:
        for key, one in self.packages.items():
            for name in ("Installed", "Healthy"):
                condition = one.conditions.get(name)
                if condition is None or condition.status == "True":
                    continue
                if name == "Healthy" and key in complaining:
                    continue
                quoted = condition.message.partition(QUOTED_REVISION)[2]
                message = (quoted or condition.message)[:_LONGEST_MESSAGE]
                yield Trouble(key, key, name, condition.reason, message)

    def _version_of_image(self) -> Version | None:
        for one in self.cluster.deployments:
            for image in one.images if _is_crossplane(one.metadata.name) else ():
                tag = split_tag(image.partition("@")[0])[1]
                try:
                    return parse_version(tag or "")
                except InvalidVersion:
                    continue
        return None

    def _version_of_conditions(self) -> Version | None:
        new = any(_NEW_CONDITION in one.conditions for one in self.cluster.revisions)
        return _FIRST_WITH_IT if new else None


def source_of(package: PackageObject) -> str:
    """Return the source of a package object, as Crossplane reads it."""
    return split_reference(package.package)[0]


def key_of(package: PackageObject) -> ObjectKey:
    """Return kind and name of a package object."""
    return str(package.kind), package.name


def _is_crossplane(name: str) -> bool:
    return name == "crossplane"
