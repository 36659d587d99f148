"""Which files describe a CRD, and the annotations and labels it gets from them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from render.limits import KIB, Limits, format_bytes
from render.packages_v1.definitions.crds import Crd
from render.packages_v1.descriptions import App, Description, read_groups, read_resources
from render.packages_v1.documents import read_text
from render.packages_v1.findings import Findings
from render.packages_v1.pictures import (
    Picture,
    data_uri,
    find_icons,
    find_ui_schemas,
    nearest_icon,
    order_ui_schemas,
    warn_large_icon,
)
from render.packages_v1.tree import File, Tree

PREFIX = "packages.crossplane.io"
LABELS = {"app.kubernetes.io/managed-by": "package-manager"}
_UI_SCHEMA, _ICON = f"{PREFIX}/ui-schema", f"{PREFIX}/icon-data-uri"
_SEPARATOR = "\n---\n"
# Kubernetes: TotalAnnotationSizeLimitB, of all keys and values of one object together.
_MOST_ANNOTATION_BYTES = 256 * KIB


@dataclass(slots=True)
class Describing:
    """The files of a package that describe CRDs, and those that do describe one."""

    groups: list[Description]
    resources: list[Description]
    icons: list[Picture]
    ui_schemas: list[Picture]
    found: Findings
    limits: Limits
    used: set[File] = field(default_factory=set)

    @classmethod
    def read(cls, tree: Tree, limits: Limits, found: Findings) -> "Describing":
        """Read them all."""
        groups, resources = read_groups(tree, limits, found), read_resources(tree, limits, found)
        return cls(groups, resources, find_icons(tree), find_ui_schemas(tree), found, limits)

    def group(self, crd: Crd) -> Description | None:
        """Return the nearest group.yaml."""
        return self._nearest(self.groups, crd)

    def resource(self, crd: Crd) -> Description | None:
        """Return the nearest resource.yaml with the kind of a CRD as its id."""
        return self._nearest([one for one in self.resources if one.about == crd.kind.lower()], crd)

    def icon(self, crd: Crd) -> File | None:
        """Return the icon of a CRD."""
        chosen = nearest_icon(self._applying(self.icons, crd))
        return chosen.file if chosen else None

    def ui_schema(self, crd: Crd) -> list[str]:
        """Return the UI schemas of a CRD, the outermost first."""
        ordered = order_ui_schemas(self._applying(self.ui_schemas, crd))
        return [read_text(one.file, self.limits, self.found).strip("\n") for one in ordered]

    def package_icon(self) -> File | None:
        """Return the icon of the package itself."""
        chosen = nearest_icon([icon for icon in self.icons if icon.file.depth == 0 and not icon.prefix])
        if chosen:
            self.used.update(icon.file for icon in self.icons if icon.file.depth == 0 and not icon.prefix)
        return chosen.file if chosen else None

    def warn_unused(self) -> None:
        """Warn about files that describe no CRD at all."""
        files = {one.file for one in (*self.groups, *self.resources)}
        files |= {one.file for one in (*self.icons, *self.ui_schemas)}
        for file in sorted(files - self.used, key=lambda file: file.path.parts):
            self.found.warn(file, "it applies to no CRD and is left out")

    def _nearest(self, described: Iterable[Description], crd: Crd) -> Description | None:
        applying = [one for one in described if one.file.covers(crd.file)]
        self.used.update(one.file for one in applying)
        deepest = max((one.file.depth for one in applying), default=0)
        nearest = [one for one in applying if one.file.depth == deepest]
        for other in nearest[1:]:
            self.found.complain(
                other.file, f"it describes {crd.kind} as {nearest[0].file} does, and both are equally near"
            )
        return nearest[0] if nearest else None

    def _applying(self, pictures: Iterable[Picture], crd: Crd) -> list[Picture]:
        applying = [
            one for one in pictures if one.file.covers(crd.file) and one.applies(crd.kind, crd.version_names)
        ]
        self.used.update(one.file for one in applying)
        return applying


def describe_crd(parts: Sequence[Crd], app: App, describing: Describing) -> dict[str, str]:
    """Return the annotations of a CRD, sorted; where versions have files of their own, the highest one counts."""
    own: dict[str, str] = {}
    added: dict[str, str] = {}
    if "title" in app.texts:
        added[f"{PREFIX}/package-title"] = app.texts["title"]
    for crd in parts:
        own = {**crd.annotations, **own}
        added = {**_texts(crd, describing), **added}
    given = {**added, **own}
    # What a CRD has already comes first, and is not repeated.
    schemas = [*own.get(_UI_SCHEMA, "").strip("\n").split(_SEPARATOR), *describing.ui_schema(parts[0])]
    joined = _SEPARATOR.join(dict.fromkeys(schema for schema in schemas if schema))
    if joined:
        given[_UI_SCHEMA] = f"{joined}\n"
    for crd in parts[1:]:
        describing.ui_schema(crd)
    return dict(sorted((name, text) for name, text in given.items() if text))


def _texts(crd: Crd, describing: Describing) -> dict[str, str]:
    found: dict[str, str] = {}
    for described in (describing.group(crd), describing.resource(crd)):
        if described:
            found.update({f"{PREFIX}/{name}": text for name, text in described.texts.items()})
    icon = describing.icon(crd)
    if icon:
        found[_ICON] = data_uri(icon, describing.found)
    return found


def check_size(place: str, annotations: Mapping[str, str], icon: File | None, found: Findings) -> None:
    """Complain about annotations that together are more than Kubernetes accepts."""
    size = sum(len(name.encode()) + len(text.encode()) for name, text in annotations.items())
    if size <= _MOST_ANNOTATION_BYTES:
        return
    largest = max(annotations, key=lambda name: len(annotations[name]))
    # A CRD may have an icon of its own instead.
    blamed = icon if icon and annotations[largest] == data_uri(icon, found) else None
    found.complain(
        blamed or place,
        f"the annotations of one object have {size:,} bytes{f' ({place})' if blamed else f', most of them in {largest}'}; "
        f"Kubernetes accepts {format_bytes(_MOST_ANNOTATION_BYTES)}",
    )


def check_icons(icons: Mapping[File, int], found: Findings) -> None:
    """Warn about icons that are large, given how many objects hold each."""
    for file, times in sorted(icons.items(), key=lambda item: item[0].path.parts):
        warn_large_icon(file, times, found)
