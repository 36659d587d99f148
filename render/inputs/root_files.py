"""Files that ask for packages: the manifest of a new root, and a file without one."""

import re
from collections.abc import Mapping
from pathlib import Path

from render.commands import as_path, shell
from render.errors import InvalidInput
from render.inputs.folders import list_kustomizations, read_inside
from render.inputs.roots import VERSION_ANNOTATION
from render.limits import Limits
from render.packages import PACKAGE_GROUP, Kind
from render.references import Reference
from render.settings import SETTINGS_FILE
from render.system.files import LOCK_FILE, PACKAGE_FILES, is_there
from render.versions.requests import Root
from render.yaml.documents import cut_document, file_rules, parse_documents
from render.yaml.writer import format_document

# As Root.place names a manifest: its file, and its number if the file has several documents.
_MANIFEST = re.compile(r"(?P<file>[^:/]+)(?:: document (?P<number>[0-9]+))?: spec\.package")
_SUFFIXES = (".yaml", ".yml")


class ElsewhereAsked(InvalidInput):
    """A root that no command edits, since its file is not a list of manifests."""


class NoPlaceForRoot(InvalidInput):
    """A folder whose roots are not manifests of its own."""


def format_root(root: Root) -> bytes:
    """Write the manifest of a root."""
    request, tag, version = root.request, root.request.tag, root.request.constraint
    metadata: dict[str, object] = {"name": root.name}
    if version:
        metadata["annotations"] = {VERSION_ANNOTATION: version.text}
    manifest = {
        "apiVersion": f"{PACKAGE_GROUP}/v1",
        "kind": str(root.kind),
        "metadata": metadata,
        "spec": {"package": str(Reference(root.source, tag, request.digest))},
    }
    return format_document(manifest).encode()


def require_place(folder: Path, root: Root) -> None:
    """Raise for a folder in which a new file would not be read, or would be part of a package."""
    if list_kustomizations(folder):
        raise NoPlaceForRoot(
            f"{folder} is built by a kustomization, so a new file in it is not read",
            why="which files count, and what becomes of them, is decided there",
            next=[
                "add the manifest to its resources:",
                *format_root(root).decode().splitlines(),
                f"then run: {shell('xplock', 'lock', *_unless_here(folder))}",
            ],
        )
    package = next((name for name in PACKAGE_FILES if is_there(folder / name)), None)
    if package:
        wanted = root.request.constraint.text if root.request.constraint else str(root.request)
        raise NoPlaceForRoot(
            f"{folder} is a package, which asks for others by its dependencies",
            why=f"{package} describes it",
            next=[
                f"add to spec.dependsOn in {package}:",
                *format_document([_dependency(root, wanted)]).splitlines(),
                f"then run: {shell('xplock', 'lock', *_unless_here(folder))}",
            ],
        )


def check_file_name(name: str) -> None:
    """Raise for the name of a file that is not read as a manifest."""
    if (
        Path(name).name != name
        or not name.endswith(_SUFFIXES)
        or name.startswith(".")
        or name in (SETTINGS_FILE, LOCK_FILE)
    ):
        raise InvalidInput(
            f"{name!r} is not a manifest's file name",
            why="only YAML files in the folder itself are read",
            next="name one like packages.yaml",
        )


def _dependency(root: Root, version: str) -> Mapping[str, object]:
    return {
        "apiVersion": f"{PACKAGE_GROUP}/v1",
        "kind": str(root.kind or Kind.PROVIDER),
        "package": str(root.source),
        "version": version,
    }


def add_root_file(folder: Path, root: Root, wanted: str | None, limits: Limits) -> dict[str, bytes]:
    """Return the file with a new manifest: one of its own, or the named one with the manifest at its end."""
    manifest = format_root(root)
    if wanted is None:
        return {_free_name(folder, root): manifest}
    if not is_there(folder / wanted):
        return {wanted: manifest}
    data = read_inside(folder / wanted, folder, limits)
    ending = b"" if data.endswith(b"\n") or not data else b"\n"
    return {wanted: data + ending + b"---\n" + manifest}


def _free_name(folder: Path, root: Root) -> str:
    names = [f"{root.name}.yaml", f"{str(root.kind).lower()}-{root.name}.yaml"]
    free = [name for name in names if not is_there(folder / name)]
    if not free:
        raise InvalidInput(
            f"{names[0]} is there already",
            why="a file that exists is not replaced",
            next="name a file for the manifest, a new or an existing one: --file NAME",
        )
    return free[0]


def remove_root_files(folder: Path, root: Root, limits: Limits) -> dict[str, bytes | None]:
    """Return the files that ask for a root, as they are without it; None for a file that holds nothing else."""
    edits: dict[str, bytes | None] = {}
    places = root.place.split(" and ")
    found = [_MANIFEST.fullmatch(place) for place in places]
    if list_kustomizations(folder) or not all(found):
        edited = [place for place, match in zip(places, found, strict=True) if not match] or places
        raise ElsewhereAsked(
            f"{root.source} is not asked for by a manifest that a command can remove",
            why=f"asked for in {' and '.join(places)}",
            next=[
                f"remove it from {' and '.join(edited)}",
                f"then run: {shell('xplock', 'lock', *_unless_here(folder))}",
            ],
        )
    # From the end, so that the numbers of documents before it stay.
    for match in sorted(filter(None, found), key=lambda one: int(one["number"] or 1), reverse=True):
        name, index = match["file"], int(match["number"] or 1) - 1
        data = edits.get(name) or read_inside(folder / name, folder, limits)
        edits[name] = _without(data, index, limits)
    return edits


def _without(data: bytes, index: int, limits: Limits) -> bytes | None:
    values = parse_documents(data, file_rules(limits))
    others = [value for i, value in enumerate(values) if i != index and value is not None]
    return cut_document(data, index) if others else None


def _unless_here(folder: Path) -> list[str]:
    return [] if folder == Path() else [as_path(folder)]
