"""Images of any shape, hostile ones above all: archives byte by byte, and a shelf that answers like a registry."""

import gzip
import io
import os
import subprocess
import sys
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from render.limits import MIB, Limits
from render.references import Digest, Reference, Source
from render.registry.layout import Layout
from render.registry.oci import (
    OCI_INDEX,
    OCI_LAYER,
    OCI_MANIFEST,
    Content,
    Descriptor,
    Index,
    Manifest,
    NotFound,
    Platform,
    digest_of,
    format_index,
    format_manifest,
)
from rig.registry.in_memory import MiniRegistry

SOURCE = Source("xpkg.example.org", "x/y")
REFERENCE = Reference(SOURCE, "v1")
BASE = {"io.crossplane.xpkg": "base"}
END = bytes(1024)
META = b"""\
apiVersion: meta.pkg.crossplane.io/v1
kind: Configuration
metadata:
  name: platform
"""
CRD = b"""\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: things.example.org
"""

_REPOSITORY_ROOT = Path(__file__).parents[3]
_SECONDS = 60
_ADDRESS_SPACE = 2 << 30
# Its own memory is small, so that what it measures is the command's: a child starts with its parent's peak.
_LAUNCHER = f"""
import resource, subprocess, sys
resource.setrlimit(resource.RLIMIT_AS, ({_ADDRESS_SPACE}, {_ADDRESS_SPACE}))
code = subprocess.run(sys.argv[2:], timeout={_SECONDS}).returncode
with open(sys.argv[1], "w") as file:
    file.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(code if code >= 0 else 100 - code)
"""


def header(
    name: str | bytes,
    size: int = 0,
    kind: bytes = b"0",
    *,
    magic: bytes = b"ustar\x0000",
    prefix: bytes = b"",
    link: bytes = b"",
    size_field: bytes | None = None,
    tail: bytes = b"",
) -> bytes:
    """Return one tar header with a valid checksum, even if the rest is invalid."""
    raw_name = name.encode() if isinstance(name, str) else name
    block = bytearray(512)
    block[: len(raw_name)] = raw_name
    block[100:124] = b"0000644\x000000000\x000000000\x00"
    block[124:136] = size_field or b"%011o\x00" % size
    block[136:156] = b"00000000000\x00        "
    block[156:157] = kind
    block[157 : 157 + len(link)] = link
    block[257:265] = magic
    block[345 : 345 + len(prefix)] = prefix
    block[512 - len(tail) : 512] = tail
    block[148:156] = b"%06o\x00 " % sum(block)
    return bytes(block)


def entry(name: str | bytes, data: bytes = b"", kind: bytes = b"0", *, link: bytes = b"") -> bytes:
    """Return a header and its content, filled up to whole blocks."""
    return header(name, len(data), kind, link=link) + padded(data)


def pax(records: Mapping[str, str | bytes], kind: bytes = b"x", name: str = "PaxHeaders/0") -> bytes:
    """Return an extended header for the next entry, or with kind "g" for all that follow."""
    return entry(name, b"".join(_record(key, value) for key, value in records.items()), kind)


def long_name(name: bytes) -> bytes:
    """Return GNU's way to give the next entry a long name."""
    return entry("././@LongLink", name, b"L")


def padded(data: bytes) -> bytes:
    """Fill up to whole blocks."""
    return data + bytes(-len(data) % 512)


def gzipped(*parts: bytes) -> bytes:
    """Compress an archive."""
    return gzip.compress(b"".join(parts), 1, mtime=0)


