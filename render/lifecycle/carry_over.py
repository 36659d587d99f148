"""What a package takes over from the lock before: pins of earlier versions, and fields that were rendered once."""

from collections.abc import Collection, Mapping

from render.errors import Unsatisfiable
from render.lock.model import KeptPin, LockedPackage, State, spec_of
from render.lock.pins import all_pins, distinct_pins, pin_key, relative_to
from render.references import Source
from render.settings import SETTINGS_FILE

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
    if pin_key(before) == pin_key(package):
        return tuple(relative_to(package, pin, before) for pin in before.kept_pins)
    return distinct_pins(package, all_pins(before, package))[:KEPT_VERSIONS]


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


class DetachedTooLate(Unsatisfiable):
    """Packages that Crossplane would pull anew before it is told to leave their dependencies alone."""


def check_repinned(
    packages: Mapping[Source, LockedPackage], before: Mapping[Source, LockedPackage | None]
) -> None:
    """Refuse to detach an attached package in the same lock that gives other bytes to its reference."""
    found = [
        package
        for source, package in sorted(packages.items())
        if (old := before[source]) and _is_repinned(old, package) and _is_detached_now(old, package)
    ]
    if not found:
        return
    names = " and ".join(str(package.source) for package in found)
    raise DetachedTooLate(
        f"{names} cannot get other bytes under the same tag and be detached at once",
        why=[
            *(f"{p.cluster_reference} is installed, and becomes detached: {p.detached[0]}" for p in found),
            # Measured.
            "its pin is applied first, and Crossplane would install what the new bytes need before it is told not to",
        ],
        next=[
            *(f"take another version of {package.source}, which has another tag" for package in found),
            *(["or move it by `strategy: deactivate`"] if any(p.replaces for p in found) else []),
            f"or detach everything first: `detach: all` in {SETTINGS_FILE}, lock that, and let every cluster sync",
        ],
    )


def _is_repinned(old: LockedPackage, new: LockedPackage) -> bool:
    return old.cluster_reference == new.cluster_reference and old.digest != new.digest


def _is_detached_now(old: LockedPackage, new: LockedPackage) -> bool:
    return bool(new.detached) and not old.detached and old.state is not State.DEACTIVATED
