"""The .xpkg file: an image in the format of `docker save`, which the Crossplane CLI writes and reads."""

import hashlib
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from render.errors import InvalidInput
from render.limits import LimitExceeded, Limits
from render.names import friendly_id
from render.references import Digest, Reference, Source
from render.registry.oci import (
    OCI_CONFIG,
    OCI_LAYER,
    OCI_MANIFEST,
    Content,
    Descriptor,
    Manifest,
    NotFound,
    Platform,
    digest_of,
    format_manifest,
)
from render.system.files import open_plain
from render.xpkg.building.packing import LABEL_PREFIX, PackedImage, pack_tar
from render.xpkg.image import XPKG_ANNOTATION
from render.xpkg.layers import Entry, InvalidLayer, Stream, read_entries

_MANIFEST = "manifest.json"
_CHUNK = 1 << 20
_GZIP = b"\x1f\x8b"
# Layers as docker itself saves them.
_PLAIN_LAYER = "application/vnd.oci.image.layer.v1.tar"
_PLATFORM_KEYS = ("os", "architecture", "variant")


class InvalidPackageFile(InvalidInput):
    """A file that is not a package."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"{path} is not a package file", why=why, next="build one: xplock package build DIR -o FILE.xpkg"
        )


def format_package_file(image: PackedImage) -> bytes:
    """Return the bytes of a .xpkg file."""
    config = str(image.manifest.config.digest)
    layers = [f"{layer.digest.removeprefix('sha256:')}.tar.gz" for layer in image.manifest.layers]
    listing = json.dumps([{"Config": config, "RepoTags": None, "Layers": layers}], separators=(",", ":"))
    members = [(config, image.config), *zip(layers, image.layers, strict=True), (_MANIFEST, listing.encode())]
    return pack_tar(list(dict(members).items()))


def default_file_name(name: str, digest: Digest) -> str:
    """Return the file name that the Crossplane CLI would choose."""
    return f"{friendly_id(name, digest.removeprefix('sha256:'))}.xpkg"


@dataclass(frozen=True, slots=True)
class _Member:
    offset: int
    size: int
    digest: Digest
    zipped: bool


class PackageFile:
    """A .xpkg file as a registry with one image."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self._path = path
        self._limits = limits
        self._members = self._scan()
        self._by_digest = {member.digest: member for member in self._members.values()}
        self.config, self.manifest = self._read_manifest()
        data = format_manifest(self.manifest)
        self._content = Content(data, OCI_MANIFEST, digest_of(data))

    @property
    def digest(self) -> Digest:
        """The digest of the image in a registry."""
        return self._content.digest

    @property
    def platform(self) -> Platform | None:
        """The platform in the image's configuration, if there is one."""
        platform = Platform(*(self.config.get(key) or "" for key in _PLATFORM_KEYS))
        return platform if platform.os else None

    def tags(self, source: Source) -> tuple[str, ...]:  # noqa: ARG002 - a file has no tags
        """Return no tags: the image in a file has no name."""
        return ()

    def content(self, reference: Reference) -> Content:
        """Return the manifest of the image, as a push would write it."""
        if reference.digest not in (None, self._content.digest):
            raise NotFound(f"{self._path} does not hold {reference.digest}")
        return self._content

    def blob(self, source: Source, descriptor: Descriptor) -> IO[bytes]:  # noqa: ARG002 - there is only one
        """Return a layer or the configuration."""
        member = self._by_digest[descriptor.digest]
        with open_plain(self._path) as file:
            file.seek(member.offset)
            return io.BytesIO(file.read(member.size))

    def _scan(self) -> dict[str, _Member]:
        members: dict[str, _Member] = {}
        try:
            with open_plain(self._path) as file:
                for entry, stream in read_entries(iter(lambda: file.read(_CHUNK), b""), self._limits):
                    member = _read_member(entry, stream)
                    if not entry.regular:
                        continue
                    if members.setdefault(entry.name, member).digest != member.digest:
                        raise InvalidPackageFile(self._path, f"it has two different files {entry.name!r}")
        except InvalidLayer as error:
            raise InvalidPackageFile(self._path, f"it is not a tar archive: {'; '.join(error.why)}") from None
        return members

    def _read_manifest(self) -> tuple[dict[str, Any], Manifest]:
        try:
            [image] = self._read_json(_MANIFEST)
            config_member = self._members[image["Config"]]
            config = self._read_json(image["Config"])
            labels = (config.get("config") or {}).get("Labels") or {}
            layers = tuple(_describe(self._members[name], labels) for name in image["Layers"])
            marks = {name: mark for name, mark in labels.items() if name.startswith(LABEL_PREFIX)}
            texts = [config.get(key) or "" for key in _PLATFORM_KEYS]
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
            raise InvalidPackageFile(
                self._path, f"its {_MANIFEST} does not describe exactly one image"
            ) from None
        if not layers:
            raise InvalidPackageFile(self._path, "it has no layers")
        if len(layers) > self._limits.layers:
            raise LimitExceeded(f"{self._path} has too many layers", "layers", self._limits)
        # Other characters cannot be written into a manifest, or cannot be seen there.
        if not all(isinstance(text, str) and text.isprintable() for text in [*texts, *marks.values()]):
            raise InvalidPackageFile(
                self._path, "its configuration has a platform or a label that is not text"
            )
        if marks.keys() - {f"{LABEL_PREFIX}{layer.digest}" for layer in layers}:
            raise InvalidPackageFile(
                self._path, "its configuration has a label for a layer that it does not have"
            )
        return config, Manifest(Descriptor(OCI_CONFIG, config_member.digest, config_member.size), layers)

    def _read_json(self, name: str) -> Any:
        member = self._members[name]
        if member.size > self._limits.manifest_bytes:
            raise ValueError
        with open_plain(self._path) as file:
            file.seek(member.offset)
            return json.loads(file.read(member.size))


def _read_member(entry: Entry, stream: Stream) -> _Member:
    offset, hashed, start = stream.position, hashlib.sha256(), b""
    for chunk in stream.content():
        hashed.update(chunk)
        start = start or chunk[:2]
    return _Member(offset, entry.size, Digest("sha256:" + hashed.hexdigest()), zipped=start == _GZIP)


def _describe(member: _Member, labels: dict[str, Any]) -> Descriptor:
    mark = labels.get(f"{LABEL_PREFIX}{member.digest}")
    annotations = {XPKG_ANNOTATION: mark} if isinstance(mark, str) else {}
    return Descriptor(OCI_LAYER if member.zipped else _PLAIN_LAYER, member.digest, member.size, annotations)
