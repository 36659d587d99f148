"""Image → package.yaml: the platform, layer and file that Crossplane takes, or an error where there are two."""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from render.commands import xplock
from render.errors import UnusableContent
from render.limits import LimitExceeded, Limits
from render.references import Digest, Reference, Source
from render.registry.oci import Content, Descriptor, Index, InvalidManifest, Manifest, parse_content
from render.registry.routes import Images
from render.system.files import APP_FILE, REGISTRY_FOLDER
from render.xpkg.layers import Entry, read_entries, unpack

XPKG_ANNOTATION = "io.crossplane.xpkg"
BASE_LAYER = "base"
EXAMPLES_LAYER = "upbound"
EXTENSIONS_MANIFEST = "xpkg-extensions"
PACKAGE_FILE = "package.yaml"

# The package controller asks for this platform, whatever the cluster runs on.
_PLATFORM = ("linux", "amd64")
_WHITEOUT, _OPAQUE = ".wh.", ".wh..wh..opq"
_DRIVE = re.compile(r"[A-Za-z]:")


class InvalidImage(UnusableContent):
    """An image without a package, or with two that tools may choose between."""


class FirstFormat(InvalidImage):
    """An image that holds a package of the first format, which Crossplane no longer reads."""


@dataclass(frozen=True, slots=True)
class Image:
    """The image that Crossplane unpacks, and the index it was found in."""

    source: Source
    # The digest that the reference names: of an index, or of the manifest itself. Crossplane uses it in names.
    digest: Digest
    manifest_digest: Digest
    manifest: Manifest
    index: Index | None = None

    @property
    def reference(self) -> Reference:
        """The image by its digest."""
        return Reference(self.source, digest=self.digest)

    @property
    def extensions(self) -> Descriptor | None:
        """The manifest with content for other tools, which Crossplane does not read."""
        children = self.index.manifests if self.index else ()
        return next((child for child in children if is_extensions(child)), None)


def is_extensions(child: Descriptor) -> bool:
    """Tell whether an index entry is the manifest for other tools."""
    return child.platform is None and child.annotations.get(XPKG_ANNOTATION) == EXTENSIONS_MANIFEST


def fetch_image(images: Images, reference: Reference, limits: Limits) -> Image:
    """Fetch the manifest of the image that Crossplane unpacks for a reference."""
    content = images.content(reference)
    digest, index = content.digest, None
    for _ in range(limits.index_depth + 1):
        try:
            document = parse_content(content, limits)
        except InvalidManifest as error:
            error.what = f"its manifest {content.digest} cannot be used"
            raise
        if isinstance(document, Manifest):
            return Image(reference.source, digest, content.digest, document, index)
        index = index or document
        content = _fetch_child(images, reference.source, _choose_child(document))
    raise LimitExceeded("its index contains indexes", "index_depth", limits)


def fetch_package_yaml(images: Images, image: Image, limits: Limits) -> Iterator[bytes]:
    """Yield the bytes of package.yaml; a second package.yaml in the image is an error."""
    return _bounded(_package_yaml(images, image, limits), limits)


def fetch_registry_files(images: Images, image: Image, limits: Limits) -> dict[str, bytes]:
    """Return the files of a package of the first format, by their paths below `.registry/`."""
    seen, files, room = _Seen(image), dict[str, bytes](), limits.package_bytes
    for layer in reversed(image.manifest.layers):
        with images.blob(image.source, layer) as file:
            for entry, stream in read_entries(unpack(file, limits), limits):
                path = _clean(entry.name).removeprefix("/")
                if not seen.shows(entry) or not entry.regular or not path.startswith(f"{REGISTRY_FOLDER}/"):
                    continue
                room -= entry.size
                if room < 0:
                    raise LimitExceeded(f"its {REGISTRY_FOLDER} is too large", "package_bytes", limits)
                files[path.removeprefix(f"{REGISTRY_FOLDER}/")] = b"".join(stream.content())
        seen.next_layer()
    return files


def base_layer(image: Image) -> Descriptor | None:
    """Return the layer that is annotated as the package, if one is."""
    marked = [
        layer for layer in image.manifest.layers if layer.annotations.get(XPKG_ANNOTATION) == BASE_LAYER
    ]
    if len(marked) > 1:
        raise InvalidImage(
            f"its image {image.manifest_digest} has {len(marked)} package layers",
            why=f"each has the annotation {XPKG_ANNOTATION}: {BASE_LAYER}, and tools may choose differently",
            next="ask the package's maintainers to build it again",
        )
    return marked[0] if marked else None


def _choose_child(index: Index) -> Descriptor:
    for child in index.manifests:
        # An entry without a platform counts as linux/amd64; one with an empty platform does not.
        if child.platform is None or (child.platform.os, child.platform.architecture) == _PLATFORM:
            return child
    there = ", ".join(str(child.platform) for child in index.manifests) or "nothing at all"
    raise InvalidImage(
        f"its image index has no entry for {'/'.join(_PLATFORM)}",
        why=f"Crossplane takes that one on every machine; the index has {there}",
        next="ask the package's maintainers to push it for linux/amd64 too",
    )


def _fetch_child(images: Images, source: Source, child: Descriptor) -> Content:
    content = images.content(Reference(source, digest=child.digest))
    if len(content.data) != child.size:
        raise InvalidImage(
            f"its manifest {child.digest} has another size than its index says",
            why=f"the index says {child.size:,} bytes, the manifest has {len(content.data):,}",
            next="do not use this package; report it to the operators of the registry",
        )
    return content


