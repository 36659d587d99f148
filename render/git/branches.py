"""Branches: where they are, and moved only if they still are there."""

from pathlib import Path

from render.errors import InvalidInput
from render.git.failures import GitFailed, RepositoryLocked
from render.git.objects import GONE, Entries, Entry, empty_tree, put_into_index
from render.git.repository import Place, Repository, filters_off
from render.git.revisions import find_files, resolve_commit

_HEADS = "refs/heads/"
_REFLOG = "xplock: commit the lock"
# What git leaves in its folder while one of these is not finished.
_UNFINISHED = {"MERGE_HEAD": "merge", "CHERRY_PICK_HEAD": "cherry-pick", "REVERT_HEAD": "revert"}
# Of a rebase, the branch that it moves in the end; until then no branch is checked out.
_REBASED = ("rebase-merge/head-name", "rebase-apply/head-name")


class DetachedHead(InvalidInput):
    """A work tree that is on no branch."""

    def __init__(self, root: Path) -> None:
        super().__init__(
            f"{root} is on no branch", why="its HEAD is detached", next="name a branch: --branch NAME"
        )


class Unfinished(InvalidInput):
    """A work tree in the middle of something that ends with a commit of its own."""

    def __init__(self, root: Path, what: str) -> None:
        super().__init__(
            f"{root} is in the middle of a {what}",
            why="the lock answers what is there when it is finished",
            next=f"finish the {what}, then commit the lock; or name another branch: --branch NAME",
        )


class CheckedOutElsewhere(InvalidInput):
    """A branch that another work tree of the repository is on."""

    def __init__(self, branch: str, root: str) -> None:
        super().__init__(
            f"branch {branch} is not committed to from here",
            why=f"{root} is on it, and would look as if somebody had changed it",
            next="run it there, or name another branch",
        )


def current_branch(repository: Repository) -> str | None:
    """Return the branch that the work tree is on, also before its first commit."""
    answer = repository.ask("symbolic-ref", "--quiet", "HEAD")
    name = answer.output.decode(errors="replace").strip()
    return name.removeprefix(_HEADS) if name.startswith(_HEADS) else None


def require_branch(place: Place) -> str:
    """Return the branch that the work tree is on, if it can be committed to."""
    root = place.repository.root
    for name, what in _UNFINISHED.items():
        if (place.git_folder / name).exists():
            raise Unfinished(root, what)
    branch = current_branch(place.repository)
    if branch is None:
        raise DetachedHead(root)
    return branch


def refuse_rebased(place: Place, branch: str) -> None:
    """Refuse a branch that a rebase in this work tree is going to move, which could not end if we had moved it."""
    names = [place.git_folder / name for name in _REBASED]
    if _HEADS + branch in [name.read_text(errors="replace").strip() for name in names if name.is_file()]:
        raise Unfinished(place.repository.root, "rebase")


def refuse_elsewhere(repository: Repository, branch: str) -> None:
    """Refuse a branch that another work tree is on."""
    root = ""
    for line in repository.run("worktree", "list", "--porcelain").decode(errors="replace").splitlines():
        key, _, value = line.partition(" ")
        root = value if key == "worktree" else root
        if (key, value) == ("branch", _HEADS + branch) and Path(root).resolve() != repository.root.resolve():
            raise CheckedOutElsewhere(branch, root)


def find_branch(repository: Repository, branch: str) -> str | None:
    """Return the commit that a branch is at, if it exists."""
    return resolve_commit(repository, _HEADS + branch)


def move_branch(repository: Repository, branch: str, new: str, old: str | None) -> bool:
    """Move a branch from one commit to another, and tell whether it still was at the first."""
    # Zeros stand for a branch that must not exist.
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
    """Refuse to begin while somebody else writes the index, or has left its lock behind."""
    locked = git_folder / "index.lock"
    if locked.exists():
        raise RepositoryLocked(repository.where, str(locked))


def put_into_users_index(repository: Repository, old: str | None, entries: Entries) -> Entries:
    """Put files into the user's index, but for those that the user had staged; return what was put there."""
    staged = _staged(repository, old, list(entries))
    untouched = {path: entry for path, entry in entries.items() if path not in staged}
    _put(repository, untouched)
    return untouched


def restore_users_index(repository: Repository, branch: str, entries: Entries) -> None:
    """Put back what a branch has of files, which may be more than it had: somebody else may have moved it."""
    tip = find_branch(repository, branch)
    known = find_files(repository, tip, list(entries)) if tip and entries else {}
    missing = {path: Entry(GONE, "0" * len(entry.blob)) for path, entry in entries.items()}
    _put(repository, missing | {path: Entry(file.mode, file.blob) for path, file in known.items()})


def _put(repository: Repository, entries: Entries) -> None:
    if entries:
        # Git looks again at files that were changed while an index was written.
        options, environment = filters_off(repository)
        put_into_index(repository, entries, options=options, environment=environment)


def _staged(repository: Repository, old: str | None, paths: list[str]) -> set[str]:
    # What is only to be added some day (git add --intent-to-add) is not staged yet.
    options = ("--cached", "--ita-invisible-in-index", "-z", "--name-only", "--no-renames")
    output = repository.run("diff-index", *options, old or empty_tree(repository), "--", *paths)
    return {path.decode(errors="surrogateescape") for path in output.split(b"\0")[:-1]}
