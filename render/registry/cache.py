"""The cache: blobs and facts on disk by digest, shared by many processes, and checked on every read."""

import errno
import hashlib
import os
import re
import secrets
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple

from render.limits import Limits
from render.references import Digest, is_digest
from render.texts import visible

# The number changes with the way facts are extracted; old facts are then unused and removed with time.
_FACTS = "facts/1"

_KIND = re.compile(r"[a-z0-9-]{1,32}")
_ENTRY = re.compile(rf"[0-9a-f]{{64}}(?:\.{_KIND.pattern})?")
_TEMPORARY = re.compile(r"tmp-[0-9a-f]{16}")
_STALE_SECONDS = 3_600
_BLOCK = 1 << 20
# The cache is trimmed after this share of its limit was added.
_SHARE = 8

_FOLDER = os.O_RDONLY | os.O_DIRECTORY
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


def open_cache(environ: Mapping[str, str], limits: Limits, warn: Callable[[str], None]) -> "Cache":
    """Return the cache in the folder of the environment, or a cache that stays empty if there is none."""
    chosen = environ.get("XPLOCK_CACHE_DIR")
    if chosen is not None:
        return Cache(Path(chosen) if chosen else None, limits, warn)
    # XDG base directories: a relative path counts as none.
    for name, below in (("XDG_CACHE_HOME", "xplock"), ("HOME", ".cache/xplock")):
        if Path(environ.get(name, "")).is_absolute():
            return Cache(Path(environ[name], below), limits, warn)
    warn("nothing is cached: none of XPLOCK_CACHE_DIR, XDG_CACHE_HOME and HOME names a folder")
    return Cache(None, limits, warn)


