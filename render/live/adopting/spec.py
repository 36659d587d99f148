"""The fields of live objects that a person or a program chose, without defaults and without notes of other tools."""

from collections.abc import Mapping
from typing import Any

from render.crossplane import SPEC_DEFAULTS
from render.live.adopting.owners import is_tracking
from render.live.model import Metadata

_RUNTIME = "runtimeConfigRef"
# What the API server adds to a reference to a runtime config.
_RUNTIME_DEFAULTS = {"apiVersion": "pkg.crossplane.io/v1beta1", "kind": "DeploymentRuntimeConfig"}
_REQUIRED_BY = "xplock.dev/required-by"
_SYNC_OPTIONS = "argocd.argoproj.io/sync-options"
_FLUX = "kustomize.toolkit.fluxcd.io/prune"
_GUARDS = frozenset({"Prune=false", "Delete=confirm"})
_MORE_OPTIONS = frozenset({"ServerSideApply=true"})


def chosen_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a package's spec that differ from the defaults of the API, without `package`."""
    return {
        key: _shortened(key, value)
        for key, value in sorted(spec.items())
        if key != "package" and not is_default(key, value)
    }


def is_default(key: str, value: Any) -> bool:
    """Return whether a field of a package's spec has the value that it has if it is left out."""
    if value in (None, {}, [], ""):
        return True
    return key in SPEC_DEFAULTS and _is_same(complete_field(key, value), _default(key))


def complete_field(key: str, value: Any) -> Any:
    """Return the value of a field as the API server stores it."""
    if key == _RUNTIME and isinstance(value, Mapping):
        return {**_RUNTIME_DEFAULTS, **value}
    return value


def find_differences(rendered: Mapping[str, Any], live: Mapping[str, Any]) -> list[str]:
    """Return the fields of a package's spec in which two manifests differ, defaults filled in."""
    return [
        key
        for key in sorted({*rendered, *live})
        if not _is_same(_effective(key, rendered.get(key)), _effective(key, live.get(key)))
    ]


def chosen_metadata(metadata: Metadata) -> dict[str, Any]:
    """Return the labels and annotations of an object that a person chose."""
    labels = {key: value for key, value in sorted(metadata.labels.items()) if not is_tracking(key, value)}
    ours = _ours(metadata.annotations)
    annotations = {
        key: value
        for key, value in sorted(metadata.annotations.items())
        if key not in ours and not is_tracking(key, value)
    }
    return {key: value for key, value in (("labels", labels), ("annotations", annotations)) if value}


def _ours(annotations: Mapping[str, str]) -> set[str]:
    """Return the annotations that a folder writes by itself when it is rendered."""
    options = {option.strip() for option in annotations.get(_SYNC_OPTIONS, "").split(",")}
    if not options >= _GUARDS:
        return {_REQUIRED_BY}
    guard = {_FLUX} if annotations.get(_FLUX) == "disabled" else set()
    return {_REQUIRED_BY, *guard, *({_SYNC_OPTIONS} if options <= {*_GUARDS, *_MORE_OPTIONS} else set())}


def _default(key: str) -> Any:
    return complete_field(key, SPEC_DEFAULTS[key])


def _effective(key: str, value: Any) -> Any:
    return None if is_default(key, value) else complete_field(key, value)


def _shortened(key: str, value: Any) -> Any:
    if key != _RUNTIME or not isinstance(value, Mapping):
        return value
    return {name: text for name, text in value.items() if _RUNTIME_DEFAULTS.get(name) != text}


def _is_same(one: Any, other: Any) -> bool:
    # Python takes True for 1; a manifest does not.
    return type(one) is type(other) and bool(one == other)
