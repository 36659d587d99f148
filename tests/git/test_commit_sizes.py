"""The size of a commit is checked before any of its files is written."""

from pathlib import Path

import pytest
from rig.git.repositories import git, git_in_between, new_repository, save

from render.git.repository import Repository
from render.git.revisions import require_small
from render.limits import LimitExceeded, Limits


def measured(root: Path, commit: str = "HEAD", **limits: int) -> None:
    """Look at a commit within some limits."""
    require_small(Repository(root, Limits(**limits)), git(root, "rev-parse", commit), "it")


@pytest.fixture(params=["sha1", "sha256"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A repository with four files of 13 bytes in two folders: one of them twice, one a link, and a submodule."""
    inner = new_repository(tmp_path / "inner", f"--object-format={request.param}")
    git(inner, "commit", "--quiet", "--allow-empty", "--message", "begin")
    root = new_repository(tmp_path / "repository", f"--object-format={request.param}")
    for folder in ("one", "two words"):
        (root / folder).mkdir()
        (root / folder / "file").write_text("12345")
    (root / "link").symlink_to("one")
    git(root, "submodule", "--quiet", "add", f"file://{inner}", "three")
    (root / ".gitmodules").write_text("")
    save(root)
    return root


def test_a_commit_at_the_limits_is_accepted(root: Path) -> None:
    # Files, folders, the link and the submodule.
    measured(root, branch_files=7, branch_bytes=13)


def test_too_many_files_are_refused(root: Path) -> None:
    with pytest.raises(LimitExceeded, match=r"^it has too many files\n(?s:.*)XPLOCK_LIMIT_BRANCH_FILES"):
        measured(root, branch_files=6)


def test_files_that_are_too_large_together_are_refused(root: Path) -> None:
    with pytest.raises(LimitExceeded, match=r"^it is too large\n(?s:.*)XPLOCK_LIMIT_BRANCH_BYTES"):
        measured(root, branch_bytes=12)


def test_more_objects_than_allowed_files_are_refused_without_reading_them(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = f'case " $* " in *" cat-file "*) touch {tmp_path}/seen;; esac'
    monkeypatch.setenv("PATH", git_in_between(tmp_path / "bin", seen))

    with pytest.raises(LimitExceeded, match="it has too many files"):
        measured(root, branch_files=1)

    assert not (tmp_path / "seen").exists()


def test_an_empty_commit_is_accepted(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "repository")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "begin")

    measured(root, branch_files=1, branch_bytes=1)


def test_nested_trees_that_stand_for_billions_of_files_are_refused(tmp_path: Path) -> None:
    repository = Repository(new_repository(tmp_path / "repository"))
    blob = repository.run("hash-object", "-w", "--stdin", data=b"x").decode().strip()
    entry = f"100644 blob {blob}"
    for _ in range(11):
        # Ten of what the last one was.
        lines = [f"{entry}\t{number}\n" for number in range(10)]
        entry = "040000 tree " + repository.run("mktree", data="".join(lines).encode()).decode().strip()
    commit = git(repository.root, "commit-tree", "-m", "large", entry.split()[-1])

    with pytest.raises(LimitExceeded, match="it has too many files"):
        measured(repository.root, commit)
    with pytest.raises(LimitExceeded, match="it is too large"):
        measured(repository.root, commit, branch_files=10**12)
