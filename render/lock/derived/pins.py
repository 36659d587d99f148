"""Kept pins: those of a package's own sources, and of the sources that it has replaced."""

from collections.abc import Iterator

from render.lean import replace
from render.lock.model import KeptPin, Lock, LockedPackage, State, pin_places
from render.settings import PinMode, Settings


def check_pins(lock: Lock, settings: Settings) -> Iterator[str]:
    """Yield the pins that would redirect another package, and those that the pin mode rules out."""
    for package in lock.installed():
        if not (package.kept_pins or package.installed_as):
            continue
        for pin in package.kept_pins:
            if not _belongs(pin, package, lock):
                named, place = pin_places(package, pin)
                yield f"{package.source} keeps a pin of {named}:{pin.tag} to {place}, and has not replaced both"
        if package.state is State.WANTED and settings.pin is not PinMode.DIGEST:
            yield f"{package.source} keeps pins or is an alias, which takes `pin: digest`"


def drop_foreign_pins(lock: Lock) -> Lock:
    """Return a lock without pins of sources that their packages have not replaced any more."""
    if not any(package.kept_pins for package in lock.installed()):
        return lock
    packages = {source: _with_own_pins(package, lock) for source, package in lock.packages.items()}
    deactivated = {source: _with_own_pins(package, lock) for source, package in lock.deactivated.items()}
    return replace(lock, packages=packages, deactivated=deactivated)


def _with_own_pins(package: LockedPackage, lock: Lock) -> LockedPackage:
    return replace(package, kept_pins=tuple(pin for pin in package.kept_pins if _belongs(pin, package, lock)))


def _belongs(pin: KeptPin, package: LockedPackage, lock: Lock) -> bool:
    """Return whether a pin redirects one of a package's own sources to another one of them.

    What a leaving package has replaced is history; its pins must not redirect the sources of other packages.
    """
    named, place = pin_places(package, pin)
    if package.state is State.WANTED:
        return {package.source, package.cluster_source, *(one.source for one in package.replaces)} >= {
            named,
            place,
        }
    others = [other for other in lock.installed() if other is not package]
    return named not in {source for other in others for source in (other.source, other.cluster_source)}
