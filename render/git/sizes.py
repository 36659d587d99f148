"""How much a commit holds, without writing any of it: every tree is read once, however often it is in there."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from render.git.repository import Repository
from render.limits import LimitExceeded

_FOLDER = b"40000"


class _Entry(NamedTuple):
    """A file or a folder in a tree."""

    mode: bytes
    id: str


def require_small(repository: Repository, commit: str, what: str) -> None:
    """Refuse a commit with more files, or more in them, than anybody may have us write."""
    limits = repository.limits
    listed = repository.run("rev-list", "--objects", "--no-object-names", f"{commit}^{{tree}}", "--")
    # Each at least once, and the tree itself.
    if listed.count(b"\n") > limits.branch_files + 1:
        raise LimitExceeded(f"{what} has too many files", "branch_files", limits)
    facts = [line.split() for line in repository.run("cat-file", "--batch-check", data=listed).splitlines()]
    sizes = {name.decode(): int(size) for name, kind, size in facts if kind == b"blob"}
    trees = _read_trees(repository, [name for name, kind, _ in facts if kind == b"tree"])
    files, data = 0, 0
    # All trees that are equally deep at once. A few small ones within each other can stand for billions of files.
    level = Counter(name.decode() for name, _, _ in facts[:1])
    while level:
        below: Counter[str] = Counter()
        for tree, times in level.items():
            for entry in trees[tree]:
                files += times
                data += times * sizes.get(entry.id, 0)
                if entry.mode == _FOLDER:
                    below[entry.id] += times
        if files > limits.branch_files:
            raise LimitExceeded(f"{what} has too many files", "branch_files", limits)
        if data > limits.branch_bytes:
            raise LimitExceeded(f"{what} is too large", "branch_bytes", limits)
        level = below


def _read_trees(repository: Repository, names: list[bytes]) -> dict[str, list[_Entry]]:
    output = repository.run("cat-file", "--batch", data=b"".join(name + b"\n" for name in names))
    trees: dict[str, list[_Entry]] = {}
    start = 0
    while start < len(output):
        end = output.index(b"\n", start)
        name, _, size = output[start:end].split()
        start = end + 1 + int(size)
        trees[name.decode()] = list(_parse_tree(output[end + 1 : start], len(name) // 2))
        start += 1
    return trees


def _parse_tree(data: bytes, id_bytes: int) -> Iterator[_Entry]:
    """Yield what a tree holds: a mode, a name that ends with a zero, and an id, one after the other."""
    start = 0
    while start < len(data):
        end = data.index(b"\0", start) + 1
        mode = data[start : data.index(b" ", start)]
        start = end + id_bytes
        yield _Entry(mode, data[end:start].hex())
