"""OCI image layouts: folders that are read like a registry, and that packages are built into."""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from io import BufferedReader
from pathlib import Path
from typing import IO

from render.errors import InvalidInput, RenderError, UnusableContent
from render.limits import LimitExceeded, Limits
from render.nearest import nearest_sources, nearest_tags
from render.references import Digest, Reference, Source, is_tag, parse_reference, parse_source
from render.registry.oci import (
    OCI_INDEX,
    Content,
    Descriptor,
    Index,
    InvalidManifest,
    MissingBlob,
    NotFound,
    digest_of,
    format_index,
    parse_content,
)
from render.system.faults import raise_fault
from render.system.files import InvalidFile, is_there, make_folder, open_plain, replace_file

NAME = "org.opencontainers.image.ref.name"
INDEX_FILE = "index.json"
MARKER = "oci-layout"
MARKER_TEXT = b'{"imageLayoutVersion":"1.0.0"}\n'
BLOBS = Path("blobs/sha256")
_SHOWN = 5
_REPLACE = "build or copy the layout again"


class TamperedLayout(UnusableContent):
    """A blob in a layout whose bytes do not match its name."""

    def __init__(self, folder: Path, digest: Digest, found: int, size: int | None) -> None:
        said = "" if size is None else f" of {size:,} bytes"
        super().__init__(
            f"the blob {digest} in {folder} has other bytes",
            why=f"the file of that name has {found:,} bytes, and its content does not match{said}",
            next=_REPLACE,
        )


class InvalidLayout(InvalidInput):
    """A folder that is not an OCI image layout."""


