"""Folder → package: checks the content rules of its kind; the same folder gives the same bytes."""

import fnmatch
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from render.errors import InvalidInput, RenderError
from render.limits import LimitExceeded, Limits
from render.packages import Metadata, PackagedObject, is_meta
from render.registry.oci import Platform
from render.system.files import META_FILE, is_folder, read_plain
from render.xpkg.allowed_objects import format_allowed, misplaced
from render.xpkg.building.packing import PackedImage, pack_image
from render.xpkg.contents import Document, split_documents
from render.xpkg.identity import identify
from render.xpkg.image import BASE_LAYER, EXAMPLES_LAYER, PACKAGE_FILE
from render.xpkg.metadata import InvalidMetadata, parse_metadata
from render.yaml.documents import InvalidDocument, decode_utf8
from render.yaml.libyaml import check_single_document

_EXAMPLES_FILE = ".up/examples.yaml"


class InvalidPackageFolder(InvalidInput):
    """A folder whose package cannot be built."""

    def __init__(self, folder: Path, problems: Sequence[str]) -> None:
        super().__init__(
            f"no package can be built from {folder}", why=problems, next="correct this and build again"
        )
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class BuiltPackage:
    """A package that was built, and its image."""

    metadata: Metadata
    objects: tuple[PackagedObject, ...]
    image: PackedImage


def build_package(
    folder: Path,
    limits: Limits,
    *,
    ignore: Sequence[str] = (),
    examples: str = "examples",
    platform: Platform | None = None,
) -> BuiltPackage:
    """Build the package of a folder from crossplane.yaml and every other YAML file below it."""
    collected, shown = _Collected(folder, limits), []
    for path in _yaml_files(folder, limits, ignore):
        if path.is_relative_to(folder / examples):
            shown.append(_read(folder, path, limits))
        else:
            collected.take(path)
    metadata = collected.check()
    layers = [(BASE_LAYER, PACKAGE_FILE, collected.package_yaml())]
    if shown:
        layers.append((EXAMPLES_LAYER, _EXAMPLES_FILE, b"---\n".join(data + b"\n" for data in shown)))
    objects = tuple(item for item, _, _ in collected.objects)
    return BuiltPackage(metadata, objects, pack_image(layers, platform))


@dataclass(slots=True)
class _Collected:
    """The documents of a folder, and their problems."""

    folder: Path
    limits: Limits
    metas: list[tuple[str, Document]] = field(default_factory=list)
    objects: list[tuple[PackagedObject, str, bytes]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def take(self, path: Path) -> None:
        """Read the documents of one file."""
        shown = path.relative_to(self.folder).as_posix()
        try:
            data = decode_utf8(_read(self.folder, path, self.limits)).encode()
            for document in split_documents([data], self.limits):
                self._take_document(shown, document)
        except InvalidDocument as error:
            self.problems.append(f"{shown}: line {error.line}: {error.problem}")
        except RenderError as error:
            self.problems.append(f"{shown}: {'; '.join([error.what, *error.why])}")

    def _take_document(self, shown: str, document: Document) -> None:
        place = f"{shown}: line {document.line}"
        try:
            found = identify(document.data, self.limits)
            check_single_document(document.text())
        except InvalidDocument as error:
            self.problems.append(f"{shown}: line {document.line + error.line - 1}: {error.problem}")
            return
        if is_meta(found.api_version):
            self.metas.append((shown, document))
        elif not found.name:
            self.problems.append(f"{place}: this {found.kind} has no metadata.name")
        else:
            self.objects.append((found, place, document.data))

    def check(self) -> Metadata:
        """Return the package's metadata; all problems come in one error."""
        if [shown for shown, _ in self.metas] != [META_FILE]:
            where = ", ".join(shown for shown, _ in self.metas) or "none of its files"
            self.problems.insert(
                0,
                f"{META_FILE} has to contain one Provider, Configuration or Function of meta.pkg.crossplane.io, "
                f"and no other file may; found in {where}",
            )
            raise InvalidPackageFolder(self.folder, self.problems)
        metadata = self._parse_meta()
        self._check_objects(metadata)
        if self.problems:
            raise InvalidPackageFolder(self.folder, self.problems)
        return metadata

    def _parse_meta(self) -> Metadata:
        [(_, document)] = self.metas
        try:
            metadata = parse_metadata(document.text().encode(), self.limits)
        except InvalidMetadata as error:
            found = [f"{META_FILE}: {problem}" for problem in error.problems]
            raise InvalidPackageFolder(self.folder, [*found, *self.problems]) from None
        except InvalidDocument as error:
            place = f"{META_FILE}: line {document.line + error.line - 1}"
            raise InvalidPackageFolder(self.folder, [f"{place}: {error.problem}", *self.problems]) from None
        if not metadata.name:
            self.problems.append(f"{META_FILE}: metadata.name: a package needs a name")
        return metadata

    def _check_objects(self, metadata: Metadata) -> None:
        places: dict[tuple[str, str, str], str] = {}
        wrong = set(misplaced(metadata.kind, (item for item, _, _ in self.objects)))
        for item, place, _ in self.objects:
            if item in wrong:
                self.problems.append(
                    f"{place}: a {metadata.kind} may not hold a {item.kind} ({item.api_version}), "
                    f"only {format_allowed(metadata.kind)}"
                )
            identity = (item.group, item.kind, item.name)
            if identity in places:
                self.problems.append(
                    f"{place}: {item.kind} {item.name} is already defined at {places[identity]}"
                )
            places.setdefault(identity, place)

    def package_yaml(self) -> bytes:
        """Return the content of package.yaml: the metadata, then the objects in the order of their files."""
        documents = [meta.data for _, meta in self.metas] + [data for _, _, data in self.objects]
        # Each document starts with the line break before it, and lacks the one after it.
        stream = b"".join(b"---" + data + b"\n" for data in documents)
        if len(stream) > self.limits.package_bytes:
            raise LimitExceeded(f"the package of {self.folder} is too large", "package_bytes", self.limits)
        return stream


def _yaml_files(folder: Path, limits: Limits, ignore: Sequence[str]) -> Iterator[Path]:
    """Yield the YAML files below a folder, sorted; links to folders are not followed."""
    count = 0
    for path in sorted(folder.rglob("*"), key=lambda path: path.relative_to(folder).as_posix()):
        shown = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in shown.parts)
        if path.suffix not in (".yaml", ".yml") or hidden or is_folder(path) or _ignored(shown, ignore):
            continue
        count += 1
        if count > limits.files:
            raise LimitExceeded(f"{folder} has too many files", "files", limits)
        yield path


def _ignored(path: Path, patterns: Sequence[str]) -> bool:
    """Tell whether a pattern matches a path, or a folder above it."""
    names = [item.as_posix() for item in (path, *path.parents)]
    return any(fnmatch.fnmatchcase(name, pattern.rstrip("/")) for name in names for pattern in patterns)


def _read(folder: Path, path: Path, limits: Limits) -> bytes:
    """Read a file; every line break is \\n, and the last line has none."""
    data = read_plain(path, limits.package_bytes)
    if data is None:
        raise LimitExceeded(f"{path.relative_to(folder)} is too large", "package_bytes", limits)
    return data.replace(b"\r\n", b"\n").removesuffix(b"\n")
