"""A folder of a server's branch → files on disk, without the rest of the repository where that is possible.

The temporary repository has the commits and trees of the branch and no blobs (`--filter=blob:none`), so a monorepo
costs little. The blobs of the wanted folder are fetched explicitly; git itself fetches nothing when it reads.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from render.git.objects import put_into_index
from render.git.remotes import Remote, fetch_objects
from render.git.repository import Repository, filters_off
from render.git.revisions import FileEntries, find_missing, list_tree, read_sizes
from render.limits import LimitExceeded, Limits
from render.system.boundary import real_path
from render.system.scratch import scratch_folder, writing

_FILES = "git's files"
_LINK, _SUBMODULE = "120000", "160000"
# Only files with these names can refer to a path outside of their folder.
_REFERRING = (".yaml", ".yml", ".json", "kustomization", "Kustomization")
_ABOVE = b".."


@contextmanager
def checked_out(
    repository: Repository, remote: Remote, commit: str, folder: str, what: str
) -> Iterator[Path]:
    """Write a folder of a commit below a temporary root, or all of the commit if the folder refers outside."""
    files = {path: entry for path, entry in list_tree(repository, commit).items() if entry.mode != _SUBMODULE}
    own = {path: entry for path, entry in files.items() if path.startswith(folder)}
    with scratch_folder(_FILES) as scratch:
        root = scratch / "tree"
        with writing(_FILES):
            root.mkdir()
        written = _write(repository, remote, commit, own, scratch, what)
        if len(own) < len(files) and _refers_outside(root, written):
            _write(repository, remote, commit, files, scratch, what)
        yield real_path(root)


def _write(
    repository: Repository,
    remote: Remote,
    commit: str,
    files: FileEntries,
    scratch: Path,
    what: str,
) -> FileEntries:
    """Write files below the scratch folder; return those that are not too large to be an input."""
    missing = find_missing(repository, commit) & {entry.blob for entry in files.values()}
    if missing:
        fetch_objects(repository, remote, sorted(missing))
    sizes = read_sizes(repository, {entry.blob for entry in files.values()})
    most = largest_input(repository.limits)
    written = {path: entry for path, entry in files.items() if sizes[entry.blob] <= most}
    if sum(sizes[entry.blob] for entry in written.values()) > repository.limits.branch_bytes:
        raise LimitExceeded(f"{what} is too large", "branch_bytes", repository.limits)
    _check_out(repository, written, scratch)
    for path in files.keys() - written.keys():
        write_hole(scratch / "tree" / path, sizes[files[path].blob])
    return written


def _check_out(repository: Repository, files: FileEntries, scratch: Path) -> None:
    """Write files from an index of their own; no hook and no filter is run."""
    options, nothing = filters_off(repository)
    environment = {
        "GIT_DIR": str(repository.root),
        "GIT_WORK_TREE": str(scratch / "tree"),
        "GIT_INDEX_FILE": str(scratch / "index"),
        **nothing,
    }
    repository.run("read-tree", "--empty", environment=environment)
    put_into_index(repository, files, environment=environment)
    command = ("checkout-index", "--all", "--force", "--quiet")
    repository.run(*command, options=options, environment=environment)


def largest_input(limits: Limits) -> int:
    """Return the size that no file which is read may exceed."""
    return max(limits.file_bytes, limits.lock_bytes, limits.layer_bytes, limits.kustomize_bytes)


def write_hole(path: Path, size: int) -> None:
    """Write a sparse file: readers refuse it by its size, as they would refuse the real one, and it takes no space."""
    with writing(_FILES):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.truncate(size)


def _refers_outside(root: Path, files: FileEntries) -> bool:
    """Return whether a link or a path in a YAML file may leave the folder; a false alarm costs time only."""
    if any(entry.mode == _LINK for entry in files.values()):
        return True
    return any(_ABOVE in (root / path).read_bytes() for path in files if path.endswith(_REFERRING))
