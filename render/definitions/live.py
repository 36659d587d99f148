"""What a cluster knows about the definitions of two locks: which are there, and which versions it stores."""

from render.definitions.model import LiveDefinition, LiveDefinitions
from render.xpkg.definitions import CRD, XRD, Definition


def is_absent(definition: Definition, live: LiveDefinitions | None) -> bool:
    """Return whether the cluster is known to have nothing of a definition, so that no change to it matters."""
    if live is None:
        return False
    known = live.definitions.get(definition.name)
    if known is not None:
        return known.is_inactive or known.is_deleted
    # Each of them has a CRD, apart from an MRD that was never activated.
    return CRD in live.kinds or (definition.item.kind == XRD and XRD in live.kinds)


def stored_versions(definition: Definition, live: LiveDefinitions | None) -> frozenset[str] | None:
    """Return the versions that the cluster stores objects in, or claims of an XRD; None if that is unknown."""
    if live is None:
        return None
    names = [definition.name]
    if definition.claim_plural:
        names.append(f"{definition.claim_plural}.{definition.group}")
    found = [live.definitions.get(name, LiveDefinition()).stored_versions for name in names]
    if found[0] is None:
        return None
    return frozenset(version for versions in found for version in versions or ())
