"""Image → package.yaml: the same platform, layer and file that Crossplane takes, or a refusal."""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from render.errors import UnusableContent
from render.limits import LimitExceeded, Limits
from render.references import Digest, Reference, Source
from render.registry.oci import Content, Descriptor, Index, InvalidManifest, Manifest, parse_content
from render.registry.routes import Images
from render.xpkg.layers import Entry, read_entries, unpack

XPKG_ANNOTATION = "io.crossplane.xpkg"
BASE_LAYER = "base"
EXAMPLES_LAYER = "upbound"
EXTENSIONS_MANIFEST = "xpkg-extensions"
PACKAGE_FILE = "package.yaml"

# Whatever the cluster runs on: the package controller asks for this one.
_PLATFORM = ("linux", "amd64")
_WHITEOUT, _OPAQUE = ".wh.", ".wh..wh..opq"
_DRIVE = re.compile(r"[A-Za-z]:")


class InvalidImage(UnusableContent):
    """An image that is no package, or could be taken for two."""


@dataclass(frozen=True, slots=True)
class Image:
    """The image that Crossplane unpacks, and the index it was found in."""

    source: Source
    # Of what the reference names: an index, or the manifest itself. Crossplane pins and names by it.
    digest: Digest
    manifest_digest: Digest
    manifest: Manifest
    index: Index | None = None

    @property
    def extensions(self) -> Descriptor | None:
        """The manifest with content for other tools, which Crossplane does not read."""
        children = self.index.manifests if self.index else ()
        return next((child for child in children if is_extensions(child)), None)


def is_extensions(child: Descriptor) -> bool:
    """Tell whether an index entry is the one for other tools."""
    return child.platform is None and child.annotations.get(XPKG_ANNOTATION) == EXTENSIONS_MANIFEST


def fetch_image(images: Images, reference: Reference, limits: Limits) -> Image:
    """Find the image Crossplane would unpack for a reference."""
    content = images.content(reference)
    digest, index = content.digest, None
    for _ in range(limits.index_depth + 1):
        try:
            document = parse_content(content, limits)
        except InvalidManifest as error:
            error.what = f"{reference.source}@{content.digest} cannot be used"
            raise
        if isinstance(document, Manifest):
            return Image(reference.source, digest, content.digest, document, index)
        index = index or document
        content = _fetch_child(images, reference.source, _choose_child(document))
    raise LimitExceeded(f"{reference} is an index of indexes", "index_depth", limits)


def fetch_package_yaml(images: Images, image: Image, limits: Limits) -> Iterator[bytes]:
    """Yield package.yaml out of an image, checking on the way that there is no second one."""
    return _bounded(_package_yaml(images, image, limits), limits)


def base_layer(image: Image) -> Descriptor | None:
    """Return the layer that is marked as the package, if one is."""
    marked = [
        layer for layer in image.manifest.layers if layer.annotations.get(XPKG_ANNOTATION) == BASE_LAYER
    ]
    if len(marked) > 1:
        raise InvalidImage(
            f"{image.source}@{image.manifest_digest} has {len(marked)} layers that claim to be the package",
            why=f"each has the annotation {XPKG_ANNOTATION}: {BASE_LAYER}, and tools may differ in which they take",
            next="ask the package's maintainers to build it again",
        )
    return marked[0] if marked else None


def _choose_child(index: Index) -> Descriptor:
    for child in index.manifests:
        # An entry without a platform counts as the wanted one; one with an empty platform does not.
        if child.platform is None or (child.platform.os, child.platform.architecture) == _PLATFORM:
            return child
    there = ", ".join(str(child.platform) for child in index.manifests) or "nothing at all"
    raise InvalidImage(
        f"the image index has no entry for {'/'.join(_PLATFORM)}",
        why=f"Crossplane takes that one on every machine; the index has {there}",
        next="ask the package's maintainers to push it for linux/amd64 too",
    )


def _fetch_child(images: Images, source: Source, child: Descriptor) -> Content:
    content = images.content(Reference(source, digest=child.digest))
    if len(content.data) != child.size:
        raise InvalidImage(
            f"{source}@{child.digest} is not as long as its index says",
            why=f"the index says {child.size:,} bytes, there are {len(content.data):,}",
            next="do not use this package; tell whoever runs the registry",
        )
    return content


