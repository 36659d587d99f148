"""Packages of the first format: looked at, and built as packages of today."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from render.app.operator_settings import OperatorSettings
from render.app.reporter import Reporter
from render.commands import xplock
from render.crd_dependencies import CrdRequest
from render.errors import InvalidInput
from render.limits import Limits
from render.lock.text.file import read_lock
from render.names import dns_label, is_dns_label
from render.packages_v1.convert import Converted, Wanted, convert, same_version
from render.packages_v1.dependencies import Answers, dependency_on
from render.packages_v1.findings import Findings
from render.packages_v1.meta import VERSION_ANNOTATION
from render.packages_v1.tree import Tree, find_registry, read_tree
from render.references import InvalidReference, Reference, Source, parse_reference
from render.registry.oci import Platform
from render.registry.routes import Images
from render.system.files import APP_FILE, LOCK_FILE, REGISTRY_FOLDER, is_there, make_folder, replace_file
from render.versions.version import parse_candidate
from render.xpkg.building.build import BuiltPackage
from render.xpkg.building.package_file import PackageFile, default_file_name
from render.xpkg.building.packing import pack_image
from render.xpkg.building.runtime_image import RuntimeImage, fetch_runtime_image
from render.xpkg.image import (
    BASE_LAYER,
    PACKAGE_FILE,
    Image,
    fetch_image,
    fetch_registry_files,
)
from render.xpkg.inspect import Inspection
from render.xpkg.package_errors import naming_package
from render.yaml.writer import format_document

RUNTIME_FILE, ACCESS_FILE = "runtime.yaml", "rbac.yaml"
_ACCESS_HEADER = """\
# Packages v1 granted these permissions by itself; Crossplane does not. Read them, and apply what you agree to.
# Resources of other packages are called as app.yaml calls them, and RBAC knows plurals only. The namespace of the
# ServiceAccount is the one that Crossplane runs in.
"""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a package of the first format is: the name that errors use, its files, and its image if it is in one."""

    name: str
    tree: Tree
    found: Findings
    # The name that the package gets if none is given.
    package: str
    image: Image | None = None
    stored: tuple[Images, Reference] | None = None


@dataclass(frozen=True, slots=True)
class InspectedFirstFormat:
    """A package of the first format, and what `package build` would make of it."""

    inspection: Inspection
    converted: Converted


@dataclass(frozen=True, slots=True)
class Choices:
    """The options of `package build` that only a package of the first format has."""

    name: str = ""
    version: str = ""
    source: str = ""
    cluster_wide: bool = False
    runtime_image: str = ""
    manifests: Path | None = None
    lock: Path | None = None

    @property
    def given(self) -> list[str]:
        """The options that were given."""
        values = {
            "--name": self.name,
            "--version": self.version,
            "--source": self.source,
            "--cluster-wide": self.cluster_wide,
            "--runtime-image": self.runtime_image,
            "--manifests": self.manifests,
            "--lock": self.lock,
        }
        return [option for option, value in values.items() if value]


def open_folder(folder: Path, limits: Limits) -> Origin | None:
    """Read a folder with a package of the first format; nothing if it holds none."""
    registry = find_registry(folder)
    if registry is None:
        return None
    found = Findings()
    home = registry.parent if registry.name == REGISTRY_FOLDER else registry
    return Origin(str(folder), read_tree(registry, limits, found), found, home.resolve().name.lower())


def open_image(name: str, images: Images, reference: Reference, limits: Limits) -> Origin:
    """Read the files of a package of the first format out of its image."""
    with naming_package(name, reference.source):
        image = fetch_image(images, reference, limits)
        files = fetch_registry_files(images, image, limits)
    if APP_FILE not in files:
        raise InvalidInput(
            f"{name} cannot be built",
            why=f"it is an image without {REGISTRY_FOLDER}/{APP_FILE}, so no package of the first format (Packages v1)",
            next="name a folder with crossplane.yaml, or an image of the first format",
        )
    package = reference.source.name.partition(".")[0]
    return Origin(name, Tree.of(files), Findings(), package, image, (images, reference))


def open_origin(what: str, operator: OperatorSettings, reporter: Reporter) -> Origin | None:
    """Read a folder, a file or a reference; nothing if it is a folder without a package of the first format."""
    if Path(what).is_dir():
        return open_folder(Path(what), operator.limits)
    images, reference = find_image(what, operator, reporter)
    with reporter.busy(f"reading {what}"):
        return open_image(what, images, reference, operator.limits)


def find_image(what: str, operator: OperatorSettings, reporter: Reporter) -> tuple[Images, Reference]:
    """Return where an image is: in a file of `docker save`, or in a registry."""
    if os.path.lexists(what):
        return PackageFile(Path(what), operator.limits), Reference(Source("file:", Path(what).name))
    reference = parse_missing_file(what)
    # Imported late: folders and files need no HTTP.
    from render.app.world import open_world

    return open_world(operator, reporter).images(), reference


def parse_missing_file(text: str) -> Reference:
    """Parse a reference that is no path either."""
    try:
        return parse_reference(text)
    except InvalidReference as error:
        why = [*error.why, "and there is no such file"]
        raise InvalidInput(error.what, why=why, next=error.next) from None


