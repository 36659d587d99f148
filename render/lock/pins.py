"""Pins of earlier versions, as the package that keeps them writes them."""

from collections.abc import Iterable

from render.lean import replace
from render.lock.model import KeptPin, LockedPackage, pin_places
from render.references import Source


def join_pins(package: LockedPackage, others: Iterable[LockedPackage]) -> tuple[KeptPin, ...]:
    """Return the kept pins of a package and all pins of others that were the same object, in this order."""
    pins = [*package.kept_pins, *(pin for other in others for pin in all_pins(other, package))]
    return distinct_pins(package, pins)


def all_pins(before: LockedPackage, package: LockedPackage) -> list[KeptPin]:
    """Return all pins of an earlier package, newest first, as the later package of the same object keeps them."""
    last = () if before.by_digest else (KeptPin(before.version, before.digest),)
    return [relative_to(package, pin, before) for pin in (*last, *before.kept_pins)]


def distinct_pins(package: LockedPackage, pins: Iterable[KeptPin]) -> tuple[KeptPin, ...]:
    """Return the first pin of each reference, without that of the package itself."""
    found: dict[tuple[Source, str], KeptPin] = {}
    for pin in pins:
        found.setdefault((pin_places(package, pin)[0], pin.tag), pin)
    found.pop(pin_key(package), None)
    return tuple(found.values())


def relative_to(package: LockedPackage, pin: KeptPin, before: LockedPackage) -> KeptPin:
    """Return a pin as the package that keeps it now writes it: with only the sources that differ from its own."""
    named, place = pin_places(before, pin)
    if (named, place) == (package.cluster_source, package.source):
        return KeptPin(pin.tag, pin.digest)
    return replace(pin, source=place, installed_as=None if named == place else named)


def pin_key(package: LockedPackage) -> tuple[Source, str]:
    """Return the reference that an object's own pin is for."""
    return package.cluster_source, package.version
