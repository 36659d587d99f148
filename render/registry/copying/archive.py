"""An archive of an OCI layout: read in place, and written so that one closure always gives the same bytes."""

import os
import shutil
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import BufferedReader, BytesIO, RawIOBase
from pathlib import Path
from typing import IO, Any

from render.errors import InvalidInput
from render.limits import LimitExceeded, Limits
from render.references import Digest, Reference, Source
from render.registry.copying.folder import (
    FolderDestination,
    LayoutNotWritten,
    no_part_left,
    stored_content,
    writing_to,
)
from render.registry.layout import (
    BLOBS,
    INDEX_FILE,
    MARKER,
    MARKER_TEXT,
    Layout,
    describe_image,
    format_images,
)
from render.registry.oci import Content, Descriptor, Manifest, NotFound, parse_content
from render.system.files import InvalidFile, is_there, open_plain

_FOLDERS = ("blobs", "blobs/sha256")


class InvalidArchive(InvalidInput):
    """A file that is no archive of an OCI layout."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"{path} is not an archive of an OCI layout", why=why, next="write it again, or copy it again"
        )


@dataclass(frozen=True, slots=True)
class ArchivedLayout(Layout):
    """A layout in a tar file, which is never unpacked: its files are read where they are."""

    members: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path, limits: Limits) -> "ArchivedLayout":
        """Find the files in an archive."""
        return cls(file, limits, members=_read_members(file, limits))

    def _open_file(self, name: Path) -> tuple[BufferedReader, int]:
        found = self.members.get(name.as_posix())
        if found is None:
            raise InvalidFile(f"{self.folder} has no file {name}", why="no such file", next="write it again")
        start, size = found
        return BufferedReader(_Section(open_plain(self.folder), start, size)), size

    def _state(self) -> tuple[int, int, int]:
        return 0, 0, 0

    def _has(self, digest: Digest) -> bool:
        return (BLOBS / digest.removeprefix("sha256:")).as_posix() in self.members


class _Section(RawIOBase):
    """A part of a file, as a file of its own."""

    def __init__(self, file: BufferedReader, start: int, size: int) -> None:
        self._file, self._start, self._size = file, start, size
        self._position = 0

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def seekable(self) -> bool:
        """Return that it can be read again."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a position."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = base + offset
        return self._position

    def readinto(self, buffer: Any, /) -> int:
        """Read the next bytes."""
        view = memoryview(buffer).cast("B")[: max(self._size - self._position, 0)]
        self._file.seek(self._start + self._position)
        count = self._file.readinto(view)
        self._position += count
        return count

    def close(self) -> None:
        """Close the whole file."""
        self._file.close()
        super().close()


def _read_members(path: Path, limits: Limits) -> dict[str, tuple[int, int]]:
    members: dict[str, tuple[int, int]] = {}
    try:
        with open_plain(path) as file, tarfile.open(fileobj=file, mode="r:") as archive:
            for count, member in enumerate(archive, start=1):
                if count > limits.archive_members:
                    raise LimitExceeded(f"{path} has too many files", "archive_members", limits)
                # tarfile keeps every header that it has read.
                archive.members = []  # type: ignore[attr-defined]
                if member.isreg() and not member.issparse():
                    members.setdefault(member.name.removeprefix("./"), (member.offset_data, member.size))
        size = path.stat().st_size
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise InvalidArchive(path, f"it is not a tar file: {error}") from None
    if any(start + length > size for start, length in members.values()):
        raise InvalidArchive(path, "it ends in the middle of a file")
    return members


