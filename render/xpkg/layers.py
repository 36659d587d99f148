"""Layer → tar entries, in one bounded pass; nothing is written to disk under a name from the archive."""

import importlib
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any

from render.errors import UnusableContent
from render.limits import MIB, LimitExceeded, Limits
from render.xpkg.package_errors import UnsupportedCompression

_CHUNK = 256 << 10
_BLOCK = 512
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
# The most that Go's reader accepts for a name or an extended header.
_SPECIAL_BYTES = 1 * MIB
# The longest path on Linux. Every name is kept in memory while layers are flattened.
_LONGEST_NAME = 4_096
_HEADER_ONLY = frozenset(b"123456")
_SPECIAL = frozenset({b"x", b"L", b"K"})
_RECORD = re.compile(rb"([0-9]{1,7}) ([^=\n]+)=")


class InvalidLayer(UnusableContent):
    """A layer that cannot be unpacked."""

    def __init__(self, why: str) -> None:
        super().__init__(
            "one of its layers cannot be unpacked",
            why=why,
            next="ask the package's maintainers to build it again",
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """A member of a tar archive."""

    name: str
    size: int
    regular: bool
    directory: bool = False
    # The target of a symbolic or hard link.
    link: str = ""


@dataclass(slots=True)
class _Extended:
    """Fields of the next entry that special entries before it set."""

    records: dict[str, bytes] = field(default_factory=dict)
    name: bytes = b""
    link: bytes = b""


def unpack(file: IO[bytes], limits: Limits) -> Iterator[bytes]:
    """Decompress a layer; its first bytes decide how, not its media type."""
    total = 0
    for chunk in _decompress(file):
        total += len(chunk)
        if total > limits.unpacked_bytes:
            raise LimitExceeded("one of its layers is too large when unpacked", "unpacked_bytes", limits)
        yield chunk


def read_entries(chunks: Iterator[bytes], limits: Limits) -> "Iterator[tuple[Entry, Stream]]":
    """Yield each entry of a tar archive with the stream of its content, which is valid until the next entry.

    Names and sizes are those that Go's archive/tar reads. Where another reader may read others, the layer is refused.
    """
    stream, seen = Stream(chunks), 0
    extended = _Extended()
    while header := _next_header(stream):
        seen += 1
        if seen > limits.tar_members:
            raise LimitExceeded("one of its layers has too many files", "tar_members", limits)
        kind = header[156:157]
        if kind in _SPECIAL:
            _extend(extended, kind, _read_special(stream, header))
            continue
        yield from _global(stream, header) if kind == b"g" else _entry(stream, header, extended)
        extended = _Extended()


class Stream:
    """Reads chunks in pieces of any size; `left` bytes of the open entry follow, `position` bytes were read."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._buffer = b""
        self._at = 0
        self.left = 0
        self.position = 0

    def read(self, size: int) -> bytes:
        """Return exactly so many bytes, or fewer at the end."""
        while len(self._buffer) - self._at < size and (chunk := next(self._chunks, None)) is not None:
            self._buffer, self._at = self._buffer[self._at :] + chunk, 0
        return self._take(size)

    def content(self) -> Iterator[bytes]:
        """Yield the rest of the open entry, in chunks of any size."""
        while self.left:
            if self._at == len(self._buffer):
                chunk = next(self._chunks, None)
                if chunk is None:
                    raise InvalidLayer("it ends in the middle of a file")
                self._buffer, self._at = chunk, 0
            data = self._take(self.left)
            self.left -= len(data)
            yield data

    def _take(self, size: int) -> bytes:
        data = self._buffer[self._at : self._at + size]
        self._at += len(data)
        self.position += len(data)
        return data


def _decompress(file: IO[bytes]) -> Iterator[bytes]:
    magic = file.read(4)
    file.seek(0)
    if magic.startswith(_GZIP):
        return _gunzip(file)
    if magic == _ZSTD:
        return _unzstd(file)
    return iter(lambda: file.read(_CHUNK), b"")


def _gunzip(file: IO[bytes]) -> Iterator[bytes]:
    member = zlib.decompressobj(31)
    started = False
    while data := file.read(_CHUNK):
        while data:
            if member.eof:
                # Another member may follow; other bytes are not part of the archive.
                if not data.startswith(_GZIP[: len(data)]):
                    return
                member = zlib.decompressobj(31)
            try:
                chunk = member.decompress(data, _CHUNK)
            except zlib.error as error:
                raise InvalidLayer(f"its compression is damaged: {error}") from None
            started = True
            data = member.unused_data if member.eof else member.unconsumed_tail
            if chunk:
                yield chunk
    if started and not member.eof:
        raise InvalidLayer("its compressed data ends too early")


def _unzstd(file: IO[bytes]) -> Iterator[bytes]:
    zstd = _zstd_module()
    try:
        with zstd.ZstdFile(file) as unpacked:
            while chunk := unpacked.read(_CHUNK):
                yield chunk
    except (zstd.ZstdError, EOFError) as error:
        raise InvalidLayer(f"its compression is damaged: {error}") from None


def _zstd_module() -> Any:
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise UnsupportedCompression(
        "one of its layers is compressed with zstd",
        why="Python decompresses that without an extra from 3.14 on",
        next="install the extra: pip install 'xplock[zstd]'",
    )


def _next_header(stream: Stream) -> bytes | None:
    header = stream.read(_BLOCK)
    if not any(header):
        if any(stream.read(_BLOCK)):
            # Python's reader stops here, Go's fails, others read on.
            raise InvalidLayer("it has more data after its end")
        return None
    if len(header) < _BLOCK:
        raise InvalidLayer("it ends in the middle of a header")
    # The checksum is computed with blanks in its own place; some old tools summed signed bytes.
    blanked = header[:148] + b" " * 8 + header[156:]
    high = sum(byte > 127 for byte in blanked)
    if _number(header[148:156]) not in (sum(blanked), sum(blanked) - 256 * high):
        raise InvalidLayer("a header in it has a wrong checksum")
    return header


def _read_special(stream: Stream, header: bytes) -> bytes:
    size = _number(header[124:136])
    if size > _SPECIAL_BYTES:
        raise InvalidLayer("it has an extended header of more than 1 MiB")
    data = stream.read(size)
    if len(data) < size:
        raise InvalidLayer("it ends in the middle of an extended header")
    stream.read(-size % _BLOCK)
    return data


def _extend(extended: _Extended, kind: bytes, data: bytes) -> None:
    # The last of several headers of one kind replaces the others.
    if kind == b"x":
        extended.records = _parse_records(data)
    elif kind == b"L":
        extended.name = _until_nul(data)
    else:
        extended.link = _until_nul(data)


def _parse_records(data: bytes) -> dict[str, bytes]:
    records: dict[str, bytes] = {}
    at = 0
    while at < len(data):
        match = _RECORD.match(data, at)
        end = at + int(match[1]) if match else 0
        if match is None or not match.end() <= end - 1 < len(data) or data[end - 1 : end] != b"\n":
            raise InvalidLayer("an extended header in it is malformed")
        key, value = match[2].decode(errors="replace"), data[match.end() : end - 1]
        if b"\0" in value and key in ("path", "linkpath"):
            raise InvalidLayer("a name in it contains a zero byte")
        records[key] = value
        at = end
    return records


def _global(stream: Stream, header: bytes) -> "Iterator[tuple[Entry, Stream]]":
    # Go treats a global header as an entry of its own: it can have any name, and does not change the next entry.
    records = _parse_records(_read_special(stream, header))
    stream.left = 0
    yield Entry(_decoded(records.get("path") or _header_name(header)), 0, regular=False), stream


def _entry(stream: Stream, header: bytes, extended: _Extended) -> "Iterator[tuple[Entry, Stream]]":
    kind, records = header[156:157], extended.records
    if kind == b"S" or any(key.startswith("GNU.sparse.") for key in records):
        raise InvalidLayer("it has a sparse file, which readers read in different ways")
    size = _decimal(records["size"]) if records.get("size") else _number(header[124:136])
    name = _decoded(extended.name or records.get("path") or _header_name(header))
    link = extended.link or records.get("linkpath") or _until_nul(header[157:257])
    # Old archives mark a directory by its name; such an entry has no content, whatever its size field says.
    directory = kind == b"5" or (kind == b"\0" and name.endswith("/"))
    stream.left = 0 if directory or kind[0] in _HEADER_ONLY else size
    padding = -stream.left % _BLOCK
    yield (
        Entry(
            name,
            stream.left,
            regular=kind in (b"0", b"\0") and not directory,
            directory=directory,
            link=_decoded(link) if kind in (b"1", b"2") else "",
        ),
        stream,
    )
    for _ in stream.content():
        pass
    stream.read(padding)


def _header_name(header: bytes) -> bytes:
    name = _until_nul(header[:100])
    if header[257:265] == b"ustar  \0":
        _check_times(header)
    if header[257:263] != b"ustar\0":
        return name
    # The format of star has times after a shorter prefix.
    prefix = _until_nul(header[345:476] if header[508:512] == b"tar\0" else header[345:500])
    return prefix + b"/" + name if prefix else name


def _check_times(header: bytes) -> None:
    # Where GNU has times, Go reads a text that is not a number as a prefix of the name; we refuse it.
    for time in (header[345:357], header[357:369]):
        if time[0]:
            _number(time)


def _until_nul(data: bytes) -> bytes:
    return data.partition(b"\0")[0]


def _decoded(name: bytes) -> str:
    if len(name) > _LONGEST_NAME:
        raise InvalidLayer(f"a name in it is longer than {_LONGEST_NAME:,} bytes")
    return name.decode(errors="surrogateescape")


def _number(field: bytes) -> int:
    if field[:1] and field[0] & 0x80:
        value = int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
        if field[0] & 0x40 or value >= 1 << 63:
            raise InvalidLayer("a header in it has a number out of range")
        return value
    return _decimal(field.strip(b" \0"), base=8) if field.strip(b" \0") else 0


def _decimal(text: bytes, base: int = 10) -> int:
    try:
        if len(text) > 20 or not text.isdigit():
            raise ValueError
        return int(text, base)
    except ValueError:
        raise InvalidLayer("a header in it has a malformed number") from None
