"""What a package takes over from the lock before: pins of earlier versions, and fields that were rendered once."""

from collections.abc import Collection, Iterable, Mapping

from render.lock.model import KeptPin, LockedPackage, State, pin_places, spec_of
from render.references import Source
from render.values import replace

KEPT_VERSIONS = 3

# What the API server fills in. A field that was rendered once is rendered for good: in whatever way a manifest
# is applied, a field that vanishes from it may stay in the cluster as it was.
_DEFAULTS: Mapping[str, object] = {
    "commonAnnotations": {},
    "commonLabels": {},
    "ignoreCrossplaneConstraints": False,
    "packagePullPolicy": "IfNotPresent",
    "packagePullSecrets": [],
    "revisionActivationPolicy": "Automatic",
    "revisionHistoryLimit": 1,
    "runtimeConfigRef": {"name": "default"},
    "skipDependencyResolution": False,
}


def carry_pins(before: LockedPackage | None, package: LockedPackage) -> tuple[KeptPin, ...]:
    """Return the pins of an object's last versions, newest first; they change only when what it names changes."""
    if before is None:
        return ()
    if _named(before) == _named(package):
        return tuple(_seen_from(package, pin, before) for pin in before.kept_pins)
    return _distinct(package, _seen_pins(before, package))[:KEPT_VERSIONS]


def join_pins(package: LockedPackage, others: Iterable[LockedPackage]) -> tuple[KeptPin, ...]:
    """Return the kept pins of a package and all pins of others that were the same object, in this order."""
    pins = [*package.kept_pins, *(pin for other in others for pin in _seen_pins(other, package))]
    return _distinct(package, pins)


def _seen_pins(before: LockedPackage, package: LockedPackage) -> list[KeptPin]:
    """Return all pins of a package, newest first, as another one that was the same object later has to keep them."""
    last = () if before.by_digest else (KeptPin(before.version, before.digest),)
    return [_seen_from(package, pin, before) for pin in (*last, *before.kept_pins)]


def _distinct(package: LockedPackage, pins: Iterable[KeptPin]) -> tuple[KeptPin, ...]:
    """Return the first pin of each reference, without that of the package itself."""
    found: dict[tuple[Source, str], KeptPin] = {}
    for pin in pins:
        found.setdefault((pin_places(package, pin)[0], pin.tag), pin)
    found.pop(_named(package), None)
    return tuple(found.values())


def lost_fields(before: LockedPackage | None, named: Collection[str]) -> dict[str, object]:
    """Return the fields of a spec that were rendered before and are not named any more, at their default values."""
    if before is None:
        return {}
    rendered = {*spec_of(before.fields), *spec_of(before.overrides)}
    if before.detached:
        rendered.add("skipDependencyResolution")
    if before.state is State.DEACTIVATED:
        rendered |= {"skipDependencyResolution", "revisionActivationPolicy"}
    return {key: _DEFAULTS[key] for key in sorted(rendered.difference(named)) if key in _DEFAULTS}


def _seen_from(package: LockedPackage, pin: KeptPin, before: LockedPackage) -> KeptPin:
    """Return a pin in the words of the package that keeps it now: only what differs from it is said."""
    named, place = pin_places(before, pin)
    if (named, place) == (package.cluster_source, package.source):
        return KeptPin(pin.tag, pin.digest)
    return replace(pin, source=place, installed_as=None if named == place else named)


def _named(package: LockedPackage) -> tuple[Source, str]:
    return package.cluster_source, package.version
