"""`app.yaml` → the metadata of a package of today; what has no field there becomes an annotation."""

from collections.abc import Iterator, Sequence
from typing import Any

from render.packages import Kind
from render.packages_v1.annotations import PREFIX, Describing
from render.packages_v1.definitions.crds import Crd
from render.packages_v1.definitions.merging import by_name
from render.packages_v1.dependencies import CRDS_ANNOTATION, DependsOn
from render.packages_v1.descriptions import App
from render.packages_v1.pictures import data_uri
from render.packages_v1.tree import File

VERSION_ANNOTATION = f"{PREFIX}/version"
_META = "meta.crossplane.io"
# Crossplane's design "Package Annotations", which its providers follow.
_TITLE = f"friendly-name.{_META}"
_GROUP_TITLE, _KIND_TITLE = f"friendly-group-name.{_META}", f"friendly-kind-name.{_META}"
_TODAY = {
    "title": _TITLE,
    "overviewShort": f"{_META}/description",
    "readme": f"{_META}/readme",
    "source": f"{_META}/source",
    "license": f"{_META}/license",
}
# Kubernetes: the part behind the slash.
_LONGEST_NAME = 63


def meta_document(
    name: str, app: App, crds: Sequence[Crd], describing: Describing, depends_on: DependsOn, icon: File | None
) -> dict[str, Any]:
    """Return the meta document of a Provider."""
    annotations = dict(_texts(app))
    annotations |= dict(_titles(crds, describing))
    if icon:
        annotations[f"{_META}/iconURI"] = data_uri(icon, describing.found)
    if depends_on.crds:
        annotations[CRDS_ANNOTATION] = ",".join(map(str, depends_on.crds))
    metadata: dict[str, Any] = {"name": name}
    if annotations:
        metadata["annotations"] = dict(sorted(annotations.items()))
    return {
        "apiVersion": "meta.pkg.crossplane.io/v1",
        "kind": Kind.PROVIDER.value,
        "metadata": metadata,
        "spec": {"dependsOn": list(depends_on.entries)} if depends_on.entries else {},
    }


def _texts(app: App) -> Iterator[tuple[str, str]]:
    for name, text in app.texts.items():
        yield _TODAY.get(name, f"{PREFIX}/{name}"), text
    for name, text in app.people.items():
        yield (f"{_META}/maintainer" if name == "maintainers" else f"{PREFIX}/{name}"), text
    if app.keywords:
        yield f"{PREFIX}/keywords", ",".join(app.keywords)


def _titles(crds: Sequence[Crd], describing: Describing) -> Iterator[tuple[str, str]]:
    # Of versions with files of their own, the highest comes last and counts.
    for crd in [crd for parts in by_name(crds).values() for crd in reversed(parts)]:
        described = (
            (_GROUP_TITLE, describing.group(crd), crd.group, "group-title"),
            (_KIND_TITLE, describing.resource(crd), f"{crd.kind}.{crd.group}", "resource-title"),
        )
        for prefix, description, about, ending in described:
            title = description.texts.get(ending) if description else None
            if title and len(about) <= _LONGEST_NAME:
                yield f"{prefix}/{about}", title
