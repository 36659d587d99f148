"""The lock: every package of the closure, pinned, with everything that rendering needs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from render.packages import Kind
from render.references import Digest, Source

# A newer version is refused, a newer revision is read: it only adds what may be ignored.
FORMAT_VERSION = 1
FORMAT_REVISION = 0


@dataclass(frozen=True, slots=True)
class LockedDependency:
    """A dependency as Crossplane's Lock holds it."""

    package: str
    constraints: str
    kind: str | None = None
    # Only the explicit form of a dependency has one; the older form gives the kind alone.
    api_version: str | None = None


@dataclass(frozen=True, slots=True)
class LockedPackage:
    """One package of the closure."""

    source: Source
    # The tag that is installed, or the digest where only a digest was asked for.
    version: str
    digest: Digest
    kind: Kind
    # The name of the Provider, Configuration or Function object; it never changes once locked.
    object_name: str
    dependencies: tuple[LockedDependency, ...] = ()
    # Sources of the packages that need it, sorted; a root is also required by the user, under `root`.
    required_by: tuple[str, ...] = ()
    # What the user asked for, if it is a root; the text of a tag, digest or constraint.
    root: str | None = None
    # Of a package that is installed by its digest: the tag that carries it, if one does.
    tag: str | None = None
    # How many objects of each kind it installs, and the digest of their sorted list.
    objects: Mapping[str, int] = field(default_factory=dict)
    objects_digest: str = ""
    family: str | None = None
    crossplane: str | None = None
    # The fields of the user's manifest beyond spec.package.
    fields: Mapping[str, object] = field(default_factory=dict)

    @property
    def by_digest(self) -> bool:
        """Whether it is installed by its digest rather than by a tag."""
        return self.version == self.digest

    @property
    def version_tag(self) -> str | None:
        """The tag that semver constraints are checked against."""
        return self.tag if self.by_digest else self.version


@dataclass(frozen=True, slots=True)
class Lock:
    """What `crossplane.lock.yaml` holds."""

    packages: Mapping[Source, LockedPackage] = field(default_factory=dict)
    # What resolution read, one entry per input with the digest of its canonical form.
    inputs: Mapping[str, str] = field(default_factory=dict)
    # Of the file it was read from. Above ours, the file holds more than this value, and is not written again.
    revision: int = FORMAT_REVISION

    def in_order(self) -> list[LockedPackage]:
        """Return the packages sorted by the text of their source, as in the file."""
        return sorted(self.packages.values(), key=lambda package: str(package.source))
