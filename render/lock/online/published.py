"""Tags and bytes that a lock names and no registry has: a registry is asked only where the cache does not know."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from render.errors import Unavailable, UnusableContent
from render.lean import replace
from render.lock.derived.pins import as_deactivated
from render.lock.model import KeptPin, Lock, LockedPackage, State, pin_places
from render.lock.online.verify import Published
from render.references import Digest, Reference, Source
from render.registry.oci import NotFound


@dataclass(frozen=True, slots=True)
class Name:
    """A tag of a source, and the digest that a lock has for it."""

    source: Source
    tag: str
    digest: Digest


class Mapped(Protocol):
    """The builtin `map`, or one that works in parallel and keeps the order."""

    def __call__(self, work: Callable[[Name], str], items: Iterable[Name], /) -> Iterable[str]: ...


@dataclass(frozen=True, slots=True)
class Witness:
    """Whether a tag is there, and its bytes."""

    # The cache and layouts; a tag that named the locked bytes when it was seen last needs no request.
    known: Published
    # None, if no registry must be asked.
    registries: Published | None

    def missing(self, name: Name) -> str:
        """Return why a tag or its bytes are not there; empty if they are, or if that cannot be known."""
        try:
            if self._digest(Reference(name.source, name.tag), name.digest) != name.digest:
                # The tag has moved since, and the bytes are pulled by their digest.
                (self.registries or self.known).package(Reference(name.source, digest=name.digest))
        except Unavailable:
            return ""
        except (NotFound, UnusableContent) as error:
            return error.what
        return ""

    def _digest(self, reference: Reference, locked: Digest) -> Digest:
        try:
            found = self.known.digest(reference)
        except Unavailable:
            if self.registries is None:
                raise
        else:
            if self.registries is None or found == locked:
                return found
        return self.registries.digest(reference)


def missing_versions(lock: Lock, states: Iterable[State], witness: Witness, mapped: Mapped) -> Iterator[str]:
    """Yield the packages in some states whose tags are not there."""
    allowed = set(states)
    packages = [p for p in lock.installed() if p.state in allowed and p.version_tag is not None]
    names = [Name(package.source, package.version_tag or "", package.digest) for package in packages]
    for package, why in zip(packages, mapped(witness.missing, names), strict=True):
        if why:
            yield f"{package.source} {package.version_tag}: {why}"


def drop_missing_pins(lock: Lock, witness: Witness, mapped: Mapped) -> tuple[Lock, list[str]]:
    """Return a lock without kept pins of tags or bytes that are not there, and a note for each that went."""
    names = {_name(package, pin) for package in lock.installed() for pin in package.kept_pins}
    order = sorted(names, key=lambda name: (name.source, name.tag, name.digest))
    missing = {name: why for name, why in zip(order, mapped(witness.missing, order), strict=True) if why}
    if not missing:
        return lock, []
    kept = replace(
        lock,
        packages={source: _without(package, missing) for source, package in lock.packages.items()},
        # A record that only a missing pin needed goes with it.
        deactivated={
            source: as_deactivated(_without(package, missing)) for source, package in lock.deactivated.items()
        },
    )
    return kept, [
        f"the kept pin {name.source}:{name.tag}@{name.digest} goes, since nothing can be pulled by it: {why}"
        for name, why in missing.items()
    ]


def _without(package: LockedPackage, missing: Iterable[Name]) -> LockedPackage:
    pins = tuple(pin for pin in package.kept_pins if _name(package, pin) not in missing)
    return package if pins == package.kept_pins else replace(package, kept_pins=pins)


def _name(package: LockedPackage, pin: KeptPin) -> Name:
    return Name(pin_places(package, pin)[1], pin.tag, pin.digest)