def inspect_first_format(origin: Origin, limits: Limits) -> InspectedFirstFormat:
    """Return what a package would become, with every option that it needs."""
    # The name of a folder may not do as a name; that matters when the package is built.
    name = dns_label(origin.package) or "package"
    unnamed = not is_dns_label(origin.package)
    wanted = Wanted(name, origin.name, cluster_wide=True, has_runtime=True, needs_name=unnamed)
    converted = convert(origin.tree, wanted, limits, origin.found)
    return InspectedFirstFormat(
        Inspection(origin.name, converted.metadata, converted.objects, origin.image), converted
    )


def build_first_format(
    origin: Origin,
    choices: Choices,
    references: Sequence[Reference],
    platform: Platform | None,
    operator: OperatorSettings,
    reporter: Reporter,
) -> tuple[BuiltPackage, Converted]:
    """Convert a package and pack it, on top of the image that it runs."""
    limits = operator.limits
    versions = [choices.version, *(reference.tag or "" for reference in references)]
    wanted = Wanted(
        name=choices.name or next((one.source.name for one in references), origin.package),
        place=origin.name,
        source=choices.source,
        versions=tuple(version for version in versions if version),
        cluster_wide=choices.cluster_wide,
        has_runtime=bool(choices.runtime_image or origin.stored),
        answers=_read_answers(choices.lock, limits) if choices.lock else {},
    )
    converted = convert(origin.tree, wanted, limits, origin.found)
    if choices.runtime_image and not converted.own_image:
        raise InvalidInput(
            f"{origin.name} has no use for --runtime-image",
            why="its controller does not run the image of the package",
            next="leave out --runtime-image",
        )
    runtime = _fetch_runtime(origin, choices, operator, reporter) if converted.own_image else None
    version = converted.metadata.annotations.get(VERSION_ANNOTATION)
    labels = {VERSION_ANNOTATION: version} if version else {}
    image = pack_image([(BASE_LAYER, PACKAGE_FILE, converted.data)], platform, runtime, labels)
    return BuiltPackage(converted.metadata, converted.objects, image), converted


def _read_answers(folder: Path, limits: Limits) -> Answers:
    """Return the packages that answer CRDs in the lock of a folder: the locked version, and newer ones of its major."""
    lock = read_lock(folder, limits)
    if lock is None:
        raise InvalidInput(
            f"{folder} has no lock",
            why=f"{LOCK_FILE} is missing",
            next=f"lock it first: {xplock('lock', folder=folder)}",
        )
    found: dict[CrdRequest, list[Mapping[str, Any]]] = {}
    for answer in (*lock.crds, *(one for package in lock.packages.values() for one in package.crds)):
        package = lock.packages.get(answer.source)
        # A package that another folder provides, or that has no version, cannot be named with a range.
        version = parse_candidate(package.tag or package.version) if package else None
        if package and version:
            accepted = f">={version}, <v{version.major + 1}.0.0"
            entry = dependency_on(str(answer.source), accepted, package.kind)
            listed = found.setdefault(answer.crd, [])
            listed.extend([] if entry in listed else [entry])
    return found


def _fetch_runtime(
    origin: Origin, choices: Choices, operator: OperatorSettings, reporter: Reporter
) -> RuntimeImage:
    """Fetch the image that is named, or the one that the package is in."""
    stored = None if choices.runtime_image else origin.stored
    images, reference = stored or find_image(choices.runtime_image, operator, reporter)
    with reporter.busy(f"reading {choices.runtime_image or origin.name}"):
        return fetch_runtime_image(images, reference, operator.limits)


def check_pushed_version(name: str, file: PackageFile, reference: Reference) -> None:
    """Raise for a package that is pushed to another tag than the version its app.yaml had."""
    # The label is there so that a push does not have to read the package.
    run = file.config.get("config")
    labels = run.get("Labels") if isinstance(run, dict) else None
    version = labels.get(VERSION_ANNOTATION) if isinstance(labels, dict) else None
    if version and not same_version(str(version), reference.tag or ""):
        raise InvalidInput(
            f"{name} cannot be pushed to {reference}",
            why=f"its app.yaml has the version {version}, and a version has to be the tag",
            next=f"push it to {Reference(reference.source, str(version))}, or change the version and build it again",
        )


def manifests_folder(built: BuiltPackage, file: Path | None, layout: Path | None) -> Path:
    """Return where the manifests go by default: a folder of their own, so that no project takes them for its own."""
    if layout is not None:
        return layout.parent / f"{built.metadata.name}.manifests"
    path = file or Path(default_file_name(built.metadata.name, built.image.digest))
    return path.with_suffix(".manifests")


@contextmanager
def making(folder: Path) -> Iterator[None]:
    """Make the folder of the manifests before the package is written; if that fails, a new folder is removed."""
    is_new = not is_there(folder)
    make_folder(folder)
    try:
        yield
    except BaseException:
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise


def write_manifests(converted: Converted, folder: Path) -> list[Path]:
    """Write the objects that belong to a package and that it cannot hold; nothing applies them by itself."""
    make_folder(folder)
    texts = {RUNTIME_FILE: f"---\n{format_document(converted.runtime_config)}"}
    if converted.access:
        documents = "".join(f"---\n{format_document(one)}" for one in converted.access)
        texts[ACCESS_FILE] = f"{_ACCESS_HEADER}{documents}"
    for name, text in texts.items():
        replace_file(folder / name, text.encode())
    return [folder / name for name in texts]
