"""OCI manifests and indexes: parsed strictly, and written byte-stable."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from render.errors import RenderError, UnusableContent
from render.limits import LimitExceeded, Limits
from render.references import Digest, Source, is_digest

OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI_CONFIG = "application/vnd.oci.image.config.v1+json"
OCI_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_INDEX = "application/vnd.docker.distribution.manifest.list.v2+json"
IMAGE_TYPES = frozenset({OCI_MANIFEST, DOCKER_MANIFEST})
INDEX_TYPES = frozenset({OCI_INDEX, DOCKER_INDEX})
_SCHEMA_1 = "application/vnd.docker.distribution.manifest.v1"

# Go ignores the case of these keys and Python does not, so a document with another spelling could mean two things.
_KNOWN_KEYS = {
    name.casefold(): name
    for name in (
        "schemaVersion", "mediaType", "config", "layers", "manifests", "digest", "size", "platform", "annotations",
        "urls", "os", "architecture", "variant", "artifactType", "subject",
    )
}  # fmt: skip


class InvalidManifest(UnusableContent):
    """A manifest or index that is malformed or ambiguous."""

    def __init__(
        self, why: str, *, next: str = "ask the operators of the registry, or push the package again"
    ) -> None:
        super().__init__("a manifest of the package cannot be used", why=why, next=next)


class NotFound(RenderError):
    """A repository, tag or digest that its registry does not have."""

    # The sources that are there, where they can be listed.
    known: Sequence[Source] = ()


class MissingBlob(NotFound):
    """A part of an image that its registry does not have, although it has the image."""


class TamperedContent(UnusableContent):
    """Bytes that do not match their digest."""

    def __init__(self, source: Source, asked: Digest, got: Digest) -> None:
        super().__init__(
            f"{source} serves other bytes than were requested",
            why=[f"requested {asked}", f"received {got}"],
            next="do not use this package; tell the operators of the registry, the mirror or the proxy in between",
        )


@dataclass(frozen=True, slots=True)
class Platform:
    """The platform of an image in an index."""

    os: str
    architecture: str
    variant: str = ""

    def __str__(self) -> str:
        return "/".join(part for part in (self.os, self.architecture, self.variant) if part) or "(empty)"


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A pointer to content: its type, digest and size."""

    media_type: str
    digest: Digest
    size: int
    annotations: Mapping[str, str] = field(default_factory=dict)
    platform: Platform | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """One image: its configuration and its layers, lowest first."""

    config: Descriptor
    layers: tuple[Descriptor, ...]
    annotations: Mapping[str, str] = field(default_factory=dict)
    media_type: str = OCI_MANIFEST


@dataclass(frozen=True, slots=True)
class Index:
    """Several images under one name, usually one for each platform."""

    manifests: tuple[Descriptor, ...]
    annotations: Mapping[str, str] = field(default_factory=dict)
    media_type: str = OCI_INDEX


@dataclass(frozen=True, slots=True)
class Content:
    """A manifest or index as it was served; the digest is the one computed from these bytes."""

    data: bytes
    media_type: str
    digest: Digest


def digest_of(data: bytes) -> Digest:
    """Return the digest of some bytes."""
    return Digest("sha256:" + hashlib.sha256(data).hexdigest())


def parse_content(content: Content, limits: Limits) -> Manifest | Index:
    """Parse a manifest or an index; raise for a document that could be read as both."""
    document = _parse_json(content.data)
    media_type = _find_media_type(document, content.media_type)
    if media_type in INDEX_TYPES:
        return _parse_index(document, media_type, limits)
    return _parse_manifest(document, media_type, limits)


def format_manifest(manifest: Manifest) -> bytes:
    """Return the bytes of a manifest; equal manifests give equal bytes."""
    return _format_json(
        {
            "schemaVersion": 2,
            "mediaType": manifest.media_type,
            "config": _describe(manifest.config),
            "layers": [_describe(layer) for layer in manifest.layers],
            **_unless_empty("annotations", manifest.annotations),
        }
    )


def format_index(index: Index) -> bytes:
    """Return the bytes of an index; equal indexes give equal bytes."""
    return _format_json(
        {
            "schemaVersion": 2,
            "mediaType": index.media_type,
            "manifests": [_describe(child) for child in index.manifests],
            **_unless_empty("annotations", index.annotations),
        }
    )


