"""Differences between versions of Crossplane: the one place that compares its versions.

Measured on v2.3.4 and on v2.4. An unknown version counts as an old one wherever that is safer.
"""

from collections.abc import Mapping

from render.settings import PinMode, Settings
from render.versions.version import Version

# The first version of Crossplane that a setting works with. Before v1.20 an ImageConfig cannot rewrite an image, and up
# to v2.1 Crossplane keeps the bytes it has when only the digest of a pin changes.
FIRST_VERSIONS: Mapping[str, tuple[int, int]] = {
    "pin: digest": (2, 2),
    "rewrites": (1, 20),
    "mirror": (1, 20),
    "overrides: runtimeConfig": (1, 14),
}
# No version of Crossplane is known to be too old for these settings.
ANY_VERSION = ("pin: tag", "pin: native")
# The newest that the end-to-end tests ran, whatever its patch: those change no behaviour that settings depend on.
NEWEST_RUN = (2, 4)
# From v2.4 on every change of a package's spec creates a new revision, named after the package's generation.
_REVISION_PER_GENERATION = (2, 4)

# From v2.0 on a Provider runs the image that its package is.
_OWN_IMAGES = (2, 0)

# The defaults of the API server for the spec of a package object.
SPEC_DEFAULTS: Mapping[str, object] = {
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


def unfit_settings(settings: Settings) -> list[str]:
    """Return the settings in use that the Crossplane of the cluster is too old for."""
    crossplane = settings.crossplane_version
    if crossplane is None:
        return []
    return [one for one in _used(settings) if crossplane.precedence[:2] < FIRST_VERSIONS[one]]


def assumed_version(settings: Settings) -> str:
    """Return which Crossplane the settings are made for that do not name its version."""
    used = sorted(_used(settings), key=lambda setting: FIRST_VERSIONS[setting])
    return f"Crossplane {first_version(used[-1])} or newer" if used else "any Crossplane"


def note_on_crossplane(settings: Settings) -> str:
    """Return a line for people if the Crossplane of the cluster is not named, or is newer than any that was run."""
    crossplane = settings.crossplane_version
    if crossplane is None:
        return f"crossplaneVersion is not set; {assumed_version(settings)} is assumed"
    if crossplane.precedence[:2] <= NEWEST_RUN:
        return ""
    newest = _format(NEWEST_RUN)
    return f"crossplaneVersion {crossplane} is newer than any Crossplane that xplock was run with; it is treated as {newest}"


def first_version(setting: str) -> str:
    """Return the first version of Crossplane that a setting works with, as people write it."""
    return _format(FIRST_VERSIONS[setting])


def _format(version: tuple[int, int]) -> str:
    major, minor = version
    return f"v{major}.{minor}"


def _used(settings: Settings) -> list[str]:
    used = {
        "pin: digest": settings.pin is PinMode.DIGEST,
        "rewrites": bool(settings.rewrites),
        "mirror": settings.mirror is not None,
        "overrides: runtimeConfig": any(one.runtime_config for one in settings.overrides),
    }
    return [setting for setting in FIRST_VERSIONS if used[setting]]


def keeps_stale_entries(crossplane: Version | None) -> bool:
    """Return whether Crossplane keeps the Lock entry of a package that was attached and is now detached."""
    return crossplane is None or _is_before_generations(crossplane)


def runs_controller_images(crossplane: Version | None) -> bool:
    """Return whether a Provider may name another image to run than its package; an unknown version is a new one here."""
    return crossplane is not None and crossplane.precedence[:2] < _OWN_IMAGES


def needs_inactive_revision(crossplane: Version | None) -> bool:
    """Return whether deactivating a package also takes a manifest of its revision, set to Inactive."""
    return crossplane is None or _is_before_generations(crossplane)


def has_predictable_revisions(crossplane: Version | None) -> bool:
    """Return whether the name of a revision follows from its package's name and digest alone."""
    return crossplane is not None and _is_before_generations(crossplane)


def _is_before_generations(crossplane: Version) -> bool:
    return crossplane.precedence[:2] < _REVISION_PER_GENERATION
