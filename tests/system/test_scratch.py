"""Folders for a while: nobody else reads them, and nothing of them stays."""

import errno
from pathlib import Path

import pytest

from render.errors import RenderError
from render.system.scratch import (
    NoPlace,
    hide_scratch_folders,
    remove_scratch_folders,
    scratch_folder,
    writing,
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where folders are made."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_a_folder_is_ours_alone_and_gone_afterwards(place: Path) -> None:
    with scratch_folder("a test") as folder:
        (folder / "below").mkdir()
        (folder / "below/file").write_text("x")

        assert folder.parent == place
        assert folder.stat().st_mode & 0o777 == 0o700

    assert list(place.iterdir()) == []


def test_two_folders_are_two(place: Path) -> None:
    with scratch_folder("one") as one, scratch_folder("two") as two:
        assert sorted(place.iterdir()) == sorted([one, two])


def test_what_an_interrupted_call_has_left_is_removed(place: Path) -> None:
    left = scratch_folder("a test")
    folder = left.__enter__()
    (folder / "file").write_text("x")

    remove_scratch_folders()

    assert list(place.iterdir()) == []


def test_a_removal_that_is_interrupted_is_done_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt), scratch_folder("a test"):
        patched.setattr("shutil.rmtree", interrupt)
    assert len(list(place.iterdir())) == 1

    remove_scratch_folders()

    assert list(place.iterdir()) == []


def test_what_others_say_of_it_is_the_same_every_time(place: Path) -> None:
    with scratch_folder("one") as one, scratch_folder("two") as two:
        shown = hide_scratch_folders(f"cannot move {one}/a to {two}/below/b in {place}/c; see '{one}'")

    assert shown == f"cannot move a to below/b in {place}/c; see '.'"


def test_without_a_place_it_says_so(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(place / "missing"))

    with pytest.raises(RenderError) as raised, scratch_folder("git's files"):
        pass

    assert str(raised.value) == (
        "there is no place for git's files\n"
        "  why:  no such file or directory\n"
        "  next: set TMPDIR to a folder that can be written to"
    )


def test_what_has_no_room_there_is_told_in_the_same_way() -> None:
    with pytest.raises(NoPlace) as raised, writing("git's files"):
        raise OSError(errno.ENOSPC, "No space left on device")

    assert str(raised.value) == (
        "there is no place for git's files\n"
        "  why:  no space left on device\n"
        "  next: set TMPDIR to a folder that can be written to"
    )


def test_without_a_wish_it_is_the_usual_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)

    with scratch_folder("a test") as folder:
        assert folder.parent == Path("/tmp").resolve()
