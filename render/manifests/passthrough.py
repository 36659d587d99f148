"""The folder's own objects: passed through as they are, with what Argo CD needs to apply them beside packages."""

from collections.abc import Collection, Iterable, Mapping

from render.errors import InvalidInput
from render.lean import Any
from render.manifests.identity import PACKAGE_GROUP, group_of
from render.manifests.sync_annotations import EARLY, annotate

_SETTINGS = ("ImageConfig", "DeploymentRuntimeConfig")
# The kind comes with a package, and before that is installed the API server does not know it.
_KIND_MAY_BE_MISSING = "SkipDryRunOnMissingResource=true"


class PassedLock(InvalidInput):
    """A Lock among the objects to apply."""

    def __init__(self, kind: str, place: str) -> None:
        super().__init__(
            f"{place} holds a {kind} to apply, and that is never applied",
            why="Crossplane writes the Lock of a cluster; one from outside would make it forget what is installed",
            next=f"move the file with the {kind} out of {place}, or out of the kustomization's resources",
        )


def is_setting(value: Mapping[str, Any]) -> bool:
    """Tell whether an object says how packages are pulled or run, so that it comes before them."""
    return group_of(value) == PACKAGE_GROUP and value.get("kind") in _SETTINGS


def render_setting(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object that comes before packages."""
    return annotate(value, EARLY)


def render_other(value: Mapping[str, Any], groups: Collection[str], wave: str | None) -> dict[str, Any]:
    """Return any other object; in one of the groups it waits for the package that defines its kind."""
    return annotate(value, wave, (_KIND_MAY_BE_MISSING,)) if group_of(value) in groups else dict(value)


def refuse_locks(passed: Iterable[Mapping[str, Any]], place: str = "the folder") -> None:
    """Refuse the Lock of a cluster, and our own; the place is where the objects come from."""
    for value in passed:
        kind = str(value.get("kind"))
        if is_lock(group_of(value), kind):
            raise PassedLock(kind, place)


def is_lock(group: str, kind: str) -> bool:
    """Tell whether a kind is that of a document in a lock."""
    return (group, kind) in ((PACKAGE_GROUP, "Lock"), ("xplock.dev", "LockDetails"))
