"""A folder beside a commit: which of its files are not in there as they are. No filter of the repository is run."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from render.files import InvalidFile, read_plain
from render.git.repository import Repository
from render.git.revisions import FileEntry, find_files

_SHA256_DIGITS = 64


def find_uncommitted(repository: Repository, commit: str, prefix: str, names: Iterable[str]) -> list[str]:
    """Return which files of a folder a commit does not have as they are here, sorted; links are not looked at."""
    there = find_files(repository, commit, [prefix] if prefix else [])
    folder = repository.root / prefix
    most = repository.limits.file_bytes
    return sorted(name for name in names if not _is_same(folder / name, there.get(prefix + name), most))


def _is_same(path: Path, entry: FileEntry | None, most: int) -> bool:
    try:
        data = read_plain(path, most)
    except InvalidFile:
        return True
    if entry is None or data is None:
        return False
    # Git may have changed the line ends when it wrote the file.
    texts = (data, data.replace(b"\r\n", b"\n"))
    return entry.blob in [_blob_id(text, len(entry.blob)) for text in texts]


def _blob_id(data: bytes, digits: int) -> str:
    """Return the id that git gives to bytes."""
    whole = b"blob %d\0" % len(data) + data
    made = hashlib.sha256(whole) if digits == _SHA256_DIGITS else hashlib.sha1(whole, usedforsecurity=False)
    return made.hexdigest()
