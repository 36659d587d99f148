"""Annotations that tell Argo CD how to apply an object: waves, sync options, guards. The author's own values stay."""

from collections.abc import Mapping, Sequence

from render.lean import Any

SYNC_WAVE = "argocd.argoproj.io/sync-wave"
SYNC_OPTIONS = "argocd.argoproj.io/sync-options"


def annotate(value: Mapping[str, Any], wave: str | None, options: Sequence[str] = ()) -> dict[str, Any]:
    """Return an object with a wave and sync options, unless it has its own."""
    metadata = _mapping(value.get("metadata"))
    annotations = None if metadata is None else _mapping(metadata.get("annotations"))
    # A malformed object stays as it is: the API server rejects it with its own message.
    if metadata is None or annotations is None or (wave is None and not options):
        return dict(value)
    made = dict(annotations)
    set_wave(made, wave)
    add_options(made, options)
    return {**value, "metadata": {**metadata, "annotations": made}}


def set_wave(annotations: dict[str, Any], wave: str | None) -> None:
    """Set the wave unless there is one; None sets nothing."""
    if wave is not None:
        annotations.setdefault(SYNC_WAVE, wave)


def add_options(annotations: dict[str, Any], options: Sequence[str]) -> None:
    """Add sync options that are not there yet with any value."""
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
    """Return a mapping as it is, an empty one for None, and None for anything else."""
    return {} if value is None else value if isinstance(value, dict) else None


# Not Prune=confirm: it would hold back the whole sync.
_ARGO_CD = ("Prune=false", "Delete=confirm")
_KEPT = "Prune=false"
_FLUX = "kustomize.toolkit.fluxcd.io/prune"


def add_guards(annotations: dict[str, Any]) -> None:
    """Add the guards for Argo CD and Flux, each unless the user decided otherwise."""
    add_options(annotations, _ARGO_CD)
    annotations.setdefault(_FLUX, "disabled")


def remove_guards(annotations: dict[str, Any]) -> None:
    """Remove everything that keeps an object from being pruned, including the author's own guards."""
    options = _options(annotations)
    if _KEPT in options:
        annotations[SYNC_OPTIONS] = ",".join(option for option in options if option != _KEPT)
        if not annotations[SYNC_OPTIONS]:
            del annotations[SYNC_OPTIONS]
    if _is_disabled(annotations):
        del annotations[_FLUX]


def find_guards(labels: Mapping[str, Any], annotations: Mapping[str, Any]) -> list[str]:
    """Return the annotations that keep an object from being pruned; Flux also reads labels."""
    argo_cd = [f"{SYNC_OPTIONS}: {_KEPT}"] if _KEPT in _options(annotations) else []
    flux = [f"{_FLUX}: disabled"] if _is_disabled(annotations) or _is_disabled(labels) else []
    return argo_cd + flux


def _options(annotations: Mapping[str, Any]) -> list[str]:
    return [option.strip() for option in str(annotations.get(SYNC_OPTIONS) or "").split(",")]


def _is_disabled(values: Mapping[str, Any]) -> bool:
    # Flux compares without regard to case.
    return str(values.get(_FLUX)).lower() == "disabled"


# Otherwise Argo CD looks for an object first and creates it then. If Crossplane creates a dependency in between, the sync
# fails with "already exists".
_BY_SERVER = ("ServerSideApply=true",)


def apply_by_server(annotations: dict[str, Any]) -> None:
    """Have Argo CD create or update an object in one request, unless the user decided otherwise."""
    add_options(annotations, _BY_SERVER)


# The wave of pins, and of all other settings for pulling and running images.
EARLY = "-1"


def package_wave(level: int, *, graph: bool) -> str | None:
    """Return the wave of a package, or None for wave 0."""
    # A Provider is Degraded while it installs, and Argo CD allows that in the last wave only: so one wave by default.
    return str(level) if graph else None


def instance_wave(levels: int, *, graph: bool) -> str | None:
    """Return the wave of objects whose kinds are defined by packages on this many levels."""
    return str(levels) if graph else None
