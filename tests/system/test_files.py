"""Files are read only if they are plain, and replaced in one step."""

import os
import stat
from pathlib import Path

import pytest

from render.errors import RenderError
from render.system.files import InvalidFile, is_there, open_plain, read_plain, replace_file


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_plain_file_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"12345")

    assert read_plain(path, 5) == b"12345"
    with open_plain(path) as file:
        assert file.read() == b"12345"


def test_a_file_beyond_the_bound_is_not_returned(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"123456")

    assert read_plain(path, 5) is None


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("missing", "no such file"),
        ("link", "symbolic link"),
        ("broken link", "symbolic link"),
        ("folder", "not a plain file"),
        ("pipe", "not a plain file"),
        ("device", "not a plain file"),
        ("long name", "file name too long"),
    ],
)
def test_anything_but_a_plain_file_is_refused(tmp_path: Path, kind: str, why: str) -> None:
    path = tmp_path / "it"
    if kind == "link":
        (tmp_path / "target").write_bytes(b"secret")
        path.symlink_to(tmp_path / "target")
    elif kind == "broken link":
        path.symlink_to(tmp_path / "nowhere")
    elif kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path = Path("/dev/zero")
    elif kind == "long name":
        path = tmp_path / ("x" * 300)

    with pytest.raises(InvalidFile) as caught:
        read_plain(path, 10)

    assert str(path) in caught.value.what
    assert why in caught.value.why[0]
    assert caught.value.exit_code == 2


def test_a_file_is_replaced_and_nothing_stays_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a"

    replace_file(path, b"old")
    replace_file(path, b"new")

    assert path.read_bytes() == b"new"
    assert names(tmp_path) == ["a"]


def test_whoever_has_the_old_file_open_keeps_the_old_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a"
    replace_file(path, b"old")

    with path.open("rb") as reader:
        replace_file(path, b"new")

        assert reader.read() == b"old"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_a_replaced_file_keeps_its_mode(tmp_path: Path, mode: int, umask: int) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(mode)

    before = os.umask(umask)
    try:
        replace_file(path, b"new")
    finally:
        os.umask(before)

    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_gets_the_mode_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        replace_file(tmp_path / "a", b"new")
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)

    with pytest.raises(InvalidFile, match="symbolic link"):
        replace_file(link, b"new")

    assert target.read_bytes() == b"old"
    assert link.is_symlink()


def test_a_pipe_or_a_device_is_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    with pytest.raises(InvalidFile, match="not a plain file"):
        replace_file(pipe, b"new")

    assert pipe.is_fifo()


@pytest.mark.parametrize("name", ["missing/a", "folder", "n" * 250])
def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()

    with pytest.raises(RenderError, match="cannot be written") as caught:
        replace_file(tmp_path / name, b"new")

    assert caught.value.why[0]
    assert names(tmp_path) == ["folder"]


def test_an_interrupt_leaves_the_old_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        replace_file(path, b"new")

    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


def test_whatever_has_a_name_is_there_even_a_link_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("nowhere")

    found = [name for name in ("file", "link", "other", "file/inside") if is_there(tmp_path / name)]

    assert found == ["file", "link"]


def test_a_name_that_cannot_be_looked_up_is_neither_there_nor_missing(tmp_path: Path) -> None:
    with pytest.raises(InvalidFile) as caught:
        is_there(tmp_path / ("x" * 300))

    assert caught.value.why == ("file name too long",)
    assert str(tmp_path) in caught.value.what
