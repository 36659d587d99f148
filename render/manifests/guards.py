"""What keeps a package from being deleted only because its manifest is gone."""

from collections.abc import Mapping

from render.hints import Any
from render.manifests.annotations import SYNC_OPTIONS, add_options

# Prune=confirm would hold back everything else that is synced with it.
_ARGO_CD = ("Prune=false", "Delete=confirm")
_KEPT = "Prune=false"
_FLUX = "kustomize.toolkit.fluxcd.io/prune"


def add_guards(annotations: dict[str, Any]) -> None:
    """Add the guards for Argo CD and Flux, each unless the user decided otherwise."""
    add_options(annotations, _ARGO_CD)
    annotations.setdefault(_FLUX, "disabled")


def remove_guards(annotations: dict[str, Any]) -> None:
    """Take off what keeps an object from being pruned, whoever put it there."""
    options = _options(annotations)
    if _KEPT in options:
        annotations[SYNC_OPTIONS] = ",".join(option for option in options if option != _KEPT)
        if not annotations[SYNC_OPTIONS]:
            del annotations[SYNC_OPTIONS]
    if _is_disabled(annotations):
        del annotations[_FLUX]


def find_guards(labels: Mapping[str, Any], annotations: Mapping[str, Any]) -> list[str]:
    """Return what keeps an object from being pruned; Flux looks at labels, too."""
    argo_cd = [f"{SYNC_OPTIONS}: {_KEPT}"] if _KEPT in _options(annotations) else []
    flux = [f"{_FLUX}: disabled"] if _is_disabled(annotations) or _is_disabled(labels) else []
    return argo_cd + flux


def _options(annotations: Mapping[str, Any]) -> list[str]:
    return [option.strip() for option in str(annotations.get(SYNC_OPTIONS) or "").split(",")]


def _is_disabled(values: Mapping[str, Any]) -> bool:
    # Flux compares without regard to case.
    return str(values.get(_FLUX)).lower() == "disabled"