def _package_yaml(images: Images, image: Image, limits: Limits) -> Iterator[bytes]:
    marked = base_layer(image)
    seen = _Seen(image)
    # The top layer first: what it has or hides, the layers below it no longer have.
    for layer in [marked] if marked else reversed(image.manifest.layers):
        with images.blob(image.source, layer) as file:
            for entry, stream in read_entries(unpack(file, limits), limits):
                if marked or seen.shows(entry):
                    yield from seen.take(entry, stream.content(), flattened=marked is None)
        seen.next_layer()
    if not seen.found:
        raise InvalidImage(
            f"{image.source}@{image.manifest_digest} has no {PACKAGE_FILE}",
            why="it is not a Crossplane package" if marked is None else "its package layer does not hold one",
            next="check the reference; runtime images and packages often have similar names",
        )


@dataclass(slots=True)
class _Seen:
    """Which names upper layers have taken or hidden, and whether package.yaml was found.

    This follows extractLayer of go-containerregistry's mutate package step by step: a file that only one of the two
    sees is an attack.
    """

    image: Image
    found: str = ""
    # By cleaned name: whether it hides everything below it, as all but directories do.
    _names: dict[str, bool] = field(default_factory=dict)
    _opaque: set[str] = field(default_factory=set)
    _opaque_here: set[str] = field(default_factory=set)
    _files_here: set[str] = field(default_factory=set)

    def shows(self, entry: Entry) -> bool:
        """Tell whether an entry is in the resulting file system, and remember what it hides."""
        path = _clean(entry.name)
        self._refuse_outside(entry, path)
        folder, base = _split(path)
        if _escapes(path, entry.link):
            # Left out, and it hides nothing. As package.yaml it is refused all the same.
            return base == PACKAGE_FILE
        if base == _OPAQUE:
            self._opaque_here.add(folder)
            return False
        whiteout = base.startswith(_WHITEOUT)
        hidden = posixpath.join(folder, base.removeprefix(_WHITEOUT))
        name = path if entry.directory else _clean(hidden)
        if name in self._names and not whiteout:
            # A second entry of the same layer is left out by Crossplane, and by us refused.
            return name in self._files_here and base == PACKAGE_FILE
        if any(self._names.get(above) or above in self._opaque for above in _above(name)):
            return False
        # Crossplane's library hides the name from here on, in this layer too.
        self._names[name] = whiteout or not entry.directory
        if not whiteout:
            self._files_here.add(name)
        return not whiteout

    def take(self, entry: Entry, content: Iterator[bytes], *, flattened: bool) -> Iterator[bytes]:
        """Yield the content of package.yaml; a second one, or one that is no plain file, is an error."""
        name = _clean(entry.name) if flattened else entry.name.rstrip("/")
        if posixpath.basename(name) != PACKAGE_FILE:
            return
        if self.found or not entry.regular:
            raise InvalidImage(
                f"{self.image.source}@{self.image.manifest_digest} cannot be read in one way only",
                why=f"it has {self.found} and {entry.name}"
                if self.found
                else f"{entry.name} is not a plain file",
                next="ask the package's maintainers to build it again",
            )
        self.found = entry.name
        yield from content

    def next_layer(self) -> None:
        """An opaque folder hides what lower layers have in it, not what its own layer has."""
        self._opaque |= self._opaque_here
        self._opaque_here.clear()
        self._files_here.clear()

    def _refuse_outside(self, entry: Entry, path: str) -> None:
        slashed = _clean(path.replace("\\", "/"))
        if slashed.split("/")[0] == ".." or path.startswith("\\") or _DRIVE.match(slashed):
            raise InvalidImage(
                f"{self.image.source}@{self.image.manifest_digest} has a file outside of its root",
                why=f"a layer names {entry.name!r}",
                next="do not use this image",
            )


def _clean(path: str) -> str:
    # Go's path.Clean: two slashes in front are one, as everywhere else.
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
            raise LimitExceeded(f"{PACKAGE_FILE} is too large", "package_bytes", limits)
        yield chunk
