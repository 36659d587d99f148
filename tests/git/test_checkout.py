"""A folder of a server's branch on disk: its own files only, within little memory, and without surprises."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from rig.git.repositories import (
    ONE,
    SHOP,
    TWO,
    clone,
    git,
    git_in_between,
    project,
    save,
    shared_shop,
    text_at,
)

from render.git.changes import Change
from render.git.checkout import checked_out
from render.git.landing import push_change
from render.git.names import Author
from render.git.remotes import Remote, fetch_tip
from render.git.repository import Repository
from render.git.revisions import find_missing, require_small
from render.git.temporary import open_server
from render.limits import LimitExceeded, Limits

MIB = 1 << 20
# A blob of zeros of this size is a fraction of a megabyte on the server.
LARGE = 120 * MIB
KILOBYTES = 100 * 1024


@pytest.fixture(params=["with filters", "without filters"])
def server(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A server with the project `shop` and one `elsewhere`."""
    server, root = shared_shop(tmp_path)
    project(root, name="elsewhere")
    (root / "elsewhere/notes").write_text("only here\n")
    save(root)
    git(root, "push", "--quiet")
    git(server, "config", "uploadpack.allowFilter", str(request.param == "with filters").lower())
    # The server runs with our limit of memory, too.
    git(server, "config", "core.bigFileThreshold", "1m")
    return server


def filters(server: Path) -> bool:
    return git(server, "config", "uploadpack.allowFilter") == "true"


@pytest.fixture
def reached(server: Path) -> Iterator[tuple[Repository, Remote, str]]:
    """The temporary repository with the tip of the server's branch."""
    with open_server(f"file://{server}", "main", limits=Limits()) as (repository, remote):
        yield repository, remote, fetch_tip(repository, remote, depth=10) or ""


def push(server: Path, path: str, text: str) -> None:
    root = server.parent / "clone"
    (root / path).write_text(text)
    save(root)
    git(root, "push", "--quiet")


def push_zeros(server: Path, path: str, size: int = LARGE) -> None:
    root = server.parent / "clone"
    with (root / path).open("wb") as file:
        file.truncate(size)
    save(root)
    git(root, "push", "--quiet")


def files_below(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir())


def test_only_the_wanted_folder_is_fetched_and_written(
    server: Path, reached: tuple[Repository, Remote, str]
) -> None:
    repository, remote, tip = reached

    with checked_out(repository, remote, tip, "shop/", "it") as root:
        found = files_below(root)
        text = (root / SHOP).read_bytes()

    assert (found, text) == ([SHOP, "shop/xplock.yaml"], ONE)
    notes = git(server, "rev-parse", "main:elsewhere/notes")
    assert (notes in find_missing(repository, tip)) == filters(server)


@pytest.mark.parametrize("folder", ["", "shop/"])
def test_a_folder_that_refers_outside_is_written_with_all_others(server: Path, folder: str) -> None:
    push(server, "shop/xplock.yaml", "uses: [../elsewhere]\n")

    with open_server(f"file://{server}", "main", limits=Limits()) as (repository, remote):
        tip = fetch_tip(repository, remote, depth=10) or ""
        with checked_out(repository, remote, tip, folder, "it") as root:
            found = files_below(root)

    assert "elsewhere/notes" in found
    assert "README" in found


@pytest.mark.parametrize("path", ["shop/large", "elsewhere/large"])
def test_a_large_blob_costs_neither_memory_nor_space(
    server: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    push_zeros(server, path)
    monkeypatch.setenv("PATH", git_in_between(tmp_path / "bin", f"ulimit -v {KILOBYTES}"))

    with open_server(f"file://{server}", "main", limits=Limits()) as (repository, remote):
        tip = fetch_tip(repository, remote, depth=10) or ""
        require_small(repository, tip, "it")
        with checked_out(repository, remote, tip, "shop/", "it") as root:
            large = root / "shop/large"
            state = (large.stat().st_size, large.stat().st_blocks) if large.exists() else None

    assert state == ((LARGE, 0) if path == "shop/large" else None)


def test_more_bytes_than_allowed_are_refused_before_they_are_written(
    reached: tuple[Repository, Remote, str],
) -> None:
    repository, remote, tip = reached
    small = Repository(repository.root, Limits(branch_bytes=10), "it", repository.options, partial=True)

    with (
        pytest.raises(LimitExceeded, match=r"^it is too large\n(?s:.*)XPLOCK_LIMIT_BRANCH_BYTES"),
        checked_out(small, remote, tip, "shop/", "it"),
    ):
        pass


def test_a_commit_is_pushed_without_the_blobs_beside_it(
    server: Path, reached: tuple[Repository, Remote, str]
) -> None:
    repository, remote, tip = reached

    push_change(repository, Change({SHOP: TWO}, "lock", Author("Kim", "kim@example.org")), remote, tip)

    assert text_at(server, "main") == TWO
    assert git(server, "show", "main:elsewhere/notes") == "only here"
    git(server, "fsck", "--connectivity-only")


def test_a_branch_that_moved_on_the_server_is_fetched_into_a_users_partial_clone(tmp_path: Path) -> None:
    server, root = shared_shop(tmp_path)
    git(server, "config", "uploadpack.allowFilter", "true")
    partial = clone(server, tmp_path / "partial", "--filter=blob:none")
    (root / "README").write_text("moved on\n")
    save(root)
    git(root, "push", "--quiet")

    tip = fetch_tip(Repository(partial), Remote("origin", "main"))

    assert tip == git(server, "rev-parse", "main")
    assert tip and find_missing(Repository(partial), tip) == set()
