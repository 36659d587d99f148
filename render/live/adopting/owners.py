"""Tools that keep an object as their manifests say: they have to let it go before another one takes it."""

from collections.abc import Iterable, Sequence

from render.lean import dataclass
from render.live.adopting.commands import Commands
from render.live.model import Metadata
from render.texts import first_names, visible

_SHOWN = 10
_ARGO = "argocd.argoproj.io/"
_ARGO_ID = f"{_ARGO}tracking-id"
_INSTANCE = "app.kubernetes.io/instance"
_MANAGED_BY = "app.kubernetes.io/managed-by"
_HELM = ("meta.helm.sh/release-name", "meta.helm.sh/release-namespace")
_FLUX = "kustomize.toolkit.fluxcd.io/"
_FLUX_HELM = "helm.toolkit.fluxcd.io/"
_NAMES = frozenset({"name", "namespace"})
_TRACKING = frozenset({_ARGO_ID, f"{_ARGO}installation-id", _INSTANCE, "helm.sh/chart", *_HELM})


@dataclass(frozen=True, slots=True, order=True)
class Owner:
    """A tool, and what of it owns an object."""

    tool: str
    name: str

    def __str__(self) -> str:
        return f"{self.tool} {visible(self.name)}" if self.name else self.tool


def is_tracking(key: str, value: str) -> bool:
    """Return whether a label or an annotation is the note of a tool about its own objects."""
    if key == _MANAGED_BY:
        return value == "Helm"
    prefix, _, name = key.rpartition("/")
    return key in _TRACKING or (f"{prefix}/" in (_FLUX, _FLUX_HELM) and name in _NAMES)


def find_owners(metadata: Metadata) -> list[Owner]:
    """Return the owners that the labels and annotations of an object name."""
    labels, annotations = metadata.labels, metadata.annotations
    owners = []
    if _ARGO_ID in annotations:
        owners.append(Owner("the Argo CD Application", annotations[_ARGO_ID].partition(":")[0]))
    if f"{_FLUX}name" in labels:
        owners.append(Owner("the Flux Kustomization", labels[f"{_FLUX}name"]))
    if f"{_FLUX_HELM}name" in labels:
        # Flux installs it by Helm, so both have their notes on it.
        owners.append(Owner("the Flux HelmRelease", labels[f"{_FLUX_HELM}name"]))
    elif _HELM[0] in annotations or labels.get(_MANAGED_BY) == "Helm":
        owners.append(Owner("the Helm release", annotations.get(_HELM[0], labels.get(_INSTANCE, ""))))
    # Argo CD's own label is also one that charts set by themselves.
    if _INSTANCE in labels and not owners:
        owners.append(Owner("the Argo CD Application", labels[_INSTANCE]))
    return owners


def advise_release(owner: Owner, objects: Sequence[tuple[str, Metadata]], commands: Commands) -> list[str]:
    """Return how an owner lets objects go without deleting them; each object is a word for kubectl."""
    return [
        "adopt into the folder that it applies, which then goes on to own them: --to DIR",
        f"or let them go: {_kept_by(owner)} in its manifests, and let it sync; then remove the manifests, and let it sync; then:",
        *_clean_up(objects, commands),
    ]


def _kept_by(owner: Owner) -> str:
    if owner.tool.startswith("the Argo"):
        return f"set the annotation {_ARGO}sync-options: Prune=false"
    if owner.tool == "the Flux Kustomization":
        return f"set the label {_FLUX}prune: disabled"
    return "set the annotation helm.sh/resource-policy: keep"


def _clean_up(objects: Iterable[tuple[str, Metadata]], commands: Commands) -> list[str]:
    tracked: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for resource, metadata in objects:
        for verb, values in (("label", metadata.labels), ("annotate", metadata.annotations)):
            keys = tuple(sorted(key for key, value in values.items() if is_tracking(key, value)))
            if keys:
                tracked.setdefault((verb, keys), []).append(resource)
    made = [
        commands.kubectl(verb, *resources, *(f"{key}-" for key in keys))
        for (verb, keys), resources in sorted(tracked.items())
    ]
    hidden = len(made) - _SHOWN
    return [*made[:_SHOWN], *([f"… and {hidden} more"] if hidden > 0 else [])]


def names_of(objects: Sequence[tuple[str, Metadata]]) -> str:
    """Return the objects of an owner in one line."""
    return first_names([resource for resource, _ in objects], _SHOWN)