def _package_yaml(images: Images, image: Image, limits: Limits) -> Iterator[bytes]:
    marked = base_layer(image)
    seen = _Seen(image)
    # The top layer first: it hides files of the layers below.
    for layer in [marked] if marked else reversed(image.manifest.layers):
        with images.blob(image.source, layer) as file:
            for entry, stream in read_entries(unpack(file, limits), limits):
                if marked or seen.shows(entry):
                    yield from seen.take(entry, stream.content(), flattened=marked is None)
        seen.next_layer()
    if not seen.found and seen.first_format:
        raise FirstFormat(
            f"its image {image.manifest_digest} holds a package of the first format (Packages v1)",
            why=f"it has {REGISTRY_FOLDER}/{APP_FILE} and no {PACKAGE_FILE}; Crossplane no longer reads such packages",
            next=f"convert it, and push the result: {xplock('package', 'build', str(image.reference), '-o', 'FILE.xpkg')}",
        )
    if not seen.found:
        raise InvalidImage(
            f"its image {image.manifest_digest} has no {PACKAGE_FILE}",
            why="it is not a Crossplane package"
            if marked is None
            else "its package layer does not contain one",
            next="check the reference; runtime images and packages often have similar names",
        )


@dataclass(slots=True)
class _Seen:
    """The names that upper layers have taken or hidden, and the package.yaml that was found.

    This follows extractLayer of go-containerregistry's mutate package step by step, since a file that only one of the
    two sees is an attack.
    """

    image: Image
    found: str = ""
    first_format: bool = False
    # By cleaned name: whether it hides everything below it, as all but directories do.
    _names: dict[str, bool] = field(default_factory=dict)
    _opaque: set[str] = field(default_factory=set)
    _opaque_here: set[str] = field(default_factory=set)
    _files_here: set[str] = field(default_factory=set)

    def shows(self, entry: Entry) -> bool:
        """Tell whether an entry is in the resulting file system, and record what it hides."""
        path = _clean(entry.name)
        self._refuse_outside(entry, path)
        folder, base = _split(path)
        if _escapes(path, entry.link):
            # Crossplane leaves it out, and it hides nothing. If it is a package.yaml, take() refuses it.
            return base == PACKAGE_FILE
        if base == _OPAQUE:
            self._opaque_here.add(folder)
            return False
        whiteout = base.startswith(_WHITEOUT)
        hidden = posixpath.join(folder, base.removeprefix(_WHITEOUT))
        name = path if entry.directory else _clean(hidden)
        if name in self._names and not whiteout:
            # Crossplane leaves out a second entry of the same layer. If it is a package.yaml, take() refuses it.
            return name in self._files_here and base == PACKAGE_FILE
        if any(self._names.get(above) or above in self._opaque for above in _above(name)):
            return False
        # Crossplane's library hides the name from here on, also in this layer.
        self._names[name] = whiteout or not entry.directory
        if not whiteout:
            self._files_here.add(name)
        self.first_format |= name.removeprefix("/") == f"{REGISTRY_FOLDER}/{APP_FILE}" and not whiteout
        return not whiteout

    def take(self, entry: Entry, content: Iterator[bytes], *, flattened: bool) -> Iterator[bytes]:
        """Yield the content of package.yaml; a second one, or one that is not a plain file, is an error."""
        name = _clean(entry.name) if flattened else entry.name.rstrip("/")
        if posixpath.basename(name) != PACKAGE_FILE:
            return
        if self.found or not entry.regular:
            raise InvalidImage(
                f"its image {self.image.manifest_digest} has no single {PACKAGE_FILE}",
                why=f"it has {self.found} and {entry.name}"
                if self.found
                else f"{entry.name} is not a plain file",
                next="ask the package's maintainers to build it again",
            )
        self.found = entry.name
        yield from content

    def next_layer(self) -> None:
        """Go to the layer below, where files in opaque folders are hidden."""
        self._opaque |= self._opaque_here
        self._opaque_here.clear()
        self._files_here.clear()

    def _refuse_outside(self, entry: Entry, path: str) -> None:
        slashed = _clean(path.replace("\\", "/"))
        if slashed.split("/")[0] == ".." or path.startswith("\\") or _DRIVE.match(slashed):
            raise InvalidImage(
                f"its image {self.image.manifest_digest} has a file outside of its root",
                why=f"a layer has the file {entry.name!r}",
                next="do not use this image",
            )


def _clean(path: str) -> str:
    # Go's path.Clean makes one slash of two in front, too.
    cleaned = posixpath.normpath(path)
    return cleaned[1:] if cleaned.startswith("//") else cleaned


def _split(path: str) -> tuple[str, str]:
    folder, base = posixpath.split(path)
    return folder or ".", base or path


def _above(name: str) -> Iterator[str]:
    folder = _split(name)[0]
    while folder != name:
        yield folder
        name, folder = folder, _split(folder)[0]


def _escapes(path: str, link: str) -> bool:
    target = _clean(link.replace("\\", "/")) if link else "/"
    if target.startswith("/"):
        return False
    return bool(_DRIVE.match(target)) or _clean(posixpath.join(_split(path)[0], target)).startswith("..")


def _bounded(chunks: Iterator[bytes], limits: Limits) -> Iterator[bytes]:
    total = 0
    for chunk in chunks:
        total += len(chunk)
        if total > limits.package_bytes:
            raise LimitExceeded(f"its {PACKAGE_FILE} is too large", "package_bytes", limits)
        yield chunk
