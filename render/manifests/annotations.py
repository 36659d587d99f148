"""Annotations that tell Argo CD how to apply an object; what its author wrote always stays."""

from collections.abc import Mapping, Sequence

from render.hints import Any

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
