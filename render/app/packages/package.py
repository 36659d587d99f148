"""Packages of one's own: built from a folder, pushed to a registry, and inspected wherever they are."""

import os
from collections.abc import Sequence
from pathlib import Path

from render.app.operator_settings import OperatorSettings
from render.app.packages.first_format import (
    InspectedFirstFormat,
    check_pushed_version,
    inspect_first_format,
    open_folder,
    open_image,
    parse_missing_file,
)
from render.app.reporter import Reporter
from render.commands import as_path, xplock
from render.errors import InvalidInput, RenderError
from render.limits import LimitExceeded, Limits
from render.nearest import nearest_tags
from render.packages import Metadata, is_project
from render.references import Digest, Reference, Source, parse_reference
from render.registry.layout import Layout
from render.registry.oci import MissingBlob, NotFound
from render.registry.routes import Images
from render.system.files import META_FILE, PROJECT_FILES, is_there, read_plain, replace_file
from render.texts import first_names
from render.versions.version import check_tag
from render.xpkg.building.build import BuiltPackage, build_package
from render.xpkg.building.package_file import PackageFile, default_file_name, format_package_file
from render.xpkg.identity import identify
from render.xpkg.image import FirstFormat
from render.xpkg.inspect import Inspection, inspect_image
from render.xpkg.metadata import parse_metadata, parse_project
from render.yaml.documents import InvalidDocument

# How many versions an error names.
_SHOWN = 6


def write_package(
    built: BuiltPackage,
    limits: Limits,
    *,
    file: Path | None,
    layout: Path | None,
    references: Sequence[Reference],
) -> list[str]:
    """Write a package to a layout or a file, and return the references or the path it has there."""
    if layout is None:
        path = file or Path(default_file_name(built.metadata.name, built.image.digest))
        replace_file(path, format_package_file(built.image))
        return [str(path)]
    build_into_layout(built, Layout(layout, limits), references)
    return [str(reference) for reference in references] or [str(built.image.digest)]


def build_into_layout(built: BuiltPackage, layout: Layout, references: Sequence[Reference]) -> None:
    """Add a package to a layout under each of its references, or under none."""
    for data in (built.image.config, *built.image.layers):
        layout.add_blob(data)
    names: Sequence[Reference | None] = references or [None]
    for reference in names:
        layout.add_image(built.image.data, built.image.manifest.media_type, reference)


def push_package(
    files: Sequence[Path], name: str, extensions: Path | None, operator: OperatorSettings, reporter: Reporter
) -> Reference:
    """Push package files to a tag, read back what was pushed, and return its reference with the digest."""
    # Imported late: building and inspecting files needs no HTTP.
    from render.app.world import open_world
    from render.xpkg.building.publish import plan_publication

    reference = parse_reference(name)
    if reference.tag is None or reference.digest is not None:
        raise InvalidInput(
            f"{name} cannot be pushed to",
            why="a push needs a tag, and no digest",
            next="write registry/name:tag",
        )
    check_tag(reference.tag)
    world = open_world(operator, reporter)
    packages = [PackageFile(file, world.limits) for file in files]
    planned = plan_publication(packages, extensions, world.limits)
    for file, package in zip(files, packages, strict=True):
        check_pushed_version(str(file), package, reference)
    with reporter.busy(f"pushing {reference}"):
        planned.push(reference.source, world.pusher(reference.source), reference.tag)
        world.check_pushed(reference, planned.content.digest)
    return Reference(reference.source, reference.tag, planned.content.digest)


def inspect_package(
    name: str, layouts: Sequence[tuple[str, Path]], operator: OperatorSettings, reporter: Reporter
) -> Inspection | InspectedFirstFormat:
    """Inspect the package that a path or a reference names."""
    if not layouts and os.path.lexists(name):
        return _inspect_any_path(Path(name), operator.limits)
    reference = parse_missing_file(name)
    # Imported late: local files need no HTTP.
    from render.app.world import open_world

    world = open_world(operator, reporter)
    images = world.images(layouts)
    with reporter.busy(f"reading {reference}"):
        try:
            return inspect_reference(reference, images, world.limits)
        except FirstFormat:
            return inspect_first_format(open_image(name, images, reference, world.limits), world.limits)


def _inspect_any_path(path: Path, limits: Limits) -> Inspection | InspectedFirstFormat:
    origin = open_folder(path, limits) if path.is_dir() else None
    if origin:
        return inspect_first_format(origin, limits)
    try:
        return inspect_path(path, limits)
    except FirstFormat:
        images = PackageFile(path, limits) if path.is_file() else Layout(path, limits)
        return inspect_first_format(open_image(str(path), images, _only_image(path, images), limits), limits)


def _only_image(path: Path, images: PackageFile | Layout) -> Reference:
    if isinstance(images, PackageFile):
        return _local(path)
    # A layout with several images is refused before its images are read.
    reference, entry = images.images()[0]
    return reference or _local(path, entry.digest)


def inspect_reference(reference: Reference, images: Images, limits: Limits) -> Inspection:
    """Inspect a package in a registry; of a version that is not there, name the nearest ones."""
    try:
        return inspect_image(str(reference), images, reference, limits)
    except NotFound as error:
        if isinstance(error, MissingBlob) or not reference.tag:
            raise
        try:
            near = nearest_tags(reference.tag, images.tags(reference.source))
        except RenderError:
            raise error from None
        if near and reference.tag not in near:
            # A layout has said what it contains.
            listed = [] if error.known else [f"the nearest that it has: {first_names(near, _SHOWN)}"]
            error.why = (*error.why, *listed)
            error.next = (f"did you mean {Reference(reference.source, near[0])}?",)
        raise


def inspect_path(path: Path, limits: Limits) -> Inspection:
    """Inspect a package file, a layout, a package or project folder, or a metadata file."""
    if path.is_dir():
        return _inspect_folder(path, limits)
    if path.suffix in (".yaml", ".yml"):
        return Inspection(str(path), read_metadata(path, limits))
    return inspect_image(str(path), PackageFile(path, limits), _local(path), limits)


def read_metadata(path: Path, limits: Limits) -> Metadata:
    """Read crossplane.yaml or a project file."""
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
            next=f"name one of them: {xplock('package', 'inspect', *(names[:1] or ['REF']), '--layout', as_path(folder))}",
        )
    reference, entry = images[0]
    return inspect_image(str(folder), layout, reference or _local(folder, entry.digest), limits)


def _local(path: Path, digest: Digest | None = None) -> Reference:
    return Reference(Source("file:", path.name), digest=digest)
