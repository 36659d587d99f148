"""Files → a commit: blobs, a tree from an index of our own, and a commit object."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from render.errors import InvalidInput
from render.git.names import Author, parse_author
from render.git.repository import Repository, filters_off
from render.git.revisions import FileEntries, FileEntry, find_files
from render.git.signing import signing_options
from render.system.scratch import scratch_folder

_PLAIN = "100644"
# The mode that removes a file from an index.
REMOVED = "0"
# Our own index shares nothing with the user's.
_OWN_INDEX = ("-c", "core.splitIndex=false", "-c", "core.untrackedCache=false", "-c", "index.sparse=false")
# Without a configured user, git would make up a name from the machine's.
_NAMED = ("-c", "user.useConfigOnly=true")
_UTF8 = ("-c", "i18n.commitEncoding=UTF-8")


class NoIdentity(InvalidInput):
    """Git has no user name and address to commit with."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"git has no author for commits to {where}",
            why="its configuration has no user.name and user.email",
            next='set them with `git config`, or add: --author "Robin <robin@example.org>"',
        )


def require_identity(repository: Repository) -> None:
    """Raise if git has no user name and address to commit with."""
    for who in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
        if repository.ask("var", who, options=_NAMED, expected=(0, 128)).status != 0:
            raise NoIdentity(repository.where)


def read_committer(repository: Repository) -> Author:
    """Return the user name and address that git commits with."""
    output = repository.run("var", "GIT_COMMITTER_IDENT", options=_NAMED).decode(errors="replace")
    # Behind them are the time and its zone.
    return parse_author(output.rpartition(">")[0] + ">")


def write_blob(repository: Repository, data: bytes, path: str = "") -> str:
    """Store bytes and return their blob; for a path, git converts line ends. No filter of the repository is run."""
    if not path:
        return _id(repository.run("hash-object", "-w", "--stdin", data=data))
    options, environment = filters_off(repository)
    command = ("hash-object", "-w", "--stdin", f"--path={path}")
    return _id(repository.run(*command, data=data, options=options, environment=environment))


def make_index_entries(
    repository: Repository, parent: str | None, blobs: Mapping[str, str | None]
) -> FileEntries:
    """Return index entries for new contents of files; None removes one, and an executable file stays executable."""
    kept = find_files(repository, parent, list(blobs)) if parent else {}
    nothing = "0" * len(next((blob for blob in blobs.values() if blob), ""))
    return {
        path: FileEntry(kept[path].mode if path in kept else _PLAIN, blob)
        if blob
        else FileEntry(REMOVED, nothing)
        for path, blob in blobs.items()
    }


def write_tree(repository: Repository, parent: str | None, entries: FileEntries) -> str:
    """Store the parent's tree with some entries replaced, and return it."""
    with _own_index() as environment:
        start = ("--end-of-options", parent) if parent else ("--empty",)
        repository.run("read-tree", *start, options=_OWN_INDEX, environment=environment)
        removed = {path: entry for path, entry in entries.items() if entry.mode == REMOVED}
        if removed:
            put_into_index(repository, removed, options=_OWN_INDEX, environment=environment)
        # Unlike a list on stdin, this refuses to replace a folder by a file, or a file by a folder.
        files = [
            f"{entry.mode},{entry.blob},{path}"
            for path, entry in sorted(entries.items())
            if path not in removed
        ]
        command = ("update-index", "--add", *[word for file in files for word in ("--cacheinfo", file)])
        repository.run(*command, options=_OWN_INDEX, environment=environment)
        # All but our own blobs come from the parent's tree. A partial clone may lack some of them.
        return _id(repository.run("write-tree", "--missing-ok", options=_OWN_INDEX, environment=environment))


def put_into_index(
    repository: Repository,
    entries: FileEntries,
    *,
    options: tuple[str, ...] = (),
    environment: Mapping[str, str] | None = None,
) -> None:
    """Put entries into an index without looking at the work tree."""
    lines = [f"{entry.mode} {entry.blob} 0\t{path}\0" for path, entry in sorted(entries.items())]
    command = ("update-index", "--add", "-z", "--index-info")
    repository.run(*command, data=os.fsencode("".join(lines)), options=options, environment=environment)


def write_commit(
    repository: Repository,
    tree: str,
    parent: str | None,
    message: str,
    *,
    author: Author | None = None,
    sign: bool = False,
) -> str:
    """Store a commit and return it; no branch is moved."""
    command = ["commit-tree", *(["-S"] if sign else []), *(["-p", parent] if parent else []), "-F", "-", tree]
    options = (*_NAMED, *_UTF8, *(signing_options(repository) if sign else ()))
    return _id(
        repository.run(*command, data=message.encode(), options=options, environment=_identity(author))
    )


def tree_of(repository: Repository, commit: str) -> str:
    """Return the tree of a commit."""
    return _id(repository.run("rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}"))


def parents_of(repository: Repository, commit: str) -> list[str]:
    """Return the parents of a commit."""
    return repository.run("rev-list", "--parents", "--max-count=1", commit).decode().split()[1:]


def empty_tree(repository: Repository) -> str:
    """Return the empty tree in the repository's hash format."""
    return _id(repository.run("hash-object", "-t", "tree", "--stdin", data=b""))


def changed_paths(repository: Repository, old: str | None, new: str) -> set[str]:
    """Return the paths that differ between two commits; None stands for the time before the first one."""
    before = old or empty_tree(repository)
    output = repository.run(
        "diff-tree", "-r", "-z", "--name-only", "--no-renames", "--end-of-options", before, new
    )
    return {os.fsdecode(path) for path in output.split(b"\0")[:-1]}


def count_commits(repository: Repository, old: str, new: str) -> int:
    """Return the number of commits from one to another; 0 if a shallow clone cannot tell."""
    command = ("rev-list", "--count", "--end-of-options", f"{old}..{new}")
    answer = repository.ask(*command, expected=(0, 128))
    return int(answer.output) if answer.status == 0 else 0


def _identity(author: Author | None) -> dict[str, str]:
    if author is None:
        return {}
    named = {f"GIT_{role}_NAME": author.name for role in ("AUTHOR", "COMMITTER")}
    return named | {f"GIT_{role}_EMAIL": author.mail for role in ("AUTHOR", "COMMITTER")}


@contextmanager
def _own_index() -> Iterator[dict[str, str]]:
    with scratch_folder("git's files") as folder:
        yield {"GIT_INDEX_FILE": str(folder / "index")}


def _id(output: bytes) -> str:
    return output.decode().strip()
