"""Annotations that tell Argo CD how to apply an object; what its author wrote always stays."""

from collections.abc import Mapping, Sequence

from render.lean import Any

SYNC_WAVE = "argocd.argoproj.io/sync-wave"
SYNC_OPTIONS = "argocd.argoproj.io/sync-options"


def annotate(value: Mapping[str, Any], wave: str | None, options: Sequence[str] = ()) -> dict[str, Any]:
    """Return an object with a wave and sync options, as far as it has none of its own."""
    metadata = _mapping(value.get("metadata"))
    annotations = None if metadata is None else _mapping(metadata.get("annotations"))
    # What is no object to Kubernetes is for the API server to refuse, in its own words.
    if metadata is None or annotations is None or (wave is None and not options):
        return dict(value)
    made = dict(annotations)
    set_wave(made, wave)
    add_options(made, options)
    return {**value, "metadata": {**metadata, "annotations": made}}


def set_wave(annotations: dict[str, Any], wave: str | None) -> None:
    """Set the wave, unless there is one or none is wanted."""
    if wave is not None:
        annotations.setdefault(SYNC_WAVE, wave)


def add_options(annotations: dict[str, Any], options: Sequence[str]) -> None:
    """Add sync options, each unless the same one is there with any value."""
    own = annotations.get(SYNC_OPTIONS) or ""
    if not isinstance(own, str):
        return
    listed = [option for option in map(str.strip, own.split(",")) if option]
    known = {_name(option) for option in listed}
    added = [option for option in options if _name(option) not in known]
    if added:
        annotations[SYNC_OPTIONS] = ",".join([*listed, *added])


def _name(option: str) -> str:
    return option.partition("=")[0]


def _mapping(value: Any) -> Mapping[str, Any] | None:
    """Return a mapping, an empty one for nothing, and nothing for what is none."""
    return {} if value is None else value if isinstance(value, dict) else None


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


# Pins, and everything else that says how images are pulled and run.
EARLY = "-1"


def package_wave(level: int, *, graph: bool) -> str | None:
    """Return the wave of a package; without one it is wave 0."""
    # A Provider is degraded while it installs, and only the last wave may be: one wave unless asked for more.
    return str(level) if graph else None


def instance_wave(levels: int, *, graph: bool) -> str | None:
    """Return the wave of objects whose kinds come with packages, where those are on so many levels."""
    return str(levels) if graph else None