def gzipped_zeros(size: int) -> bytes:
    """Return very many zeros as one gzip member; members can be strung together."""
    packer, block = zlib.compressobj(1, wbits=31), bytes(MIB)
    pieces = [packer.compress(block) for _ in range(size // MIB)]
    return b"".join([*pieces, packer.compress(bytes(size % MIB)), packer.flush()])


def package_layer(package_yaml: bytes) -> bytes:
    """Return a layer as builders make it."""
    return gzipped(entry("package.yaml", package_yaml), END)


@dataclass(slots=True)
class Shelf:
    """Images in memory; keeps a record of what was asked."""

    blobs: dict[str, bytes] = field(default_factory=dict)
    contents: dict[Digest, Content] = field(default_factory=dict)
    named: dict[str, Digest] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def tags(self, source: Source) -> Sequence[str]:
        """Return all tags."""
        self.asked.append(f"tags of {source}")
        return list(self.named)

    def content(self, reference: Reference) -> Content:
        """Return a manifest or an index."""
        self.asked.append(reference.digest or reference.tag or "")
        digest = reference.digest or self.named.get(reference.tag or "")
        if digest is None or digest not in self.contents:
            raise NotFound(f"{reference} is not here")
        return self.contents[digest]

    def blob(self, source: Source, descriptor: Descriptor) -> IO[bytes]:  # noqa: ARG002 - blobs are shared
        """Return a blob."""
        self.asked.append(descriptor.digest)
        return io.BytesIO(self.blobs[descriptor.digest])

    def add_blob(self, data: bytes, annotations: Mapping[str, str] | None = None) -> Descriptor:
        """Keep a blob and describe it as a layer."""
        digest = digest_of(data)
        self.blobs[digest] = data
        return Descriptor(OCI_LAYER, digest, len(data), annotations or {})

    def add_image(
        self,
        *layers: bytes,
        marked: Iterable[int] = (),
        tag: str | None = "v1",
        config: bytes = b"{}",
        platform: Platform | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> Descriptor:
        """Keep an image of layers, lowest first; those at the marked places claim to be the package."""
        marks = set(marked)
        described = [self.add_blob(data, BASE if i in marks else None) for i, data in enumerate(layers)]
        data = format_manifest(Manifest(self.add_blob(config), tuple(described)))
        return self._keep(data, OCI_MANIFEST, tag, platform, annotations)

    def add_index(self, *children: Descriptor, tag: str | None = "v1") -> Descriptor:
        """Keep an index of images, or of indexes."""
        return self._keep(format_index(Index(children)), OCI_INDEX, tag, None, None)

    def add_content(self, data: bytes, media_type: str, tag: str = "v1") -> Descriptor:
        """Keep any bytes as a manifest."""
        return self._keep(data, media_type, tag, None, None)

    def write(self, folder: Path) -> Path:
        """Write everything into an OCI layout."""
        layout = Layout(folder, Limits(layer_bytes=1 << 40))
        for data in self.blobs.values():
            layout.add_blob(data)
        tags = {digest: tag for tag, digest in self.named.items()}
        for digest, content in self.contents.items():
            reference = Reference(SOURCE, tags[digest]) if digest in tags else None
            layout.add_image(content.data, content.media_type, reference)
        return folder

    def serve(self, registry: MiniRegistry) -> None:
        """Put everything into a registry."""
        for data in self.blobs.values():
            registry.add_blob(data)
        tags = {digest: tag for tag, digest in self.named.items()}
        for digest, content in self.contents.items():
            registry.add_manifest(SOURCE.repository, tags.get(digest), content.data, content.media_type)

    def _keep(
        self,
        data: bytes,
        media_type: str,
        tag: str | None,
        platform: Platform | None,
        annotations: Mapping[str, str] | None,
    ) -> Descriptor:
        content = Content(data, media_type, digest_of(data))
        self.contents[content.digest] = content
        if tag is not None:
            self.named[tag] = content.digest
        return Descriptor(media_type, content.digest, len(data), annotations or {}, platform)


def shelf_of(package_yaml: bytes) -> Shelf:
    """Return a shelf with one proper package image around any package.yaml."""
    shelf = Shelf()
    shelf.add_image(package_layer(package_yaml), marked=[0])
    return shelf


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str
    megabytes: int


def run_command(*arguments: str, folder: Path, environ: Mapping[str, str] | None = None) -> Ran:
    """Run xplock in an empty folder, as a process of its own whose memory is measured."""
    empty = folder / "empty"
    empty.mkdir()
    measured = folder / "measured"
    command = [sys.executable, "-m", "render", *arguments]
    done = subprocess.run(
        [sys.executable, "-c", _LAUNCHER, str(measured), *command],
        cwd=empty,
        env={**os.environ, "PYTHONPATH": str(_REPOSITORY_ROOT), "NO_COLOR": "1", **(environ or {})},
        capture_output=True,
        text=True,
        timeout=2 * _SECONDS,
    )
    assert not list(empty.iterdir()), "the command wrote files"
    return Ran(done.returncode, done.stdout, done.stderr, int(measured.read_text()) // 1024)


def inspect(shelf: Shelf, folder: Path, *arguments: str) -> Ran:
    """Run `xplock package inspect` on the image of a shelf, as a layout on disk."""
    layout = shelf.write(folder / "layout")
    return run_command(
        "package", "inspect", str(REFERENCE), "--layout", str(layout), *arguments, folder=folder
    )


def _record(key: str, value: str | bytes) -> bytes:
    body = b" " + key.encode() + b"=" + (value.encode() if isinstance(value, str) else value) + b"\n"
    length = len(body)
    while len(str(length)) + len(body) != length:
        length = len(str(length)) + len(body)
    return str(length).encode() + body
