"""Package files → one reference: a single image, or an index with one image for each platform."""

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, Protocol

from render.errors import InvalidInput
from render.limits import LimitExceeded, Limits
from render.references import Reference, Source
from render.registry.oci import (
    OCI_INDEX,
    OCI_MANIFEST,
    Content,
    Descriptor,
    Index,
    Platform,
    digest_of,
    format_index,
)
from render.system.files import read_plain
from render.xpkg.building.package_file import PackageFile
from render.xpkg.building.packing import PackedImage, pack_extensions
from render.xpkg.image import EXTENSIONS_MANIFEST, XPKG_ANNOTATION

_NEEDED = ("linux", "amd64")


class Target(Protocol):
    """A registry to push to."""

    def push_blob(self, descriptor: Descriptor, file: IO[bytes]) -> None: ...
    def push_content(self, content: Content, tag: str | None = None) -> None: ...


class InvalidPush(InvalidInput):
    """Files that cannot be pushed as one package."""


@dataclass(frozen=True, slots=True)
class Publication:
    """Images to push, and the manifest or index for the tag."""

    files: tuple[PackageFile, ...]
    extensions: PackedImage | None
    content: Content

    def push(self, source: Source, target: Target, tag: str) -> None:
        """Push blobs, then manifests, then the tag, so that the tag never names an incomplete package."""
        for file in self.files:
            for descriptor in (file.manifest.config, *file.manifest.layers):
                with file.blob(source, descriptor) as blob:
                    target.push_blob(descriptor, blob)
        if self.extensions:
            self._push_extensions(target, self.extensions)
        if self.content.media_type == OCI_INDEX:
            for file in self.files:
                target.push_content(file.content(Reference(source, digest=file.digest)))
        target.push_content(self.content, tag)

    @staticmethod
    def _push_extensions(target: Target, image: PackedImage) -> None:
        described = (image.manifest.config, *image.manifest.layers)
        for descriptor, data in zip(described, (image.config, *image.layers), strict=True):
            target.push_blob(descriptor, BytesIO(data))
        target.push_content(Content(image.data, OCI_MANIFEST, image.digest))


def plan_publication(files: Sequence[PackageFile], extensions: Path | None, limits: Limits) -> Publication:
    """Plan a push: the tag will name the image itself, or an index of several images."""
    extra = pack_extensions(_read_extensions(extensions, limits)) if extensions else None
    if len(files) == 1 and extra is None:
        [file] = files
        content = file.content(Reference(Source("file", "package"), digest=file.digest))
        return Publication((file,), None, content)
    _check_platforms([file.platform for file in files])
    children = [_child(file) for file in files]
    if extra:
        # Last, since an entry without a platform counts as linux/amd64, and Crossplane takes the first of those.
        annotations = {XPKG_ANNOTATION: EXTENSIONS_MANIFEST}
        children.append(Descriptor(OCI_MANIFEST, extra.digest, len(extra.data), annotations))
    data = format_index(Index(tuple(children)))
    return Publication(tuple(files), extra, Content(data, OCI_INDEX, digest_of(data)))


def _child(file: PackageFile) -> Descriptor:
    content = file.content(Reference(Source("file", "package"), digest=file.digest))
    return Descriptor(OCI_MANIFEST, content.digest, len(content.data), {}, file.platform)


def _check_platforms(platforms: Sequence[Platform | None]) -> None:
    named = [str(platform or "none") for platform in platforms]
    if len(platforms) > 1 and (len(set(named)) < len(named) or None in platforms):
        raise InvalidPush(
            "these files cannot share one reference",
            why=f"each needs a platform of its own; theirs are {', '.join(named)}",
            next="build each with another --platform, or push them under different references",
        )
    needed = "/".join(_NEEDED)
    if all(platform and (platform.os, platform.architecture) != _NEEDED for platform in platforms):
        raise InvalidPush(
            f"none of these files is for {needed}",
            why=f"Crossplane reads that one on every machine; theirs are {', '.join(named)}",
            next=f"build one with --platform {needed}",
        )


def _read_extensions(path: Path, limits: Limits) -> list[tuple[str, bytes]]:
    paths = sorted(item for item in path.rglob("*") if item.is_file()) if path.is_dir() else [path]
    root = path if path.is_dir() else path.parent
    files = []
    for item in paths:
        data = read_plain(item, limits.layer_bytes)
        if data is None:
            raise LimitExceeded(f"{item} is too large", "layer_bytes", limits)
        files.append((item.relative_to(root).as_posix(), data))
    if not files:
        raise InvalidPush(
            f"{path} is empty", why="there is nothing to add as extensions", next="leave --extensions out"
        )
    return files
