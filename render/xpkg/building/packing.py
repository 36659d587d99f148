"""Files → image: the bytes of its layers, configuration and manifest depend on the files alone."""

import io
import json
import tarfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from render.limits import MIB
from render.references import Digest
from render.registry.oci import (
    OCI_CONFIG,
    OCI_LAYER,
    Descriptor,
    Manifest,
    Platform,
    digest_of,
    format_manifest,
)
from render.xpkg.building.runtime_image import RuntimeImage, join_configs
from render.xpkg.image import XPKG_ANNOTATION

# A .xpkg file has no annotations of layers. This label in its configuration stands for one.
LABEL_PREFIX = f"{XPKG_ANNOTATION}:"

_EMPTY_CONFIG = "application/vnd.oci.empty.v1+json"
_NO_TIME = "0001-01-01T00:00:00Z"
# Smaller layers are not compressed: versions of zlib compress differently, and the digest of a small package
# should be the same on every machine.
_STORED_BYTES = 1 * MIB
_STORED_BLOCK = 0xFFFF


@dataclass(frozen=True, slots=True)
class PackedImage:
    """An image in memory: its manifest and its blobs."""

    manifest: Manifest
    config: bytes
    layers: tuple[bytes, ...]

    @property
    def data(self) -> bytes:
        """The manifest as it is pushed."""
        return format_manifest(self.manifest)

    @property
    def digest(self) -> Digest:
        """The digest of the image in a registry."""
        return digest_of(self.data)


def pack_image(
    layers: Sequence[tuple[str, str, bytes]],
    platform: Platform | None,
    runtime: RuntimeImage | None = None,
    labels: Mapping[str, str] = MappingProxyType({}),
) -> PackedImage:
    """Pack one file per layer, each given as annotation, file name and content; on top of an image to run."""
    tars = [pack_tar([(name, data)]) for _, name, data in layers]
    zipped = tuple(compress(tar) for tar in tars)
    marks = {
        f"{LABEL_PREFIX}{digest_of(data)}": mark for (mark, _, _), data in zip(layers, zipped, strict=True)
    }
    below = runtime.layers if runtime else ()
    described_config = _config(platform, {**labels, **marks}, [digest_of(tar) for tar in tars])
    if runtime:
        described_config = join_configs(runtime.config, described_config)
    config = json.dumps(described_config, separators=(",", ":")).encode()
    described = tuple(layer for layer, _ in below) + tuple(
        Descriptor(OCI_LAYER, digest_of(data), len(data), {XPKG_ANNOTATION: mark})
        for (mark, _, _), data in zip(layers, zipped, strict=True)
    )
    return PackedImage(
        Manifest(Descriptor(OCI_CONFIG, digest_of(config), len(config)), described),
        config,
        (*(data for _, data in below), *zipped),
    )


def compress(data: bytes) -> bytes:
    """Return data in gzip's format, without name and time."""
    if len(data) > _STORED_BYTES:
        deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
        body = deflate.compress(data) + deflate.flush()
    else:
        body = b"".join(_stored_blocks(data))
    checks = zlib.crc32(data).to_bytes(4, "little") + (len(data) & 0xFFFFFFFF).to_bytes(4, "little")
    return b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff" + body + checks


def _stored_blocks(data: bytes) -> list[bytes]:
    # RFC 1951, 3.2.4: last-block flag, length, its complement, the bytes themselves.
    starts = range(0, max(len(data), 1), _STORED_BLOCK)
    blocks = [data[start : start + _STORED_BLOCK] for start in starts]
    return [
        bytes([i == len(blocks) - 1])
        + len(block).to_bytes(2, "little")
        + (len(block) ^ 0xFFFF).to_bytes(2, "little")
        + block
        for i, block in enumerate(blocks)
    ]


def pack_tar(files: Sequence[tuple[str, bytes]]) -> bytes:
    """Return a tar archive of files in the given order, without owners and times."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in files:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def pack_extensions(files: Sequence[tuple[str, bytes]]) -> PackedImage:
    """Pack content for other tools as a manifest of its own, which Crossplane does not read."""
    config, layer = b"{}", compress(pack_tar(files))
    described = Descriptor(OCI_LAYER, digest_of(layer), len(layer))
    return PackedImage(
        Manifest(Descriptor(_EMPTY_CONFIG, digest_of(config), 2), (described,)), config, (layer,)
    )


def _config(platform: Platform | None, labels: dict[str, str], diffs: Sequence[Digest]) -> dict[str, Any]:
    return {
        "architecture": platform.architecture if platform else "",
        **({"variant": platform.variant} if platform and platform.variant else {}),
        "created": _NO_TIME,
        "os": platform.os if platform else "",
        "config": {"Labels": dict(sorted(labels.items()))},
        "rootfs": {"type": "layers", "diff_ids": list(diffs)},
        "history": [{"created": _NO_TIME} for _ in diffs],
    }