@dataclass(frozen=True, slots=True)
class Layout:
    """One OCI layout. Its images are named by full references, or by bare tags of one `source`."""

    folder: Path
    limits: Limits
    source: Source | None = None
    # The parsed index by the file's state, so that a large index is parsed once.
    _read: dict[tuple[int, int, int], list[tuple[Reference | None, Descriptor]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @classmethod
    def for_prefix(cls, folder: Path, limits: Limits, prefix: str) -> "Layout":
        """Return a layout that stands in for a prefix; images named by bare tags belong to the prefix itself."""
        try:
            return cls(folder, limits, parse_source(prefix))
        except RenderError:
            return cls(folder, limits)

    @staticmethod
    def folders_in(folder: Path) -> tuple[Path, ...]:
        """Return the folders that files of a layout are read from; links to files are refused anyway."""
        return folder, folder / BLOBS

    def tags(self, source: Source) -> tuple[str, ...]:
        """Return all tags of a source, sorted."""
        references = (reference for reference, _ in self.images())
        tags = sorted({r.tag for r in references if r is not None and r.source == source and r.tag})
        if not tags:
            raise self._missing(source)
        return tuple(tags)

    def content(self, reference: Reference) -> Content:
        """Return the manifest or index of a reference; with tag and digest, the digest decides."""
        if reference.digest is not None:
            if not self._has(reference.digest):
                raise self._missing(reference.source, reference)
            data = self._read_blob(reference.digest, "manifest_bytes")
            return Content(data, "", reference.digest)
        for named, descriptor in self.images():
            if named == reference:
                return self.content_of(descriptor)
        raise self._missing(reference.source, reference)

    def content_of(self, descriptor: Descriptor) -> Content:
        """Return the manifest or index of an entry of this layout's index."""
        data = self._read_blob(descriptor.digest, "manifest_bytes", descriptor.size)
        return Content(data, descriptor.media_type, descriptor.digest)

    def blob(self, source: Source, descriptor: Descriptor) -> IO[bytes]:  # noqa: ARG002 - blobs are shared
        """Return a blob as an open file; exactly the bytes of the descriptor, or an error."""
        return self._open(descriptor.digest, "layer_bytes", descriptor.size)

    def images(self) -> list[tuple[Reference | None, Descriptor]]:
        """Return every image in the layout with the reference it is known by, if any."""
        try:
            state = self._state()
        except OSError:
            return [(self._reference(entry), entry) for entry in self._index().manifests]
        known = self._read.get(state)
        if known is None:
            known = [(self._reference(entry), entry) for entry in self._index().manifests]
            self._read.clear()
            self._read[state] = known
        return known

    def open_blob(self, digest: Digest) -> BufferedReader:
        """Open a blob as it is, without a look at its bytes."""
        return self._open_file(BLOBS / digest.removeprefix("sha256:"))[0]

    def blob_size(self, digest: Digest) -> int | None:
        """Return the size of a blob's file, if there is one."""
        try:
            file, size = self._open_file(BLOBS / digest.removeprefix("sha256:"))
        except InvalidFile:
            return None
        file.close()
        return size

    def add_blob(self, data: bytes) -> Digest:
        """Put a blob into the layout."""
        digest = digest_of(data)
        path = self._path(digest)
        # A damaged file of that name is replaced.
        if not path.is_file() or path.read_bytes() != data:
            make_folder(path.parent)
            replace_file(path, data)
        return digest

    def add_image(self, data: bytes, media_type: str, reference: Reference | None) -> Descriptor:
        """Put a manifest or index into the layout under a name, which is taken away from other images."""
        self.add_blob(data)
        entry = describe_image(Content(data, media_type, digest_of(data)), reference)
        self.name_images([entry])
        return entry

    def name_images(self, entries: Sequence[Descriptor]) -> None:
        """Put images that the layout has into its index, all in one step; their names are taken away from others."""
        with self._locked():
            self._remove_leftovers()
            found = [] if not self._exists() else list(self._index().manifests)
            for entry in entries:
                found = [old for old in found if not _replaces(entry, old)]
            replace_file(self.folder / INDEX_FILE, format_images([*found, *entries]))
            replace_file(self.folder / MARKER, MARKER_TEXT)

    def remove_leftovers(self) -> None:
        """Remove what a killed process has left of the index."""
        with self._locked():
            self._remove_leftovers()

    def _remove_leftovers(self) -> None:
        # Only a process that has the lock writes these two files.
        for name in (INDEX_FILE, MARKER):
            for leftover in self.folder.glob(f".{name}.*"):
                leftover.unlink()

    def _exists(self) -> bool:
        return (self.folder / MARKER).exists()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        make_folder(self.folder)
        handle = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _index(self) -> Index:
        try:
            with self._open_file(Path(INDEX_FILE))[0] as file:
                data = file.read(self.limits.manifest_bytes + 1)
            with self._open_file(Path(MARKER))[0] as file:
                version = json.loads(file.read(1024))["imageLayoutVersion"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError, InvalidFile) as error:
            if isinstance(error, OSError):
                raise_fault(error, f"{self.folder} cannot be read")
            raise InvalidLayout(
                f"{self.folder} is not an OCI image layout",
                why=f"such a folder has the files {MARKER} and index.json",
                next="build one: xplock package build DIR --to FOLDER",
            ) from None
        if version != "1.0.0":
            raise InvalidLayout(
                f"{self.folder} is an OCI image layout of version {version!r}",
                why="version 1.0.0 is supported",
                next="copy it with a current tool, for example skopeo",
            )
        if len(data) > self.limits.manifest_bytes:
            raise LimitExceeded(f"{self.folder}/index.json is too large", "manifest_bytes", self.limits)
        limits = replace(self.limits, index_entries=self.limits.tags)
        name = f"{self.folder}/{INDEX_FILE}"
        try:
            index = parse_content(Content(data, OCI_INDEX, digest_of(data)), limits)
        except InvalidManifest as error:
            raise InvalidLayout(f"{name} cannot be used", why=error.why, next=_REPLACE) from None
        if not isinstance(index, Index):
            raise InvalidLayout(f"{name} is not an index", next=_REPLACE)
        return index

    def _reference(self, entry: Descriptor) -> Reference | None:
        name = entry.annotations.get(NAME, "")
        if is_tag(name):
            return Reference(self.source, name) if self.source else None
        try:
            return parse_reference(name)
        except RenderError:
            return None

    def _read_blob(self, digest: Digest, limit: str, size: int | None = None) -> bytes:
        with self._open(digest, limit, size) as file:
            return file.read()

    def _open(self, digest: Digest, limit: str, size: int | None) -> IO[bytes]:
        try:
            file, found = self._open_file(BLOBS / digest.removeprefix("sha256:"))
        except InvalidFile as error:
            raise MissingBlob(
                f"{self.folder} has no blob {digest}", why=error.why, next="build the layout again"
            ) from None
        if found > getattr(self.limits, limit):
            file.close()
            raise LimitExceeded(
                f"{digest} in {self.folder} is too large", limit, self.limits, found=f"{found:,} bytes"
            )
        hashed = hashlib.file_digest(file, "sha256").hexdigest()
        if f"sha256:{hashed}" != digest or size not in (None, found):
            file.close()
            raise TamperedLayout(self.folder, digest, found, size)
        file.seek(0)
        return file

    def _open_file(self, name: Path) -> tuple[BufferedReader, int]:
        """Open a file of the layout, and return its size; an archive of a layout has its own way."""
        file = open_plain(self.folder / name)
        return file, os.fstat(file.fileno()).st_size

    def _state(self) -> tuple[int, int, int]:
        """Return what changes when another index is put in place."""
        found = (self.folder / INDEX_FILE).stat()
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _has(self, digest: Digest) -> bool:
        return is_there(self._path(digest))

    def _path(self, digest: Digest) -> Path:
        return self.folder / BLOBS / digest.removeprefix("sha256:")

    def _missing(self, source: Source, reference: Reference | None = None) -> NotFound:
        """Return the error for a source or a reference that is not here, with what is here and was probably meant."""
        references = [one for one, _ in self.images() if one]
        sources = sorted({one.source for one in references})
        near = nearest_sources(source, sources)
        shown = sorted(str(one) for one in references if not near or one.source in near)
        if reference and reference.tag and source in sources:
            tags = nearest_tags(reference.tag, [r.tag for r in references if r.source == source and r.tag])
            near, shown = [], [f"{source}:{tag}" for tag in tags]
        error = NotFound(
            f"{self.folder} has no {reference or source}",
            why=f"it contains {', '.join(shown[:_SHOWN]) or 'nothing'}",
            next=[f"did you mean {one}?" for one in near]
            or "check the spelling, or add the package to the layout",
        )
        error.known = sources
        return error


def describe_image(content: Content, reference: Reference | None) -> Descriptor:
    """Return the entry of an image in the index of a layout."""
    annotations = {NAME: str(reference)} if reference else {}
    return Descriptor(content.media_type, content.digest, len(content.data), annotations)


def format_images(entries: Iterable[Descriptor]) -> bytes:
    """Return the text of a layout's index."""
    ordered = sorted(entries, key=lambda item: (item.annotations.get(NAME, ""), item.digest))
    return format_index(Index(tuple(ordered))) + b"\n"


def _replaces(entry: Descriptor, old: Descriptor) -> bool:
    """Return whether a new entry replaces an old one: by its name, or as the same image without a name."""
    name = entry.annotations.get(NAME)
    return old.annotations.get(NAME) == name and (name is not None or old.digest == entry.digest)
