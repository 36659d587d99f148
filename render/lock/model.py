"""The lock: every package of the closure, pinned, with everything that rendering needs."""

from collections.abc import Mapping
from enum import StrEnum

from render.crd_dependencies import CrdAnswer
from render.lean import Any, TypeVar, dataclass, field
from render.moves import Consent, Strategy
from render.packages import Kind
from render.references import Digest, PartialSource, Source, parse_dependency_source

K = TypeVar("K")
V = TypeVar("V")

# A newer version is refused. A newer revision is read: it only adds fields that may be ignored.
FORMAT_VERSION = 1
FORMAT_REVISION = 0
_SORTED_FIELDS = ("objects", "unclaimed", "fields", "overrides")
_SORTED_LISTS = ("packages", "inputs", "deactivated", "provided")
_SCALARS = frozenset({str, int, float, bool, type(None)})
# How a frozen value is completed while it is made.
_set = object.__setattr__


class State(StrEnum):
    """The state of a package; a package that is gone is in no lock."""

    WANTED = "wanted"
    # No longer required; it stays active until it is retired.
    ORPHANED = "orphaned"
    # Replaced by another package.
    DEACTIVATED = "deactivated"


@dataclass(frozen=True, slots=True)
class LockedDependency:
    """A dependency as Crossplane's Lock holds it."""

    package: str
    constraints: str
    kind: str | None = None
    # Only the explicit form of a dependency has one; the older form gives the kind alone.
    api_version: str | None = None


@dataclass(frozen=True, slots=True)
class KeptPin:
    """The pin of an earlier version, which stays while a cluster may still run that version."""

    tag: str
    digest: Digest
    # The source of its bytes, and the source that the object named, where these differ from the package's own.
    source: Source | None = None
    installed_as: Source | None = None


@dataclass(frozen=True, slots=True)
class Replaced:
    """A source that a package has replaced."""

    source: Source
    strategy: Strategy
    consent: Consent


class _Pinned:
    """The properties that follow from how a package is pinned, here or in another folder."""

    __slots__ = ()

    source: Source
    version: str
    digest: Digest
    tag: str | None
    installed_as: Source | None

    @property
    def by_digest(self) -> bool:
        """Whether it is installed by its digest rather than by a tag."""
        return self.version == self.digest

    @property
    def version_tag(self) -> str | None:
        """The tag that semver constraints are checked against."""
        return self.tag if self.by_digest else self.version

    @property
    def cluster_reference(self) -> str:
        """The text of spec.package in its object."""
        return f"{self.cluster_source}{'@' if self.by_digest else ':'}{self.version}"

    @property
    def cluster_source(self) -> Source:
        """The source by which Crossplane knows it."""
        return self.installed_as or self.source

    @property
    def display_source(self) -> Source:
        """The source that people know it by."""
        return self.source


