"""What becomes of an upgrade that the API server refuses: Crossplane notices at once, or says that all is well."""

from render.xpkg.definitions import MRD, XRD, Definition

# The kinds of a Provider whose CRDs Crossplane does not make ManagedResourceDefinitions of, from v2.0 on.
_PLAIN_KINDS = frozenset(
    {"ProviderConfig", "ClusterProviderConfig", "ProviderConfigUsage", "ClusterProviderConfigUsage"}
)
UNHEALTHY = "the new revision of the package stays unhealthy"
_OFF = f"{UNHEALTHY}, and the old controller is off by then"
_QUIET_MRD = "the package says that it is healthy and runs on the old CRD; events of the MRD say why"
_QUIET_XRD = "the package says that it is healthy, and the CRD stays as it was; events of the XRD say why"


def is_plain(definition: Definition) -> bool:
    """Return whether Crossplane makes no ManagedResourceDefinition of a CRD that a Provider brings."""
    return definition.kind in _PLAIN_KINDS


def refused_at_once(definition: Definition) -> str:
    """Return what follows if an object of the package itself is refused."""
    return UNHEALTHY if definition.item.kind == XRD else _OFF


def refused_later(definition: Definition) -> str:
    """Return what follows if a CRD is refused that Crossplane may make of an object of the package."""
    kind = definition.item.kind
    if kind == XRD:
        return _QUIET_XRD
    if kind == MRD:
        return _QUIET_MRD
    if is_plain(definition):
        return _OFF
    return f"since Crossplane v2.0 {_QUIET_MRD}; before, {_OFF}"