class Cache:
    """Earlier downloads and results. Any problem with the cache costs time only, and is never an error."""

    def __init__(self, folder: Path | None, limits: Limits, warn: Callable[[str], None]) -> None:
        self._root = folder.absolute() if folder else None
        self._limits = limits
        self._warn = warn
        self._lock = threading.Lock()
        self._warned = False
        self._writable = folder is not None
        self._added = 0

    def get_blob(self, digest: Digest, size: int | None = None) -> BinaryIO | None:
        """Return an open file with exactly the bytes of a digest, positioned at their start."""
        path = _blob_path(digest)
        with self._tolerate_errors(), ExitStack() as unless_returned:
            file = self._open(path)
            if file is None:
                return None
            unless_returned.callback(file.close)
            if hashlib.file_digest(file, "sha256").hexdigest() != path.name:
                self._drop(path)
                return None
            # The bytes match their digest, so another expected size is an error that the registry must report.
            if size is not None and file.tell() != size:
                return None
            _touch(file)
            file.seek(0)
            unless_returned.pop_all()
            return file
        return None

    def add_blob(self, digest: Digest, file: IO[bytes]) -> None:
        """Store a whole file; its position is at the start afterwards."""
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        self._write(_blob_path(digest), _checked(file, digest), size)
        file.seek(0)

    def get_facts(self, digest: Digest, kind: str) -> bytes | None:
        """Return stored facts about a digest."""
        path = _facts_path(digest, kind)
        with self._tolerate_errors():
            file = self._open(path)
            if file is None:
                return None
            with file:
                checksum, _, data = file.read().partition(b"\n")
                if checksum == _checksum(path, data):
                    _touch(file)
                    return data
            self._drop(path)
        return None

    def put_facts(self, digest: Digest, kind: str, data: bytes) -> None:
        """Store facts about a digest."""
        path = _facts_path(digest, kind)
        self._write(path, (_checksum(path, data), b"\n", data), len(data))

    def trim(self) -> None:
        """Remove the least recently used files above the limit, and temporary files of killed runs."""
        with self._lock:
            self._added = 0
        with self._tolerate_errors():
            found = [*self._scan(Path("blobs")), *self._scan(Path("facts"))]
            self._drop_stale(found)
            self._drop_excess(sorted(file for file in found if _ENTRY.fullmatch(file.path.name)))

    def _drop_stale(self, found: "list[_CachedFile]") -> None:
        oldest = time.time_ns() - _STALE_SECONDS * 1_000_000_000
        for file in found:
            if file.used < oldest and _TEMPORARY.fullmatch(file.path.name):
                self._drop(file.path)

    def _drop_excess(self, entries: "list[_CachedFile]") -> None:
        excess = sum(entry.size for entry in entries) - self._limits.cache_bytes
        for entry in entries:
            if excess <= 0:
                return
            self._drop(entry.path)
            excess -= entry.size

    def _scan(self, folder: Path) -> "Iterator[_CachedFile]":
        with suppress(FileNotFoundError), self._folder(folder) as opened, os.scandir(opened) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield from self._scan(folder / entry.name)
                    continue
                with suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    yield _CachedFile(status.st_mtime_ns, folder / entry.name, status.st_size)

    def _open(self, path: Path) -> BufferedReader | None:
        with self._folder(path.parent) as folder:
            try:
                file = os.open(path.name, _READ, dir_fd=folder)
            except OSError as error:
                if error.errno != errno.ELOOP:
                    raise
                # We never write links, so this is not ours.
                os.unlink(path.name, dir_fd=folder)
                return None
        if stat.S_ISREG(os.fstat(file).st_mode):
            return os.fdopen(file, "rb")
        os.close(file)
        return None

    def _write(self, path: Path, blocks: Iterable[bytes], size: int) -> None:
        if not self._writable or size > self._limits.cache_bytes:
            return
        with self._tolerate_errors(writing=True), self._folder(path.parent, create=True) as folder:
            temporary = f"tmp-{secrets.token_hex(8)}"
            try:
                # No fsync: a file that a power cut damaged fails its check and is dropped.
                _write_file(folder, temporary, blocks)
                os.rename(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
                raise
        self._count(size)

    def _count(self, size: int) -> None:
        with self._lock:
            self._added += size
            enough = self._added > self._limits.cache_bytes // _SHARE
        if enough:
            self.trim()

    def _drop(self, path: Path) -> None:
        # Another process may have removed it, or the cache may be read-only: the entry is not used either way.
        with suppress(OSError), self._folder(path.parent) as folder:
            os.unlink(path.name, dir_fd=folder)

    @contextmanager
    def _folder(self, path: Path, *, create: bool = False) -> Iterator[int]:
        """Open a folder step by step, so that no link inside the cache is followed."""
        if self._root is None:
            raise FileNotFoundError
        if create:
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        with ExitStack() as opened:
            folder = os.open(self._root, _FOLDER)
            opened.callback(os.close, folder)
            for part in path.parts:
                folder = _step_into(folder, part, create=create)
                opened.callback(os.close, folder)
                _check_owner(folder)
            yield folder

    @contextmanager
    def _tolerate_errors(self, *, writing: bool = False) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if writing:
                self._writable = False
            if writing or not isinstance(error, FileNotFoundError):
                self._warn_once(error.strerror or "it cannot be used")

    def _warn_once(self, reason: str) -> None:
        with self._lock:
            first, self._warned = not self._warned, True
        if first:
            warning = f"the cache in {self._root} cannot be used, continuing without it: {reason}"
            self._warn(visible(f"{warning}; XPLOCK_CACHE_DIR names another folder, or is empty for none"))


class _CachedFile(NamedTuple):
    """A file in the cache; the least recently used one sorts first."""

    # Not the time of the last access, which many systems do not keep.
    used: int
    path: Path
    size: int


def _blob_path(digest: Digest) -> Path:
    return Path("blobs", *_parts(digest))


def _facts_path(digest: Digest, kind: str) -> Path:
    if not _KIND.fullmatch(kind):
        raise ValueError(f"{kind!r} is not a kind of facts")
    path = Path(_FACTS, *_parts(digest))
    return path.with_name(f"{path.name}.{kind}")


def _parts(digest: Digest) -> tuple[str, str, str]:
    if not is_digest(digest):
        raise ValueError(f"{digest!r} is not a digest")
    algorithm, _, name = digest.partition(":")
    return algorithm, name[:2], name


def _step_into(folder: int, name: str, *, create: bool) -> int:
    if create:
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=folder)
    return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)


def _check_owner(folder: int) -> None:
    # Blobs are checked against their digest, but facts only against a checksum that any user could write.
    status = os.fstat(folder)
    if status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise PermissionError(errno.EPERM, "a folder in it belongs to others, or others may write to it")


def _write_file(folder: int, name: str, blocks: Iterable[bytes]) -> None:
    with os.fdopen(os.open(name, _CREATE, 0o600, dir_fd=folder), "wb") as file:
        file.writelines(blocks)


def _checked(file: IO[bytes], digest: Digest) -> Iterator[bytes]:
    """Yield the blocks of a file, and raise at its end if they do not match the digest."""
    hashed = hashlib.sha256()
    while block := file.read(_BLOCK):
        hashed.update(block)
        yield block
    if f"sha256:{hashed.hexdigest()}" != digest:
        raise ValueError(f"the bytes to keep are not those of {digest}")


def _checksum(path: Path, data: bytes) -> bytes:
    # The path is part of it, so that facts about one digest are not accepted for another.
    return hashlib.sha256(path.as_posix().encode() + b"\n" + data).hexdigest().encode()


def _touch(file: BinaryIO) -> None:
    with suppress(OSError):
        os.utime(file.fileno())
