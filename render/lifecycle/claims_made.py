"""Whether the bytes of a package make a claim that a lock records: the record alone is believed nowhere online."""

from collections.abc import Collection, Iterable

from render.errors import RenderError, UnusableContent
from render.lock.model import KeptPin, LockedPackage, Replaced, pin_places
from render.moves import Consent
from render.packages import Package
from render.references import Digest, PartialSource, Reference, Source
from render.registry.oci import NotFound
from render.resolve.model import Catalog


def claims_of(package: Package) -> set[Source]:
    """Return the sources that a package claims to replace, in full."""
    replaces = package.metadata.replaces
    return {one.complete(package.source) if isinstance(one, PartialSource) else one for one in replaces}


def is_claimed(one: Replaced, locked: LockedPackage, pins: Iterable[KeptPin], catalog: Catalog) -> bool:
    """Return whether a package makes a claim, or did in a version whose pin is kept; true if that cannot be known."""
    if one.consent is not Consent.CLAIM:
        return True
    bytes_of = [(locked.source, locked.digest), *((pin_places(locked, pin)[1], pin.digest) for pin in pins)]
    return any(one.source in _claims(*known, catalog, unknown={one.source}) for known in bytes_of)


def _claims(
    source: Source, digest: Digest, catalog: Catalog, *, unknown: Collection[Source]
) -> Collection[Source]:
    try:
        return claims_of(catalog.package(Reference(source, digest=digest)))
    except (NotFound, UnusableContent):
        return ()
    except RenderError:
        return unknown
