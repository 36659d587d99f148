"""What a cluster holds: package objects, their revisions, the Lock, what packages installed, and what happened."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeAlias

from render.packages import Kind
from render.references import Source
from rig.cluster.registry import Registry

ACTIVE, INACTIVE = "Active", "Inactive"
# Of an object that a package installs: its kind and its name.
ObjectKey: TypeAlias = tuple[str, str]
# Of a package or a revision: its kind, without "Revision", and its name.
Key: TypeAlias = tuple[Kind, str]

# What the API server fills in, as far as anything here depends on it.
_DEFAULTS = {
    "revisionActivationPolicy": "Automatic",
    "revisionHistoryLimit": 1,
    "skipDependencyResolution": False,
    "packagePullPolicy": "IfNotPresent",
}


@dataclass
class Installed:
    """A Provider, Configuration or Function."""

    kind: Kind
    name: str
    uid: str
    spec: dict[str, Any]
    annotations: Mapping[str, str] = field(default_factory=dict)
    generation: int = 1
    # Whether Crossplane's resolver created it, and it was not applied since.
    uninvited: bool = False
    deleting: bool = False
    # Its status.
    current: str = ""
    resolved: str = ""
    active: bool = False
    problem: str | None = "it was never looked at"

    @property
    def key(self) -> Key:
        """What it is found by."""
        return self.kind, self.name

    def change(self, spec: Mapping[str, Any]) -> None:
        """Set its spec, which makes a new generation."""
        if spec != self.spec:
            self.spec, self.generation = dict(spec), self.generation + 1


@dataclass
class Revision:
    """A ProviderRevision, ConfigurationRevision or FunctionRevision."""

    kind: Kind
    name: str
    uid: str
    # The name and the UID of its package.
    package: str
    owner: str
    number: int = 0
    image: str = ""
    skip: bool = False
    desired: str = ""
    deleting: bool = False
    refs: frozenset[ObjectKey] = frozenset()
    problem: str | None = "it was never looked at"

    @property
    def key(self) -> Key:
        """What it is found by."""
        return self.kind, self.name


@dataclass(frozen=True)
class Needed:
    """A dependency in the Lock."""

    package: str
    constraints: str
    kind: Kind | None


@dataclass
class Entry:
    """A package in the Lock, under the name of its revision."""

    name: str
    source: str
    version: str
    dependencies: tuple[Needed, ...]


@dataclass(frozen=True)
class Handover:
    """An object that was controlled by the bytes of one source, and then by those of another."""

    object: ObjectKey
    old: Source
    new: Source
    # What the package object named that controlled it before; with an alias that is not where its bytes are.
    known_as: Source


@dataclass
class State:
    """Everything that a cluster holds."""

    registry: Registry
    # Whether the name of a revision follows from the generation, too, as from Crossplane v2.4 on.
    by_generation: bool
    packages: dict[Key, Installed] = field(default_factory=dict)
    revisions: dict[Key, Revision] = field(default_factory=dict)
    lock: list[Entry] = field(default_factory=list)
    image_configs: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    # The owners of each object by their UIDs, with the one that controls it.
    objects: dict[ObjectKey, dict[str, bool]] = field(default_factory=dict)
    # Whose bytes controlled each object last, and what the package object named.
    holders: dict[ObjectKey, tuple[Source, Source]] = field(default_factory=dict)
    resolver_problem: str | None = None
    # What happened on the way.
    deleted: list[ObjectKey] = field(default_factory=list)
    handovers: list[Handover] = field(default_factory=list)
    # Tags that were resolved without a pin, for objects that were applied.
    unpinned: set[str] = field(default_factory=set)
    _uids: Iterator[int] = field(default_factory=count)

    def create(self, kind: Kind, name: str, spec: Mapping[str, Any], *, uninvited: bool) -> Installed:
        """Create a package object."""
        made = Installed(kind, name, self.new_uid(), with_defaults(spec), uninvited=uninvited)
        self.packages[made.key] = made
        return made

    def new_uid(self) -> str:
        """Return what no object had before."""
        return f"uid-{next(self._uids)}"

    def revisions_of(self, package: Installed) -> list[Revision]:
        """Return the revisions that a package owns."""
        return [revision for revision in self.revisions.values() if revision.owner == package.uid]

    def remove_entry(self, revision: Revision) -> None:
        """Take a revision out of the Lock, where it is known by its name."""
        self.lock = [entry for entry in self.lock if entry.name != revision.name]

    def forget(self, uid: str) -> None:
        """Remove a deleted owner from every object; objects without owners are deleted."""
        for key, owners in list(self.objects.items()):
            if owners.pop(uid, None) is not None and not owners:
                del self.objects[key]
                # The next package that installs it takes it from no other.
                self.holders.pop(key, None)
                self.deleted.append(key)

    def fingerprint(self) -> str:
        """Return a text that is another one after any change."""
        held = (self.packages, self.revisions, self.lock, self.objects, self.resolver_problem)
        return repr(held)


def with_defaults(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a spec as the API server completes it."""
    return {**_DEFAULTS, **spec}
