"""A lock against its registries: whether the bytes exist, equal the lock, and still have their tags."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from render.errors import UnusableContent
from render.lock.candidates import lock_dependencies
from render.lock.model import LockedDependency, LockedPackage, State
from render.packages import Package, count_kinds, digest_objects
from render.references import Digest, Reference
from render.registry.oci import NotFound
from render.resolve.edges import dependency_edges


class Published(Protocol):
    """The part of a registry that `verify` asks."""

    def digest(self, reference: Reference) -> Digest: ...
    def package(self, reference: Reference) -> Package: ...


class Trouble(StrEnum):
    """The problems that a locked package can have."""

    # The lock still installs the same bytes, so this can wait.
    TAG_MOVED = "tag moved"
    TAG_GONE = "tag gone"
    # Something that must not be installed, or cannot be.
    OTHER_CONTENT = "other content"
    BYTES_GONE = "bytes gone"
    UNREADABLE = "unreadable"

    @property
    def is_grave(self) -> bool:
        """Whether the lock itself is no longer good."""
        return self not in (Trouble.TAG_MOVED, Trouble.TAG_GONE)


@dataclass(frozen=True, slots=True)
class VerifyFinding:
    """One thing that is not as it was locked."""

    package: LockedPackage
    trouble: Trouble
    details: tuple[str, ...]


def verify_package(locked: LockedPackage, published: Published) -> list[VerifyFinding]:
    """Compare a locked package with its registry."""
    return [*_verify_bytes(locked, published), *verify_tag(locked, published)]


def _verify_bytes(locked: LockedPackage, published: Published) -> Iterator[VerifyFinding]:
    try:
        package = published.package(Reference(locked.source, digest=locked.digest))
    except NotFound as error:
        yield VerifyFinding(locked, Trouble.BYTES_GONE, (error.what,))
        return
    except UnusableContent as error:
        yield VerifyFinding(locked, Trouble.UNREADABLE, (error.what, *error.why))
        return
    differences = tuple(_differences(locked, package))
    if differences:
        yield VerifyFinding(locked, Trouble.OTHER_CONTENT, differences)


def verify_tag(locked: LockedPackage, published: Published) -> Iterator[VerifyFinding]:
    """Yield a finding if the tag of a locked package does not name its bytes any more."""
    if locked.version_tag is None:
        return
    try:
        now = published.digest(Reference(locked.source, locked.version_tag))
    except NotFound as error:
        yield VerifyFinding(locked, Trouble.TAG_GONE, (error.what,))
        return
    except UnusableContent:
        # `_verify_bytes` reports it, if these are the locked bytes.
        return
    if now != locked.digest:
        yield VerifyFinding(locked, Trouble.TAG_MOVED, (f"locked {locked.digest}", f"it now names {now}"))


def _differences(locked: LockedPackage, package: Package) -> Iterator[str]:
    metadata = package.metadata
    dependencies = lock_dependencies(dependency_edges(locked.source, package, complete=True))
    crossplane = metadata.crossplane.text if metadata.crossplane else None
    # A deactivated package requires no other, whatever its metadata says.
    needs = dependencies if locked.state is State.DEACTIVATED else locked.dependencies
    facts = {
        "kind": (locked.kind.value, metadata.kind.value),
        "dependencies": (_shown(needs), _shown(dependencies)),
        "objects": (_counts(locked.objects.items()), _counts(count_kinds(package.objects).items())),
        "list of objects": (locked.objects_digest, digest_objects(package.objects)),
        "family": (locked.family, metadata.family),
        "Crossplane version": (locked.crossplane, crossplane),
    }
    for what, (before, now) in facts.items():
        if before != now:
            yield f"its {what}: locked {before or 'none'}, the package has {now or 'none'}"


def _shown(dependencies: Iterable[LockedDependency]) -> str:
    return ", ".join(f"{dependency.package} {dependency.constraints}" for dependency in dependencies)


def _counts(objects: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(objects))
