"""Files of the user's work tree: their bytes, and the attributes that git applies to them."""

import os
from collections.abc import Sequence
from pathlib import Path

from render.git.repository import Repository
from render.system.files import InvalidFile, read_plain

_NO_FILTER = frozenset({b"unspecified", b"unset"})


def read_file_or_link(path: Path, most: int) -> bytes | None:
    """Return the bytes of a file, or the target of a link; None if there is neither, or if it is too large."""
    if path.is_symlink():
        return os.fsencode(path.readlink())
    try:
        return read_plain(path, most) if path.is_file() else None
    except InvalidFile:
        return None


def find_ignored(repository: Repository, paths: Sequence[str]) -> set[str]:
    """Return those of the paths that git ignores; a file that is tracked is not ignored."""
    if not paths:
        return set()
    command = ("ls-files", "--others", "--ignored", "--exclude-standard", "-z", "--", *paths)
    output = repository.run(*command)
    return {os.fsdecode(path) for path in output.split(b"\0")[:-1]}


def find_filtered(repository: Repository, paths: Sequence[str]) -> set[str]:
    """Return those of the paths that a program changes when git stores them, for example to encrypt them."""
    if not paths:
        return set()
    data = b"".join(os.fsencode(path) + b"\0" for path in paths)
    fields = repository.run("check-attr", "-z", "--stdin", "filter", data=data).split(b"\0")[:-1]
    triples = zip(fields[::3], fields[2::3], strict=True)
    return {os.fsdecode(path) for path, value in triples if value not in _NO_FILTER}
