"""What a folder would change in its cluster: rendered objects beside the live ones."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from render.lean import dataclass, field
from render.live.adopting.spec import find_differences
from render.live.model import Cluster, ConfigObject, PackageObject
from render.yaml.fields import describe

_IMAGE_CONFIG = "ImageConfig"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences between what a folder renders and what its cluster has."""

    # Fields that would change, and objects that would be made, a line each.
    changes: tuple[str, ...] = ()
    # The annotations that are added, with the objects that get each.
    annotations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # Pins that are made.
    pins: tuple[str, ...] = ()


def compare_with_live(
    rendered: Iterable[Mapping[str, Any]], cluster: Cluster, *, ignored: Collection[tuple[str, str]] = ()
) -> Comparison:
    """Compare rendered objects with those of a cluster; only annotations and pins may differ.

    Ignored are objects that were locked before, and may not be there yet.
    """
    live = _by_name(cluster)
    changes: list[str] = []
    annotations: dict[str, list[str]] = {}
    pins = []
    for one in rendered:
        kind, name = str(one["kind"]), str(one["metadata"]["name"])
        there = live.get((kind, name))
        if there is None and kind == _IMAGE_CONFIG and name.startswith("xplock-"):
            pins.append(f"{kind} {name}")
        elif there is None and (kind, name) in ignored:
            continue
        elif there is None:
            changes.append(f"{kind} {name} would be made")
        else:
            changes += _find_changes(one, there)
            for key in _added_annotations(one, there):
                annotations.setdefault(key, []).append(f"{kind} {name}")
    found = {key: tuple(sorted(names)) for key, names in sorted(annotations.items())}
    return Comparison(tuple(sorted(changes)), found, tuple(sorted(pins)))


def _by_name(cluster: Cluster) -> dict[tuple[str, str], PackageObject | ConfigObject]:
    objects: list[PackageObject | ConfigObject] = [
        *cluster.packages,
        *cluster.image_configs,
        *cluster.runtime_configs,
    ]
    return {(str(one.kind), one.name): one for one in objects}


def _find_changes(rendered: Mapping[str, Any], live: PackageObject | ConfigObject) -> Iterator[str]:
    title = f"{rendered['kind']} {rendered['metadata']['name']}"
    spec = rendered.get("spec") or {}
    if isinstance(live, PackageObject):
        for key in find_differences(spec, live.spec):
            yield f"{title}: spec.{key} would be {_shown(spec.get(key))}, and is {_shown(live.spec.get(key))}"
    elif spec != live.spec:
        yield f"{title}: spec would change"
    for key, value in sorted((rendered["metadata"].get("labels") or {}).items()):
        if live.metadata.labels.get(key) != value:
            yield f"{title}: the label {key} would be {_shown(value)}"


def _added_annotations(rendered: Mapping[str, Any], live: PackageObject | ConfigObject) -> Iterator[str]:
    for key, value in (rendered["metadata"].get("annotations") or {}).items():
        if live.metadata.annotations.get(key) != value:
            yield str(key)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else describe(value)
