"""Icons and UI schemas: files of a folder, for all CRDs below it or for those of one kind."""

import base64
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from render.limits import KIB
from render.packages_v1.findings import Findings
from render.packages_v1.tree import File, Tree
from render.texts import counted

_ICON, UI_SCHEMA = "icon", "ui-schema.yaml"
# In the order in which the format document prefers them.
_MEDIA_TYPES = {
    "svg": "image/svg+xml",
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
}
_PREFERENCE = tuple(_MEDIA_TYPES)
ICON_WARNING_BYTES = 32 * KIB


@dataclass(frozen=True, slots=True)
class Picture:
    """An icon or a UI schema, and the text before its name: empty, a kind, or a kind and a version."""

    file: File
    prefix: str
    # The place of its format in the order of preference.
    rank: int = 0

    def applies(self, kind: str, versions: Collection[str]) -> bool:
        """Return whether it is for a kind, wherever it lies."""
        folded = kind.lower()
        return self.prefix in ("", folded, *(f"{folded}.{version}" for version in versions))


def find_icons(tree: Tree) -> list[Picture]:
    """Return the icons of a package."""
    found = []
    for file in tree.files:
        stem, _, suffix = file.name.rpartition(".")
        if suffix in _MEDIA_TYPES and stem.endswith(_ICON):
            found.append(Picture(file, _prefix(stem.removesuffix(_ICON)), _PREFERENCE.index(suffix)))
    return found


def find_ui_schemas(tree: Tree) -> list[Picture]:
    """Return the UI schemas of a package."""
    return [Picture(file, _prefix(file.name.removesuffix(UI_SCHEMA))) for file in tree.ending(UI_SCHEMA)]


def _prefix(text: str) -> str:
    # `my-icon.svg` is neither for all CRDs nor for the kind `my-`: it keeps its dash and matches none.
    return text.removesuffix(".") if text.endswith(".") else text + "." * bool(text)


def nearest_icon(icons: Sequence[Picture]) -> Picture | None:
    """Return the icon of the nearest folder: there, one for the kind first, then the preferred format."""
    return min(
        icons,
        key=lambda icon: (-icon.file.depth, -len(icon.prefix), icon.rank, icon.file.path.parts),
        default=None,
    )


def order_ui_schemas(schemas: Sequence[Picture]) -> list[Picture]:
    """Return UI schemas from the outermost folder inwards, and in a folder those for the kind last."""
    return sorted(schemas, key=lambda one: (one.file.depth, len(one.prefix), one.file.path.parts))


def data_uri(file: File, found: Findings) -> str:
    """Return an icon as a data URI (RFC 2397)."""
    media_type = _MEDIA_TYPES[file.name.rpartition(".")[2]]
    if not file.data:
        found.complain(file, "the icon is empty")
    return f"data:{media_type};base64,{base64.b64encode(file.data).decode()}"


def warn_large_icon(file: File, times: int, found: Findings) -> None:
    """Warn about an icon that the cluster stores once for each CRD."""
    if len(file.data) > ICON_WARNING_BYTES:
        found.warn(
            file,
            f"the icon has {len(file.data):,} bytes and is stored with {counted(times, 'object')}; "
            f"more than {ICON_WARNING_BYTES // KIB} KiB is a lot",
        )
