"""What Argo CD does to get the rendered objects into a cluster: which tasks there are, and in which order."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from render.packages import Kind
from rig.cluster.metadata import has_sync_option
from rig.cluster.state import INACTIVE, Installed, State, with_defaults

Manifest: TypeAlias = Mapping[str, Any]
# Kind and name: everything here is in one group, and in no namespace.
Identity: TypeAlias = tuple[str, str]

_WAVE = "argocd.argoproj.io/sync-wave"
_IMAGE_CONFIG = "ImageConfig"
_REVISION = "Revision"


@dataclass(frozen=True)
class Group:
    """Tasks that Argo CD starts together: within a wave it prunes first, and then applies."""

    wave: int
    prunes: tuple[Identity, ...] = ()
    applies: tuple[Manifest, ...] = ()


def identify(manifest: Manifest) -> Identity:
    """Return what an object is known by."""
    return manifest["kind"], manifest["metadata"]["name"]


def plan(state: State, objects: Iterable[Manifest], tracked: Mapping[Identity, Manifest]) -> list[Group]:
    """Return what a sync does, in order; what guards against pruning is read from the live object."""
    wanted = {identify(value): value for value in objects}
    gone = {key: value for key, value in tracked.items() if key not in wanted and _may_go(state, key)}
    waves = {wave for value in gone.values() if (wave := _wave(value)) is not None}
    # Prunes run in the opposite order of waves.
    turned = dict(zip(sorted(waves), sorted(waves, reverse=True), strict=True))
    groups = []
    for wave in sorted({*map(_wave, wanted.values()), *waves}):
        prunes = tuple(key for key, value in gone.items() if turned[_wave(value)] == wave)
        applies = tuple(value for value in wanted.values() if _wave(value) == wave)
        groups.append(Group(wave, prunes, applies))
    return groups


def apply(state: State, manifest: Manifest, *, keeps_fields: bool) -> bool:
    """Apply one object; return whether the API server accepted it."""
    kind, name = identify(manifest)
    if kind == _IMAGE_CONFIG:
        state.image_configs[name] = manifest
    elif kind.endswith(_REVISION):
        # A partial manifest cannot create what is not there yet.
        revision = state.revisions.get((Kind(kind.removesuffix(_REVISION)), name))
        if revision is None:
            return False
        revision.desired = manifest["spec"]["desiredState"]
    elif kind in tuple(Kind):
        _apply_package(state, Kind(kind), manifest, keeps_fields=keeps_fields)
    return True


def is_applied(state: State, manifest: Manifest) -> bool:
    """Return whether the cluster holds everything that a manifest says."""
    kind, name = identify(manifest)
    if kind.endswith(_REVISION):
        revision = state.revisions.get((Kind(kind.removesuffix(_REVISION)), name))
        return revision is not None and revision.desired == INACTIVE
    if kind not in tuple(Kind):
        return True
    live = state.packages.get((Kind(kind), name))
    return live is not None and not live.deleting and manifest["spec"].items() <= live.spec.items()


def prune(state: State, key: Identity) -> Installed | None:
    """Delete one object; a package is returned, since its end takes longer."""
    kind, name = key
    if kind == _IMAGE_CONFIG:
        state.image_configs.pop(name, None)
    package = state.packages.get((Kind(kind), name)) if kind in tuple(Kind) else None
    if package is not None:
        package.deleting = True
    return package


def _apply_package(state: State, kind: Kind, manifest: Manifest, *, keeps_fields: bool) -> None:
    name, spec = manifest["metadata"]["name"], manifest["spec"]
    live = state.packages.get((kind, name))
    if live is None:
        live = state.create(kind, name, spec, uninvited=False)
    live.change(with_defaults({**(live.spec if keeps_fields else {}), **spec}))
    live.annotations = manifest["metadata"].get("annotations", {})
    live.uninvited = False


def _may_go(state: State, key: Identity) -> bool:
    kind, name = key
    if kind.endswith(_REVISION):
        # It has an owner, and what has one is not Argo CD's to prune.
        return False
    live = state.packages.get((Kind(kind), name)) if kind in tuple(Kind) else None
    return live is None or not has_sync_option({"annotations": live.annotations}, "Prune=false")


def _wave(manifest: Manifest) -> int:
    return int(manifest["metadata"].get("annotations", {}).get(_WAVE, "0"))
