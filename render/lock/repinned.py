"""Packages that get other bytes under the reference that they have: their pin changes before they themselves do."""

from collections.abc import Mapping

from render.errors import Unsatisfiable
from render.lock.model import LockedPackage, State
from render.references import Source
from render.settings import SETTINGS_FILE


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
