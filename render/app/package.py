"""Packages at hand: put into a layout, and inspected wherever they are."""

from collections.abc import Sequence
from pathlib import Path

from render.errors import InvalidInput
from render.limits import LimitExceeded, Limits
from render.packages import Metadata, is_project
from render.references import Digest, Reference, Source
from render.registry.layout import Layout
from render.registry.routes import Images
from render.system.files import META_FILE, PROJECT_FILES, is_there, read_plain
from render.xpkg.build import BuiltPackage, build_package
from render.xpkg.identity import identify
from render.xpkg.inspect import Inspection, inspect_image
from render.xpkg.metadata import parse_metadata, parse_project
from render.xpkg.package_file import PackageFile
from render.yaml.documents import InvalidDocument


def build_into_layout(built: BuiltPackage, layout: Layout, references: Sequence[Reference]) -> None:
    """Put a package into a layout under each of its names, or under none."""
    for data in (built.image.config, *built.image.layers):
        layout.add_blob(data)
    names: Sequence[Reference | None] = references or [None]
    for reference in names:
        layout.add_image(built.image.data, built.image.manifest.media_type, reference)


def inspect_reference(reference: Reference, images: Images, limits: Limits) -> Inspection:
    """Inspect a package in a registry."""
    return inspect_image(str(reference), images, reference, limits)


def inspect_path(path: Path, limits: Limits) -> Inspection:
    """Inspect what is at a path: a package file, a layout, a package or project folder, or its metadata."""
    if path.is_dir():
        return _inspect_folder(path, limits)
    if path.suffix in (".yaml", ".yml"):
        return Inspection(str(path), read_metadata(path, limits))
    return inspect_image(str(path), PackageFile(path, limits), _local(path), limits)


def read_metadata(path: Path, limits: Limits) -> Metadata:
    """Read crossplane.yaml, or the project file that a Configuration is built from."""
    data = read_plain(path, limits.meta_bytes)
    if data is None:
        raise LimitExceeded(f"{path} is too large", "meta_bytes", limits)
    try:
        parse = parse_project if is_project(identify(b"\n" + data, limits).api_version) else parse_metadata
        return parse(data, limits)
    except InvalidDocument as error:
        error.what = f"{path}: {error.what}"
        raise


def _inspect_folder(folder: Path, limits: Limits) -> Inspection:
    if is_there(folder / META_FILE):
        built = build_package(folder, limits)
        return Inspection(str(folder), built.metadata, built.objects)
    for name in PROJECT_FILES:
        if is_there(folder / name):
            return Inspection(str(folder), read_metadata(folder / name, limits))
    layout = Layout(folder, limits)
    images = layout.images()
    if len({entry.digest for _, entry in images}) != 1:
        names = sorted(str(reference) for reference, _ in images if reference)
        raise InvalidInput(
            f"{folder} holds {len(images)} images",
            why=names or "none of them has a name",
            next=f"name one of them: xplock package inspect REF --layout {folder}",
        )
    reference, entry = images[0]
    return inspect_image(str(folder), layout, reference or _local(folder, entry.digest), limits)


def _local(path: Path, digest: Digest | None = None) -> Reference:
    return Reference(Source("file:", path.name), digest=digest)
