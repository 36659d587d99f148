"""Differences between versions of Crossplane: the one place that compares its versions.

Measured on v2.3.4 and on v2.4. An unknown version counts as an old one wherever that is safer.
"""

from render.versions import Version

# From v2.4 on every change of a package's spec creates a new revision, named after the package's generation.
_REVISION_PER_GENERATION = (2, 4)


def keeps_stale_entries(crossplane: Version | None) -> bool:
    """Return whether Crossplane keeps the Lock entry of a package that was attached and is now detached."""
    return crossplane is None or _is_before_generations(crossplane)


def needs_inactive_revision(crossplane: Version | None) -> bool:
    """Return whether deactivating a package also takes a manifest of its revision, set to Inactive."""
    return crossplane is None or _is_before_generations(crossplane)


def has_predictable_revisions(crossplane: Version | None) -> bool:
    """Return whether the name of a revision follows from its package's name and digest alone."""
    return crossplane is not None and _is_before_generations(crossplane)


def _is_before_generations(crossplane: Version) -> bool:
    return crossplane.precedence[:2] < _REVISION_PER_GENERATION
