"""Copying a folder: all of its files, no links, within the limits."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from render.errors import RenderError
from render.limits import LimitExceeded, Limits
from render.manifests.overlay import copy_folder
from render.system.files import InvalidFile


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder with two files, one of them further down."""
    (tmp_path / "source/a/b").mkdir(parents=True)
    (tmp_path / "source/one.yaml").write_text("1")
    (tmp_path / "source/a/b/.env").write_text("two")
    return tmp_path / "source"


def test_files_and_folders_are_copied_hidden_ones_too(source: Path, tmp_path: Path) -> None:
    copy_folder(source, tmp_path / "copy", Limits())

    found = {
        str(p.relative_to(tmp_path / "copy")): p.is_dir() or p.read_text()
        for p in (tmp_path / "copy").rglob("*")
    }
    assert found == {"one.yaml": "1", "a": True, "a/b": True, "a/b/.env": "two"}


def test_the_git_folder_is_not_copied(source: Path, tmp_path: Path) -> None:
    (source / ".git").mkdir()
    (source / ".git/link").symlink_to("/")

    copy_folder(source, tmp_path / "copy", Limits())

    assert not (tmp_path / "copy/.git").exists()


@pytest.mark.parametrize(
    ("put", "why"),
    [
        (lambda path: path.symlink_to("../one.yaml"), "it is a symbolic link"),
        (lambda path: path.symlink_to("/"), "it is a symbolic link"),
        (lambda path: path.symlink_to("nowhere"), "it is a symbolic link"),
        (os.mkfifo, "it is not a plain file"),
    ],
    ids=["a link to a file", "a link to a folder", "a link to nothing", "a pipe"],
)
def test_the_error_names_a_file_that_is_not_a_plain_one(
    source: Path, tmp_path: Path, put: Callable[[Path], None], why: str
) -> None:
    put(source / "a/odd")

    with pytest.raises(InvalidFile) as raised:
        copy_folder(source, tmp_path / "copy", Limits())

    assert str(source / "a/odd") in raised.value.what
    assert raised.value.why == (why,)


@pytest.mark.parametrize(
    ("limits", "setting"),
    [(Limits(files=3), "XPLOCK_LIMIT_FILES"), (Limits(kustomize_bytes=3), "XPLOCK_LIMIT_KUSTOMIZE_BYTES")],
)
def test_a_folder_has_as_many_files_and_bytes_as_are_allowed_and_no_more(
    source: Path, tmp_path: Path, limits: Limits, setting: str
) -> None:
    copy_folder(source, tmp_path / "fits", Limits(files=4, kustomize_bytes=4))

    with pytest.raises(LimitExceeded) as raised:
        copy_folder(source, tmp_path / "copy", limits)

    assert setting in raised.value.next[0]


def test_a_folder_that_cannot_be_copied_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RenderError, match="gone cannot be copied\n  why:  no such file or directory"):
        copy_folder(tmp_path / "gone", tmp_path / "copy", Limits())
