"""Branches: finding their commits, moving them by compare-and-swap, and the user's index beside them."""

import os
from pathlib import Path

from render.errors import InvalidInput
from render.git.failures import GitFailed, RepositoryLocked
from render.git.objects import REMOVED, empty_tree, put_into_index
from render.git.repository import FolderInRepository, Repository, filters_off
from render.git.revisions import FileEntries, FileEntry, find_files, resolve_commit

_HEADS = "refs/heads/"
_REFLOG = "xplock: commit the lock"
# Files in the `.git` folder while one of these operations is unfinished.
_UNFINISHED = {"MERGE_HEAD": "merge", "CHERRY_PICK_HEAD": "cherry-pick", "REVERT_HEAD": "revert"}
# Files with the branch that a rebase moves at its end; until then HEAD is detached.
_REBASED = ("rebase-merge/head-name", "rebase-apply/head-name")


class DetachedHead(InvalidInput):
    """A work tree without a current branch."""

    def __init__(self, root: Path) -> None:
        super().__init__(
            f"{root} is on no branch", why="its HEAD is detached", next="name a branch: --branch NAME"
        )


class UnfinishedOperation(InvalidInput):
    """A work tree with a merge, cherry-pick, revert or rebase in progress."""

    def __init__(self, root: Path, what: str) -> None:
        super().__init__(
            f"{root} is in the middle of a {what}",
            why="its result may change the inputs of the lock",
            next=f"finish the {what}, then commit the lock; or name another branch: --branch NAME",
        )


class CheckedOutElsewhere(InvalidInput):
    """A branch that is checked out in another work tree of the repository."""

    def __init__(self, branch: str, root: str) -> None:
        super().__init__(
            f"branch {branch} is not committed to from here",
            why=f"it is checked out in {root}, whose files would then look changed",
            next="run it there, or name another branch",
        )


def current_branch(repository: Repository) -> str | None:
    """Return the current branch, also before its first commit."""
    answer = repository.ask("symbolic-ref", "--quiet", "HEAD")
    name = answer.output.decode(errors="replace").strip()
    return name.removeprefix(_HEADS) if name.startswith(_HEADS) else None


def require_branch(place: FolderInRepository) -> str:
    """Return the current branch; raise if it cannot be committed to now."""
    root = place.repository.root
    for name, what in _UNFINISHED.items():
        if (place.git_folder / name).exists():
            raise UnfinishedOperation(root, what)
    branch = current_branch(place.repository)
    if branch is None:
        raise DetachedHead(root)
    return branch


def refuse_rebased(place: FolderInRepository, branch: str) -> None:
    """Raise if a rebase in any work tree is going to move the branch; it would fail if we moved it."""
    output = place.repository.run("rev-parse", "--path-format=absolute", "--git-common-dir")
    common = Path(os.fsdecode(output.removesuffix(b"\n")))
    for folder in (place.git_folder, common, *sorted(common.glob("worktrees/*"))):
        names = [folder / name for name in _REBASED]
        if _HEADS + branch in [name.read_text(errors="replace").strip() for name in names if name.is_file()]:
            raise UnfinishedOperation(_work_tree(folder), "rebase")


def _work_tree(git_folder: Path) -> Path:
    """Return the work tree of a `.git` folder; that of a linked work tree has a file with its path."""
    try:
        return Path((git_folder / "gitdir").read_text().strip()).parent
    except OSError:
        return git_folder.parent


def refuse_checked_out_elsewhere(repository: Repository, branch: str) -> None:
    """Raise if the branch is checked out in another work tree."""
    root = ""
    for line in repository.run("worktree", "list", "--porcelain").decode(errors="replace").splitlines():
        key, _, value = line.partition(" ")
        root = value if key == "worktree" else root
        if (key, value) == ("branch", _HEADS + branch) and Path(root).resolve() != repository.root.resolve():
            raise CheckedOutElsewhere(branch, root)


def find_branch(repository: Repository, branch: str) -> str | None:
    """Return the commit of a branch, or None if it does not exist."""
    return resolve_commit(repository, _HEADS + branch)


def move_branch(repository: Repository, branch: str, new: str, old: str | None) -> bool:
    """Move a branch if it is still at `old`, and return whether it was."""
    # Zeros mean that the branch must not exist.
    expected = old or "0" * len(new)
    command = ("update-ref", "-m", _REFLOG, "--end-of-options", _HEADS + branch, new, expected)
    try:
        repository.run(*command)
    except GitFailed:
        if find_branch(repository, branch) == old:
            raise
        return False
    return True


def require_index(repository: Repository, git_folder: Path) -> None:
    """Raise if the user's index is locked by another git process."""
    locked = git_folder / "index.lock"
    if locked.exists():
        raise RepositoryLocked(repository.where, str(locked))


def put_into_users_index(repository: Repository, old: str | None, entries: FileEntries) -> FileEntries:
    """Put entries into the user's index, except for files that the user staged, and return the entries put."""
    staged = _staged(repository, old, list(entries))
    untouched = {path: entry for path, entry in entries.items() if path not in staged}
    _put(repository, untouched)
    return untouched


def restore_users_index(repository: Repository, branch: str, entries: FileEntries) -> None:
    """Reset files in the user's index to the branch's current commit."""
    tip = find_branch(repository, branch)
    known = find_files(repository, tip, list(entries)) if tip and entries else {}
    missing = {path: FileEntry(REMOVED, "0" * len(entry.blob)) for path, entry in entries.items()}
    _put(repository, missing | known)


def _put(repository: Repository, entries: FileEntries) -> None:
    if entries:
        # Git rereads files that changed while an index was written, and would run their filters.
        options, environment = filters_off(repository)
        put_into_index(repository, entries, options=options, environment=environment)


def _staged(repository: Repository, old: str | None, paths: list[str]) -> set[str]:
    # A file of `git add --intent-to-add` is not staged yet.
    options = ("--cached", "--ita-invisible-in-index", "-z", "--name-only", "--no-renames")
    output = repository.run("diff-index", *options, old or empty_tree(repository), "--", *paths)
    return {path.decode(errors="surrogateescape") for path in output.split(b"\0")[:-1]}