def _parse_json(data: bytes) -> dict[str, Any]:
    try:
        document = json.loads(data.decode(), object_pairs_hook=_unambiguous)
    except (ValueError, RecursionError) as error:
        raise InvalidManifest(f"it is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise InvalidManifest("it is not a JSON object")
    return document


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    if len(set(keys)) < len(keys):
        raise InvalidManifest("it has a key twice in one object")
    # Go folds more than ASCII case: the long s equals s.
    odd = [key for key in keys if _KNOWN_KEYS.get(key.casefold(), key) != key]
    if odd:
        raise InvalidManifest(f"it spells the key {_KNOWN_KEYS[odd[0].casefold()]!r} as {odd[0]!r}")
    return dict(pairs)


def _find_media_type(document: dict[str, Any], served_as: str) -> str:
    served_as = served_as.partition(";")[0].strip().lower()
    own = document.get("mediaType", "")
    if not isinstance(own, str):
        raise InvalidManifest("its mediaType is not text")
    if served_as.startswith(_SCHEMA_1) or own.startswith(_SCHEMA_1) or document.get("schemaVersion") == 1:
        raise InvalidManifest(
            "it has the old schema 1, which current runtimes do not read",
            next="rebuild the package with a current tool and push it again",
        )
    if own and served_as in IMAGE_TYPES | INDEX_TYPES and own != served_as:
        raise InvalidManifest(f"its mediaType is {own}, but it was served as {served_as}")
    media_type = own or served_as
    looks_like_index = "manifests" in document
    if looks_like_index == ("layers" in document or "config" in document):
        raise InvalidManifest("it must have either manifests, or config and layers, and not both")
    if media_type not in IMAGE_TYPES | INDEX_TYPES:
        return OCI_INDEX if looks_like_index else OCI_MANIFEST
    if looks_like_index != (media_type in INDEX_TYPES):
        raise InvalidManifest(f"its content does not match its type, {media_type}")
    return media_type


def _parse_index(document: dict[str, Any], media_type: str, limits: Limits) -> Index:
    entries = _list(document, "manifests")
    if len(entries) > limits.index_entries:
        raise LimitExceeded(
            "an image index is too long", "index_entries", limits, found=f"{len(entries):,} entries"
        )
    return Index(tuple(map(_parse_descriptor, entries)), _annotations(document), media_type)


def _parse_manifest(document: dict[str, Any], media_type: str, limits: Limits) -> Manifest:
    layers = _list(document, "layers")
    if len(layers) > limits.layers:
        raise LimitExceeded("an image has too many layers", "layers", limits, found=f"{len(layers):,}")
    config = _parse_descriptor(document.get("config"))
    return Manifest(config, tuple(map(_parse_descriptor, layers)), _annotations(document), media_type)


def _parse_descriptor(entry: Any) -> Descriptor:
    if not isinstance(entry, dict):
        raise InvalidManifest("a descriptor in it is not an object")
    digest, size, media_type = entry.get("digest"), entry.get("size"), entry.get("mediaType", "")
    if not isinstance(digest, str) or not is_digest(digest):
        raise InvalidManifest(f"a descriptor in it has {digest!r} instead of a sha256 digest")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise InvalidManifest(f"the descriptor of {digest} has {size!r} instead of a size")
    if not isinstance(media_type, str):
        raise InvalidManifest(f"the descriptor of {digest} has a mediaType that is not text")
    return Descriptor(
        media_type, Digest(digest), size, _annotations(entry), _parse_platform(entry.get("platform"))
    )


def _parse_platform(entry: Any) -> Platform | None:
    if entry is None:
        return None
    if not isinstance(entry, dict):
        raise InvalidManifest("a platform in it is not an object")
    parts = [entry.get(key) or "" for key in ("os", "architecture", "variant")]
    if not all(isinstance(part, str) for part in parts):
        raise InvalidManifest("a platform in it is not text")
    return Platform(*parts)


def _annotations(entry: dict[str, Any]) -> dict[str, str]:
    annotations = entry.get("annotations") or {}
    if not isinstance(annotations, dict) or not all(isinstance(text, str) for text in annotations.values()):
        raise InvalidManifest("annotations in it are not all text")
    return annotations


def _list(document: dict[str, Any], key: str) -> list[Any]:
    entries = document.get(key)
    if entries is not None and not isinstance(entries, list):
        raise InvalidManifest(f"its {key} are not a list")
    return entries or []


def _describe(descriptor: Descriptor) -> dict[str, Any]:
    platform = descriptor.platform
    parts = (
        {"architecture": platform.architecture, "os": platform.os, "variant": platform.variant}
        if platform
        else {}
    )
    return {
        "mediaType": descriptor.media_type,
        "digest": descriptor.digest,
        "size": descriptor.size,
        **_unless_empty("platform", {name: text for name, text in parts.items() if text}),
        **_unless_empty("annotations", descriptor.annotations),
    }


def _unless_empty(key: str, value: Mapping[str, str]) -> dict[str, Any]:
    return {key: dict(sorted(value.items()))} if value else {}


def _format_json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()
