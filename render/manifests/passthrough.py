"""Passthrough objects: rendered as they are, with the sync annotations that Argo CD needs beside packages."""

from collections.abc import Collection, Iterable, Mapping

from render.errors import InvalidInput
from render.lean import Any
from render.manifests.identity import group_of
from render.manifests.sync_annotations import EARLY, annotate
from render.packages import PACKAGE_GROUP

_SETTINGS = ("ImageConfig", "DeploymentRuntimeConfig")
# The API server does not know the kind until the package that defines it is installed.
_KIND_MAY_BE_MISSING = "SkipDryRunOnMissingResource=true"


class LockAmongInputs(InvalidInput):
    """A Lock or LockDetails among the passthrough objects."""

    def __init__(self, kind: str, origin: str) -> None:
        super().__init__(
            f"{origin} contains a {kind}, which must not be applied",
            why="Crossplane writes the cluster's Lock; applying another one would make it forget what is installed",
            next=f"move the file with the {kind} out of {origin}, or out of the kustomization's resources",
        )


def is_setting(value: Mapping[str, Any]) -> bool:
    """Return whether an object configures how packages are pulled or run, so that it comes before them."""
    return group_of(value) == PACKAGE_GROUP and value.get("kind") in _SETTINGS


def render_setting(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return such an object with the wave of pins."""
    return annotate(value, EARLY)


def render_other(value: Mapping[str, Any], groups: Collection[str], wave: str | None) -> dict[str, Any]:
    """Return any other object; if a locked package defines its group, Argo CD may apply it before its kind exists."""
    return annotate(value, wave, (_KIND_MAY_BE_MISSING,)) if group_of(value) in groups else dict(value)


def refuse_locks(objects: Iterable[Mapping[str, Any]], origin: str = "the folder") -> None:
    """Raise if the objects contain a cluster's Lock, or a document of our own lock; errors name the origin."""
    for value in objects:
        kind = str(value.get("kind"))
        if is_lock(group_of(value), kind):
            raise LockAmongInputs(kind, origin)


def is_lock(group: str, kind: str) -> bool:
    """Return whether a kind is one of the two documents of a lock."""
    return (group, kind) in ((PACKAGE_GROUP, "Lock"), ("xplock.dev", "LockDetails"))
