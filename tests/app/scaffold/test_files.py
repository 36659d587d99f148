"""Writing a scaffold: what is there stays, and what is shared always does."""

import os
from pathlib import Path

import pytest

from render.app.scaffold.files import File, write_scaffold


@pytest.mark.parametrize("force", [True, False])
def test_what_others_share_is_never_replaced(tmp_path: Path, force: bool) -> None:
    path = tmp_path / ".gitlab-ci.yml"
    path.write_text("theirs: {}\n")
    file = File(b"ours", "our part")

    report = write_scaffold({path: file}, force=force, dry_run=False)

    assert (report.written, report.left) == ((), {path: "is shared with others"})
    assert report.lacking == {path: file}
    assert path.read_text() == "theirs: {}\n"


@pytest.mark.parametrize("force", [True, False])
def test_what_is_shared_and_cannot_be_read_is_left_and_all_else_is_written(
    tmp_path: Path, force: bool
) -> None:
    shared, new = tmp_path / "shared", tmp_path / "new"
    # It is there, and reading it is refused.
    os.mkfifo(shared)

    report = write_scaffold(
        {shared: File(b"ours", "our part"), new: File(b"ours")}, force=force, dry_run=False
    )

    assert (report.written, report.left) == ((new,), {shared: "is shared with others"})


def test_what_is_there_stays_unless_it_is_to_be_replaced(tmp_path: Path) -> None:
    mine, same, new = (tmp_path / name for name in ("mine", "same", "deep/er/new"))
    mine.write_text("mine")
    same.write_text("ours")
    files = dict.fromkeys((mine, same, new), File(b"ours"))

    planned = write_scaffold(files, force=True, dry_run=True)
    untouched = [path.read_text() if path.exists() else None for path in files]
    first = write_scaffold(files, force=False, dry_run=False)
    kept = [path.read_text() for path in files]
    second = write_scaffold(files, force=True, dry_run=False)

    assert untouched == ["mine", "ours", None]
    assert (planned.written, planned.left) == ((mine, new), {same: "is the same"})
    assert (first.written, first.left) == ((new,), {mine: "exists already", same: "is the same"})
    assert kept == ["mine", "ours", "ours"]
    assert (second.written, second.left) == ((mine,), dict.fromkeys((same, new), "is the same"))
    assert [path.read_text() for path in files] == ["ours"] * 3