@dataclass(frozen=True, slots=True)
class LockedPackage(_Pinned):
    """One package of the closure."""

    source: Source
    # The tag that is installed, or the digest where only a digest was asked for.
    version: str
    digest: Digest
    kind: Kind
    # The name of the Provider, Configuration or Function object; it never changes once locked.
    object_name: str
    dependencies: tuple[LockedDependency, ...] = ()
    # The packages that answer its dependencies on CRDs, sorted; it may be one of them itself.
    crds: tuple[CrdAnswer, ...] = ()
    # Sources of the packages that need it, and the CRDs that they need it for, sorted; a root is also required by the
    # user, under `root`.
    required_by: tuple[str, ...] = ()
    # The request of a root: the text of a tag, digest or constraint.
    root: str | None = None
    # The tag of a package that is installed by its digest, if it has one.
    tag: str | None = None
    # How many objects of each kind it installs, and the digest of their sorted list.
    objects: Mapping[str, int] = field(default_factory=dict)
    objects_digest: str = ""
    # The digest of its definitions and Compositions. A lock of an earlier xplock has none, and is as good as one with it.
    definitions_digest: str = ""
    # The API groups in which it defines kinds, sorted.
    groups: tuple[str, ...] = ()
    family: str | None = None
    crossplane: str | None = None
    # Its licence in its own words, and when it was released with the kind of that time; only if a policy asks.
    # NOASSERTION: a policy asked, and the package says nothing.
    licence: str | None = None
    released_at: str | None = None
    # The signers that policies accepted, sorted; of attestations with the type of what is attested.
    signed_by: tuple[str, ...] = ()
    attested_by: tuple[str, ...] = ()
    # Why Crossplane must not check its dependencies, a line each; without a reason it does.
    detached: tuple[str, ...] = ()
    # The fields of the user's manifest beyond spec.package; they stay when the manifest goes.
    fields: Mapping[str, object] = field(default_factory=dict)
    # The fields that the settings add.
    overrides: Mapping[str, object] = field(default_factory=dict)
    # Newest first, without the current one.
    kept_pins: tuple[KeptPin, ...] = ()
    state: State = State.WANTED
    # Whether it is leaving without its guard, so that it can be dropped after the next sync.
    released: bool = False
    # The sources that it has replaced, sorted; and those that have replaced it.
    replaces: tuple[Replaced, ...] = ()
    replaced_by: tuple[Source, ...] = ()
    # The source that the object of an alias names, and that the cluster knows.
    installed_as: Source | None = None
    # The sources that its stale entry in the cluster's Lock names.
    stale_entry: tuple[str, ...] = ()
    # For a deactivated package: how many objects of each kind no active package installs.
    unclaimed: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Sort whatever has no order of its own, so that packages that are equal are written alike."""
        if len(self.required_by) > 1:
            _set(self, "required_by", tuple(sorted(self.required_by)))
        if len(self.replaced_by) > 1:
            _set(self, "replaced_by", tuple(sorted(self.replaced_by)))
        for name in _SORTED_FIELDS:
            value = getattr(self, name)
            if value and not _is_sorted(value):
                _set(self, name, sort_keys(value))

    @property
    def display_source(self) -> Source:
        """The source that people know it by: its own, or for a deactivated package the one in the cluster."""
        return self.cluster_source if self.state is State.DEACTIVATED else self.source


@dataclass(frozen=True, slots=True)
class Provided(_Pinned):
    """A package that another folder of the same cluster provides, as it was when this one was locked."""

    source: Source
    # As the settings name it.
    folder: str
    version: str
    digest: Digest
    kind: Kind
    object_name: str
    tag: str | None = None
    detached: bool = False
    installed_as: Source | None = None
    # The sources that it has replaced.
    replaces: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class Promotion:
    """Where the versions of a lock were taken from by `promote`; a change of version drops it."""

    # A folder or a lock as seen from this one, or a commit and a path in it.
    origin: str
    # The digest of the lock there.
    lock_digest: Digest
    # How many packages have the version and the digest that they have there.
    packages: int

    def __str__(self) -> str:
        return f"{self.packages:,} of {self.origin}, whose lock was {self.lock_digest}"


@dataclass(frozen=True, slots=True)
class Lock:
    """What `crossplane.lock.yaml` holds."""

    # The active packages: wanted and orphaned ones.
    packages: Mapping[Source, LockedPackage] = field(default_factory=dict)
    # The record: one entry per input, with the digest of its canonical form.
    inputs: Mapping[str, str] = field(default_factory=dict)
    # The revision of the file. A file with a newer one holds more than this value, and is not written again.
    revision: int = FORMAT_REVISION
    # By the source that the cluster knows each by.
    deactivated: Mapping[Source, LockedPackage] = field(default_factory=dict)
    # The packages of other folders that packages here need.
    provided: Mapping[Source, Provided] = field(default_factory=dict)
    # The packages that answer the CRDs that the user asks for, sorted.
    crds: tuple[CrdAnswer, ...] = ()
    promoted: Promotion | None = None

    def __post_init__(self) -> None:
        """Sort everything by the text of its key, as in the file."""
        for name in _SORTED_LISTS:
            _set(self, name, _sort_by_text(getattr(self, name)))

    def in_order(self) -> list[LockedPackage]:
        """Return the active packages sorted by the text of their source, as in the file."""
        return list(self.packages.values())

    def installed(self) -> list[LockedPackage]:
        """Return everything that is rendered, sorted by the text of its source."""
        # Two packages may have one source: a deactivated one, and an active one that is fetched from there.
        return sorted([*self.deactivated.values(), *self.packages.values()], key=_order)


def named_source(dependency: LockedDependency, dependant: Source) -> Source:
    """Return the source that a dependency names, in full."""
    written = parse_dependency_source(dependency.package)
    return written.complete(dependant) if isinstance(written, PartialSource) else written


def pin_places(package: LockedPackage, pin: KeptPin) -> tuple[Source, Source]:
    """Return the source that a pin's object named, and the one that its bytes are at."""
    return pin.installed_as or pin.source or package.cluster_source, pin.source or package.source


def spec_of(fields: Mapping[str, object]) -> Mapping[str, object]:
    """Return the spec among the fields of a manifest."""
    spec = fields.get("spec")
    return spec if isinstance(spec, dict) else {}


def sort_keys(value: Any) -> Any:
    """Return a value with the keys of all its mappings sorted, as a file holds it."""
    if isinstance(value, Mapping):
        return {key: sort_keys(value[key]) for key in sorted(value)}
    return [sort_keys(item) for item in value] if isinstance(value, list | tuple) else value


def _is_sorted(value: Any) -> bool:
    # Almost every value is, and this takes a fraction of the time that sorting does.
    if type(value) is list:
        return all(type(item) in _SCALARS or _is_sorted(item) for item in value)
    if type(value) is not dict:
        return type(value) in _SCALARS
    last = ""
    for key, item in value.items():
        if key < last or not (type(item) in _SCALARS or _is_sorted(item)):
            return False
        last = key
    return True


def _sort_by_text(found: Mapping[K, V]) -> Mapping[K, V]:
    texts = list(map(str, found))
    in_order = sorted(texts)
    if texts == in_order:
        return found
    return dict(sorted(found.items(), key=lambda item: str(item[0])))


def _order(package: LockedPackage) -> tuple[str, str]:
    text = str(package.source)
    # Few packages are known by another source.
    return text, text if package.installed_as is None else str(package.installed_as)
