"""The packages in layers: each one comes after everything it depends on."""

from collections.abc import Sequence
from pathlib import PurePath

from render.commands import xplock
from render.crd_dependencies import requirer_of
from render.errors import Differs
from render.lock.graph import find_layers
from render.lock.model import LockedPackage


class CircularLock(Differs):
    """Packages that depend on each other, so that none of them can come first."""

    def __init__(self, source: str, folder: str | PurePath) -> None:
        super().__init__(
            "the packages of the lock cannot be put in order",
            why=f"{source} depends on itself, or on a package that does",
            next=f"run: {xplock('lock', folder=folder)}",
        )


def layer_packages(
    packages: Sequence[LockedPackage], folder: str | PurePath = "."
) -> list[list[LockedPackage]]:
    """Return first the packages without dependencies, then those that depend only on earlier ones.

    Each layer is sorted by source. The folder is for advice.
    """
    known = {str(package.source): package for package in packages}
    # Reading a lock has compared `required_by` with the dependencies of its packages.
    dependants = {source: map(requirer_of, package.required_by) for source, package in known.items()}
    layers = find_layers(
        {source: [name for name in sorted({*names}) if name in known] for source, names in dependants.items()}
    )
    left = known.keys() - {source for layer in layers for source in layer}
    if left:
        raise CircularLock(min(left), folder)
    return [[known[source] for source in sorted(layer)] for layer in layers]
