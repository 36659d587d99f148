"""What an object keeps from the lock before: the pins of earlier versions, and fields that were rendered once."""

from collections.abc import Collection, Iterator

from render.crossplane import SPEC_DEFAULTS
from render.errors import RenderError, Unsatisfiable
from render.lifecycle.states import Plan
from render.lock.model import KeptPin, LockedPackage, State, spec_of
from render.lock.pins import all_pins, distinct_pins, pin_key, relative_to
from render.settings import SETTINGS_FILE, PinMode

KEPT_VERSIONS = 3


def carry_pins(before: LockedPackage | None, package: LockedPackage) -> tuple[KeptPin, ...]:
    """Return the pins of an object's last versions, newest first; they change only when its reference changes."""
    if before is None:
        return ()
    if pin_key(before) == pin_key(package):
        return tuple(relative_to(package, pin, before) for pin in before.kept_pins)
    return distinct_pins(package, all_pins(before, package))[:KEPT_VERSIONS]


def lost_fields(before: LockedPackage | None, named: Collection[str]) -> dict[str, object]:
    """Return the spec fields that were rendered before and are not set any more, with their default values.

    A field that was rendered once is always rendered: whichever way a manifest is applied, a field that is missing from
    it may keep its old value in the cluster.
    """
    if before is None:
        return {}
    rendered = {*spec_of(before.fields), *spec_of(before.overrides)}
    if before.detached:
        rendered.add("skipDependencyResolution")
    if before.state is State.DEACTIVATED:
        rendered |= {"skipDependencyResolution", "revisionActivationPolicy"}
    return {key: SPEC_DEFAULTS[key] for key in sorted(rendered.difference(named)) if key in SPEC_DEFAULTS}


def note_lost_fields(plan: Plan) -> Iterator[str]:
    """Yield a note for each package whose manifest is gone while other packages need it."""
    for before, after in plan.active():
        if before is None or after.state is not State.WANTED or not before.fields or after.root is not None:
            continue
        names = [
            f"{part}.{key}"
            for part, value in before.fields.items()
            if isinstance(value, dict)
            for key in value
        ]
        yield (
            f"{after.source} is still needed, and its manifest is gone: {' and '.join(sorted(names))} no longer "
            f"{'apply' if len(names) > 1 else 'applies'}; to keep such a field, write it under `overrides` in {SETTINGS_FILE}"
        )


class DetachedTooLate(Unsatisfiable):
    """Packages that Crossplane would pull again while it still resolves their dependencies."""


def check_bytes_and_attachment_change_apart(plan: Plan) -> Iterator[RenderError]:
    """An attached package is not detached in the lock that gives other bytes to its reference."""
    if plan.context.settings.pin is not PinMode.DIGEST:
        return
    found = [
        new for old, new in plan.active() if old and _is_repinned(old, new) and _is_detached_now(old, new)
    ]
    if not found:
        return
    names = " and ".join(str(package.source) for package in found)
    yield DetachedTooLate(
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