@dataclass(slots=True)
class ArchiveDestination(FolderDestination):
    """Writes an archive. What is new is kept in a folder beside it until the archive is put in place as a whole."""

    file: Path = Path()
    # The archive that is replaced, from which everything is taken that it has.
    older: Layout | None = None

    @classmethod
    def beside(cls, file: Path, limits: Limits) -> "ArchiveDestination":
        """Return the destination for a file."""
        older = ArchivedLayout.read(file, limits) if is_there(file) else None
        # Of a run that is killed the folder is left, and the next run goes on with it.
        parts = Layout(file.with_name(f".{file.name}.parts"), limits)
        return cls(parts, file=file, older=older)

    @property
    def place(self) -> Path:
        """The path that an error names."""
        return self.file

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Keep other runs away while this one writes, and remove the parts afterwards."""
        # Without arguments, super() does not know a dataclass with slots.
        with FolderDestination.opened(self):
            yield
        shutil.rmtree(self.layout.folder, ignore_errors=True)

    def has_blob(self, source: Source, descriptor: Descriptor, *, deep: bool) -> bool:  # noqa: ARG002 - shared
        """Return whether the archive, or what is kept for it, has a blob."""
        layouts = [self.layout, *([self.older] if self.older else [])]
        return any(self.is_good(layout, descriptor, deep=deep) for layout in layouts)

    def finish(self) -> None:
        """Write the archive with exactly these images, if it differs from the one that is there."""
        entries = [describe_image(content, reference) for reference, content in self.named.items()]
        index = format_images(entries)
        if not self._changed and self.older and self._index_of(self.older) == index:
            return
        digests = self._reachable()
        part = self.file.with_name(f".{self.file.name}.part")
        with writing_to(self.place), no_part_left(part):
            with part.open("wb") as file:
                with tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as archive:
                    self._fill(archive, sorted(digests), index)
                file.flush()
                os.fsync(file.fileno())
            part.replace(self.file)

    def _fill(self, archive: tarfile.TarFile, digests: Iterable[Digest], index: bytes) -> None:
        for name in _FOLDERS:
            archive.addfile(_member(name, 0, tarfile.DIRTYPE))
        for digest in digests:
            size = self.layout.blob_size(digest)
            layout = self.layout if size is not None or self.older is None else self.older
            with layout.open_blob(digest) as blob:
                name = (BLOBS / digest.removeprefix("sha256:")).as_posix()
                archive.addfile(_member(name, layout.blob_size(digest) or 0), blob)
        for name, data in ((INDEX_FILE, index), (MARKER, MARKER_TEXT)):
            archive.addfile(_member(name, len(data)), BytesIO(data))

    def _reachable(self) -> set[Digest]:
        """Return the digests of all that the named images are made of."""
        found: set[Digest] = set()
        waiting = list(self.named.values())
        while waiting:
            content = waiting.pop()
            found.add(content.digest)
            parsed = parse_content(content, self.layout.limits)
            if isinstance(parsed, Manifest):
                found |= {parsed.config.digest, *(layer.digest for layer in parsed.layers)}
                continue
            children = {child.digest for child in parsed.manifests} - found
            waiting += [self._require(digest) for digest in sorted(children)]
        return found

    def _require(self, digest: Digest) -> Content:
        content = self._by_digest(Reference(Source("file:", self.file.name), digest=digest))
        if content is None:
            raise LayoutNotWritten(self.file, f"{digest} is missing, which an index in it names")
        return content

    def _by_name(self, reference: Reference) -> Content | None:
        with suppress(NotFound):
            return self.older.content(reference) if self.older else None
        return None

    def _by_digest(self, reference: Reference) -> Content | None:
        found = stored_content(self.layout, reference)
        return found or (stored_content(self.older, reference) if self.older else None)

    @staticmethod
    def _index_of(layout: Layout) -> bytes:
        file: IO[bytes]
        file, _ = layout._open_file(Path(INDEX_FILE))
        with file:
            return file.read()


def _member(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> tarfile.TarInfo:
    # A new TarInfo has no owner, and the time 0.
    member = tarfile.TarInfo(name)
    member.size, member.type = size, kind
    member.mode = 0o755 if kind == tarfile.DIRTYPE else 0o644
    return member
