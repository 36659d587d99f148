"""An OCI layout as the destination: blobs first, the index last and in one step."""

import fcntl
import hashlib
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from render.errors import RenderError
from render.references import Digest, Reference, Source, is_digest
from render.registry.copying.attached import fallback_tag, is_index, parse_referrers
from render.registry.copying.model import Reader, Way
from render.registry.layout import BLOBS, INDEX_FILE, MARKER, Layout, describe_image
from render.registry.oci import Content, Descriptor, NotFound
from render.system.faults import raise_fault
from render.system.files import is_there

# A blob that is not complete yet.
_PART = ".part"


class LayoutNotWritten(RenderError):
    """A layout or an archive that cannot be written."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path} cannot be written", why=why, next="check the folder, or use another one")


@contextmanager
def writing_to(path: Path) -> Iterator[None]:
    """Raise an error of ours for one while a layout is written."""
    try:
        yield
    except OSError as error:
        raise_fault(error, f"{path} cannot be written")
        raise LayoutNotWritten(path, (error.strerror or str(error)).lower()) from None


@contextmanager
def no_part_left(part: Path) -> Iterator[None]:
    """Remove a file that could not be completed: on a full disk, it would take the space that is left."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


@dataclass(slots=True)
class FolderDestination:
    """Writes to a layout. Nothing is found in it by its name before `finish`, so that a killed run names nothing."""

    layout: Layout
    # The images that this run has found or put under a name.
    named: dict[Reference, Content] = field(default_factory=dict)
    # Blobs whose bytes turned out to be wrong.
    damaged: set[Digest] = field(default_factory=set)
    _changed: bool = False
    _locks: dict[Digest, threading.Lock] = field(default_factory=dict)

    @property
    def place(self) -> Path:
        """The path that an error names."""
        return self.layout.folder

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Keep other runs away while this one writes."""
        blobs = self.layout.folder / BLOBS
        with writing_to(self.place):
            self._check_is_layout()
            blobs.mkdir(parents=True, exist_ok=True)
            handle = os.open(blobs, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._remove_parts(blobs)
            yield
        except BlockingIOError:
            raise LayoutNotWritten(self.place, "another run writes to it") from None
        finally:
            os.close(handle)

    def _check_is_layout(self) -> None:
        """Raise for a folder with other files, such as a project: a layout does not mix with them."""
        folder = self.layout.folder
        if not folder.is_dir() or is_there(folder / MARKER):
            return
        other = sorted(path.name for path in folder.iterdir() if path.name not in ("blobs", INDEX_FILE))
        if any(
            not name.startswith(f".{INDEX_FILE}.") and not name.startswith(f".{MARKER}.") for name in other
        ):
            raise LayoutNotWritten(self.place, "it is no OCI layout, and has other files")

    def _remove_parts(self, blobs: Path) -> None:
        """Remove what a killed run has left; only one run at a time has the lock."""
        with writing_to(self.place):
            for part in blobs.glob(f".*{_PART}"):
                part.unlink()
            # This run may find nothing to change, and then would not touch the index.
            self.layout.remove_leftovers()

    def find(self, source: Source, name: str) -> Digest | None:
        """Return the digest that the layout has under a tag or a digest."""
        content = self.content(source, name)
        return content.digest if content else None

    def content(self, source: Source, name: str) -> Content | None:
        """Return the manifest or index under a tag or a digest, if there is one."""
        if is_digest(name):
            return self._by_digest(Reference(source, digest=Digest(name)))
        reference = Reference(source, name)
        if reference not in self.named and (content := self._by_name(reference)):
            self.named[reference] = content
        return self.named.get(reference)

    def referrers(self, source: Source, digest: Digest) -> Sequence[Digest]:
        """Return the digests in the list of referrers under the tag for it."""
        content = self.content(source, fallback_tag(digest))
        if content is None or content.digest == digest or not is_index(content.data):
            return ()
        return parse_referrers(source, digest, content.data)

    def has_blob(self, source: Source, descriptor: Descriptor, *, deep: bool) -> bool:  # noqa: ARG002 - shared
        """Return whether the layout has a blob: by its size, or with `deep` by its bytes."""
        return self.is_good(self.layout, descriptor, deep=deep)

    def put_blob(self, source: Source, descriptor: Descriptor, read: Reader) -> Way:
        """Put a blob into the layout, unless it is there; two threads never copy the same one."""
        with self._locks.setdefault(descriptor.digest, threading.Lock()):
            if self.has_blob(source, descriptor, deep=False):
                return Way.THERE
            with read() as chunks:
                self._write(descriptor.digest, chunks)
            self.damaged.discard(descriptor.digest)
            return Way.COPIED

    def _write(self, digest: Digest, chunks: Iterable[bytes]) -> None:
        path = self.layout.folder / BLOBS / digest.removeprefix("sha256:")
        part = path.with_name(f".{path.name}{_PART}")
        with writing_to(self.place), no_part_left(part), part.open("wb") as file:
            file.writelines(chunks)
            file.flush()
            os.fsync(file.fileno())
            part.replace(path)

    def put_manifest(self, source: Source, content: Content, tag: str | None) -> bool:
        """Put a manifest into the layout; it is named by `finish`. A layout lists no referrers by itself."""
        entry = Descriptor(content.media_type, content.digest, len(content.data))
        with self._locks.setdefault(content.digest, threading.Lock()):
            if not self.is_good(self.layout, entry, deep=True):
                self._write(content.digest, [content.data])
                self.damaged.discard(content.digest)
        if tag:
            self.named[Reference(source, tag)] = content
        self._changed = True
        return False

    def finish(self) -> None:
        """Name all images, in one step."""
        if self._changed:
            entries = [describe_image(content, reference) for reference, content in self.named.items()]
            with writing_to(self.place):
                self.layout.name_images(entries)

    def _by_name(self, reference: Reference) -> Content | None:
        if not is_there(self.layout.folder / MARKER):
            return None
        with suppress(NotFound):
            return self.layout.content(reference)
        return None

    def _by_digest(self, reference: Reference) -> Content | None:
        return stored_content(self.layout, reference)

    def is_good(self, layout: Layout, descriptor: Descriptor, *, deep: bool) -> bool:
        """Return whether a layout has the bytes of a blob."""
        if descriptor.digest in self.damaged or layout.blob_size(descriptor.digest) != descriptor.size:
            return False
        if not deep:
            return True
        with layout.open_blob(descriptor.digest) as file:
            found = f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
        if found != descriptor.digest:
            self.damaged.add(descriptor.digest)
        return found == descriptor.digest


def stored_content(layout: Layout, reference: Reference) -> Content | None:
    """Return a manifest or index by its digest, if a layout has it; it may have no index yet."""
    if reference.digest is None or layout.blob_size(reference.digest) is None:
        return None
    return layout.content(reference)
