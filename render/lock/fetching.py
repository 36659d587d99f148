"""What a locked package holds, had again by its digest."""

from render.errors import RenderError
from render.lock.model import LockedPackage, Provided
from render.packages import Package
from render.references import Reference
from render.resolve.model import Catalog


def fetch_locked(package: LockedPackage | Provided, catalog: Catalog) -> Package | None:
    """Return a package as it was locked, or nothing if it can no longer be had."""
    try:
        return catalog.package(Reference(package.source, digest=package.digest))
    except RenderError:
        return None
