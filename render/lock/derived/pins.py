"""Kept pins: those of a package's own sources, and of the sources whose object became its own."""

from collections.abc import Iterator, Mapping

from render.lean import replace
from render.lock.model import KeptPin, Lock, LockedPackage, Replaced, State, pin_places
from render.lock.pins import distinct_pins
from render.moves import Consent, Move, Strategy, follow_moves
from render.names import object_name
from render.references import Source
from render.settings import PinMode, Settings

# In every other move the old object stays itself, or there was none, so its images are not those of the new one.
_KEEPS_OBJECT = (Strategy.ALIAS, Strategy.REPOINT)


def check_pins(lock: Lock, settings: Settings) -> Iterator[str]:
    """Yield the pins that would redirect another package, and those that the pin mode rules out."""
    moves: Mapping[Source, Move] | None = None
    for package in lock.installed():
        if not (package.kept_pins or package.installed_as):
            continue
        moves = follow_moves(settings.moves) if moves is None else moves
        for pin in package.kept_pins:
            if not _belongs(pin, package, lock, moves):
                named, place = pin_places(package, pin)
                yield f"{package.source} keeps a pin of {named}:{pin.tag} to {place}, and has not replaced both"
        if package.state is State.WANTED and settings.pin is not PinMode.DIGEST:
            yield f"{package.source} keeps pins or is an alias, which takes `pin: digest`"


def drop_foreign_pins(lock: Lock, moves: Mapping[Source, Move]) -> Lock:
    """Return a lock without pins of sources that their packages have not replaced, and with one pin of each reference."""
    if not any(package.kept_pins for package in lock.installed()):
        return lock

    def own(package: LockedPackage) -> LockedPackage:
        pins = [pin for pin in package.kept_pins if _belongs(pin, package, lock, moves)]
        return replace(package, kept_pins=distinct_pins(package, pins))

    packages = {source: own(package) for source, package in lock.packages.items()}
    # A record that only a dropped pin needed goes with it.
    deactivated = {source: as_deactivated(own(package)) for source, package in lock.deactivated.items()}
    return replace(lock, packages=packages, deactivated=deactivated)


def records_of_pins(package: LockedPackage) -> tuple[Replaced, ...]:
    """Return what a package has replaced, as far as its kept pins need it."""
    sources = {source for pin in package.kept_pins for source in pin_places(package, pin)}
    foreign = sources - {package.source, package.cluster_source}
    return tuple(one for one in package.replaces if one.source in foreign)


def as_deactivated(package: LockedPackage) -> LockedPackage:
    """Return a package without what only an active one has: nothing depends on it, and it depends on nothing."""
    return replace(
        package,
        root=None,
        required_by=(),
        dependencies=(),
        crds=(),
        detached=(),
        stale_entry=(),
        replaces=records_of_pins(package),
    )


def _belongs(pin: KeptPin, package: LockedPackage, lock: Lock, moves: Mapping[Source, Move]) -> bool:
    """Return whether a pin redirects an image that its object named once to a source that its bytes were at once."""
    own = {package.source, package.cluster_source}
    named, place = pin_places(package, pin)
    if named == package.cluster_source and place in own:
        return True
    kept = [one for one in package.replaces if one.strategy in _KEEPS_OBJECT and _agreed(one, package, moves)]
    # The object is named for each source that it named, since no other object can become an alias or be repointed.
    names = {package.object_name, *map(object_name, own)}
    nameable = own.union(one.source for one in kept if object_name(one.source) in names)
    # The settings may lead an object from one source to the next, with bytes of each on the way.
    moved = {one.source for one in kept if one.consent is Consent.MOVES}
    if named not in nameable or place not in nameable | moved:
        return False
    # A deactivated alias has the source of its successor.
    return named == package.cluster_source or named not in _sources_of_others(package, lock)


def _agreed(one: Replaced, package: LockedPackage, moves: Mapping[Source, Move]) -> bool:
    """Return whether a move has its entry in the settings, or is a claim; a claim is compared with the package online."""
    if one.source not in moves:
        return one.consent is Consent.CLAIM
    targets = moves[one.source].targets
    return one.consent is Consent.MOVES and not {package.source, *package.replaced_by}.isdisjoint(targets)


def _sources_of_others(package: LockedPackage, lock: Lock) -> set[Source]:
    """Return the sources that other objects of the cluster have: here, and in used folders."""
    others = [*(one for one in lock.installed() if one is not package), *lock.provided.values()]
    return {source for other in others for source in (other.source, other.cluster_source)}
