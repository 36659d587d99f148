"""A lock against its registries: whether the bytes exist, are what the lock says, and still have their tags."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from render.crd_dependencies import asked_crd
from render.errors import UnusableContent
from render.lock.candidates import lock_dependencies
from render.lock.derived.detaching import find_reasons, knows_otherwise
from render.lock.graph import LockGraph, Target
from render.lock.model import KeptPin, Lock, LockedDependency, LockedPackage, State, pin_places
from render.moves import Consent, Move, format_moves
from render.packages import Kind, Package, count_kinds, defined_groups, digest_objects
from render.references import Digest, PartialSource, Reference, Source
from render.registry.oci import NotFound
from render.resolve.edges import dependency_edges
from render.resolve.owners import owned_objects

_EDITED = "it was removed after it was locked, or the lock was edited: `git log` of the lock tells which"


class Published(Protocol):
    """The part of a registry that `verify` asks."""

    def digest(self, reference: Reference) -> Digest: ...
    def package(self, reference: Reference) -> Package: ...


class Trouble(StrEnum):
    """The problems that a locked package can have."""

    # The lock still installs the same bytes, so this can wait.
    TAG_MOVED = "tag moved"
    TAG_GONE = "tag gone"
    # Only a rollback to an earlier version needs them.
    PIN_GONE = "bytes of a kept pin gone"
    # A later version may have dropped its claim; or the lock was edited.
    NO_CLAIM = "no such claim"
    # Something that must not be installed, or cannot be.
    OTHER_CONTENT = "other content"
    BYTES_GONE = "bytes gone"
    UNREADABLE = "unreadable"

    @property
    def is_grave(self) -> bool:
        """Whether the lock itself is no longer good."""
        return self not in (Trouble.TAG_MOVED, Trouble.TAG_GONE, Trouble.PIN_GONE, Trouble.NO_CLAIM)


@dataclass(frozen=True, slots=True)
class VerifyFinding:
    """One thing that is not as it was locked."""

    package: Target
    trouble: Trouble
    details: tuple[str, ...]
    # Whether it is about the pin of an earlier version.
    of_pin: bool = False


@dataclass(frozen=True, slots=True)
class Verified:
    """The findings about a package, and the package itself if it could be read."""

    locked: Target
    findings: tuple[VerifyFinding, ...]
    package: Package | None = None


class Mapped(Protocol):
    """The builtin `map`, or one that works in parallel and keeps the order."""

    def __call__(
        self, work: Callable[[Target], Verified], items: Iterable[Target], /
    ) -> Iterable[Verified]: ...


def verify_lock(lock: Lock, published: Published, mapped: Mapped = map) -> list[VerifyFinding]:
    """Compare all packages of a lock with their registries, deactivated and provided ones included."""
    derived = find_reasons(LockGraph(lock), {})
    # The pins of deactivated packages are rendered, and the cluster may pull them.
    locked: list[Target] = [*lock.installed(), *lock.provided.values()]
    found = list(mapped(lambda one: verify_package(one, published, derived.get(one.source, ())), locked))
    packages = {(one.locked.source, one.locked.digest): one.package for one in found if one.package}
    findings = [finding for one in found for finding in one.findings]
    return [*findings, *_verify_unclaimed(lock, packages)]


def verify_package(locked: Target, published: Published, derived: Iterable[str] = ()) -> Verified:
    """Compare a locked or provided package with its registry.

    `derived` are the reasons to detach it that follow from the lock alone.
    """
    package, findings = _read(locked, published)
    if package is not None:
        differences = tuple(_differences(locked, package, frozenset(derived)))
        findings += [VerifyFinding(locked, Trouble.OTHER_CONTENT, differences)] if differences else []
        findings += _verify_claims(locked, package)
    findings += verify_tag(locked, published)
    if isinstance(locked, LockedPackage):
        findings += [one for pin in locked.kept_pins for one in _verify_pin(locked, pin, published)]
    return Verified(locked, tuple(findings), package)


def _verify_unclaimed(
    lock: Lock, packages: Mapping[tuple[Source, Digest], Package]
) -> Iterator[VerifyFinding]:
    """Compare how many objects of each deactivated package no active package installs.

    `packages` are those that could be read; with one missing, the numbers cannot be known.
    """
    installing: list[Target] = [*lock.packages.values(), *lock.provided.values()]
    active = [one for one in installing if one.kind is not Kind.FUNCTION]
    known = [packages.get((one.source, one.digest)) for one in active]
    if None in known:
        return
    claimed = {item for package in known if package for item in owned_objects(package.objects)}
    for off in lock.deactivated.values():
        package = packages.get((off.source, off.digest))
        left = owned_objects(package.objects) - claimed if package else None
        counts = None if left is None else Counter(kind for _, kind, _ in left)
        if counts is not None and counts != off.unclaimed:
            before, now = _counts(off.unclaimed.items()), _counts(counts.items())
            text = _difference("objects that no active package installs", before, now)
            yield VerifyFinding(off, Trouble.OTHER_CONTENT, (text,))


def _verify_claims(locked: Target, package: Package) -> Iterator[VerifyFinding]:
    """Yield a finding for each source that was replaced by a claim which these bytes do not make."""
    claimed = {
        one.complete(locked.source) if isinstance(one, PartialSource) else one
        for one in package.metadata.replaces
    }
    records = locked.replaces if isinstance(locked, LockedPackage) else ()
    for one in records:
        if one.consent is Consent.CLAIM and one.source not in claimed:
            move = Move(one.source, (locked.source,))
            advice = ["if that move is meant, write it in xplock.yaml:", *format_moves([move])]
            text = f"the lock says that it claims to replace {one.source}"
            yield VerifyFinding(locked, Trouble.NO_CLAIM, (text, *advice))


def _read(locked: Target, published: Published) -> tuple[Package | None, list[VerifyFinding]]:
    try:
        return published.package(Reference(locked.source, digest=locked.digest)), []
    except NotFound as error:
        return None, [VerifyFinding(locked, Trouble.BYTES_GONE, (error.what,))]
    except UnusableContent as error:
        return None, [VerifyFinding(locked, Trouble.UNREADABLE, (error.what, *error.why))]


def _verify_pin(locked: LockedPackage, pin: KeptPin, published: Published) -> Iterator[VerifyFinding]:
    """Yield findings about the pin of an earlier version, which has its tag and its bytes at one place."""
    _, place = pin_places(locked, pin)
    named = f"kept pin {place}:{pin.tag}@{pin.digest}"
    try:
        package = published.package(Reference(place, digest=pin.digest))
        now = published.digest(Reference(place, pin.tag))
    except NotFound as error:
        gone = Trouble.PIN_GONE if pin.digest in error.what else Trouble.TAG_GONE
        yield VerifyFinding(locked, gone, (named, error.what, _EDITED), of_pin=True)
        return
    except UnusableContent as error:
        yield VerifyFinding(locked, Trouble.UNREADABLE, (named, error.what, *error.why))
        return
    if package.metadata.kind is not locked.kind:
        text = _difference("kind", locked.kind.value, package.metadata.kind.value)
        yield VerifyFinding(locked, Trouble.OTHER_CONTENT, (f"{named}: {text}",))
    if now != pin.digest:
        yield VerifyFinding(locked, Trouble.TAG_MOVED, (named, f"its tag now names {now}"), of_pin=True)


def verify_tag(locked: Target, published: Published) -> Iterator[VerifyFinding]:
    """Yield a finding if the tag of a locked package does not name its bytes any more."""
    if locked.version_tag is None:
        return
    try:
        now = published.digest(Reference(locked.source, locked.version_tag))
    except NotFound as error:
        yield VerifyFinding(locked, Trouble.TAG_GONE, (error.what, _EDITED))
        return
    except UnusableContent:
        # `_read` reports it, if these are the locked bytes.
        return
    if now != locked.digest:
        yield VerifyFinding(locked, Trouble.TAG_MOVED, (f"locked {locked.digest}", f"it now names {now}"))


def _differences(locked: Target, package: Package, derived: frozenset[str]) -> Iterator[str]:
    facts = {"kind": (locked.kind.value, package.metadata.kind.value)}
    if isinstance(locked, LockedPackage):
        facts |= _facts(locked, package)
    for what, (before, now) in facts.items():
        if before != now:
            yield _difference(what, before, now)
    if isinstance(locked, LockedPackage) and locked.state is not State.DEACTIVATED:
        yield from _detaching(locked, package, derived)


def _facts(locked: LockedPackage, package: Package) -> dict[str, tuple[str, str]]:
    """Return what a lock says about a package, and what the package says."""
    metadata, objects = package.metadata, package.objects
    dependencies = lock_dependencies(dependency_edges(locked.source, package, complete=True))
    # A deactivated package requires no other, whatever its metadata says; the lock has no place for it.
    needs = dependencies if locked.state is State.DEACTIVATED else locked.dependencies
    crossplane = metadata.crossplane.text if metadata.crossplane else ""
    return {
        "dependencies": (_shown(needs), _shown(dependencies)),
        "dependencies on CRDs": (_asked_crds(locked, package), _crds(package)),
        "objects": (_counts(locked.objects.items()), _counts(count_kinds(objects).items())),
        "list of objects": (locked.objects_digest, digest_objects(objects)),
        # A lock of an earlier xplock has none.
        "definitions": (locked.definitions_digest or package.definitions_digest, package.definitions_digest),
        "groups": (", ".join(locked.groups), ", ".join(defined_groups(metadata.kind, objects))),
        "family": (locked.family or "", metadata.family or ""),
        "Crossplane version": (locked.crossplane or "", crossplane),
    }


def _crds(package: Package) -> str:
    return ", ".join(sorted({str(one) for one in package.metadata.crds}))


def _asked_crds(locked: LockedPackage, package: Package) -> str:
    # As of other dependencies, a deactivated package has none in the lock.
    if locked.state is State.DEACTIVATED:
        return _crds(package)
    return ", ".join(sorted({asked_crd(one.crd, one.versions) for one in locked.crds}))


def _detaching(locked: LockedPackage, package: Package, derived: frozenset[str]) -> Iterator[str]:
    """Yield wrong reasons to detach: a lock holds names in full, so only the package shows that it shortens them."""
    edges = dependency_edges(locked.source, package, complete=True)
    partial = [edge.dependency.package for edge in edges if edge.completed and edge.dependency]
    recorded = [reason for reason in locked.detached if reason not in derived]
    for name in partial:
        if not any(knows_otherwise(reason, name) for reason in locked.detached):
            yield _difference("reasons to be detached", "", f"a dependency without a registry, {name}")
    for reason in recorded:
        if knows_otherwise(reason) and not any(knows_otherwise(reason, name) for name in partial):
            yield _difference("reasons to be detached", reason, "")


def _difference(what: str, before: str, now: str) -> str:
    return f"its {what}: locked {before or 'none'}, the package has {now or 'none'}"


def _shown(dependencies: Iterable[LockedDependency]) -> str:
    return ", ".join(
        " ".join(filter(None, (one.package, one.constraints, one.api_version, one.kind)))
        for one in dependencies
    )


def _counts(objects: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(objects))
