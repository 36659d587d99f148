"""The lock on disk: whole or not at all, only where it belongs, and only when it changes."""

import os
import resource
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rig.builders.locks import lock, package

from render.errors import RenderError
from render.limits import LimitExceeded, Limits
from render.lock.text.file import LinkedLock, read_lock, read_lock_bytes, write_lock
from render.lock.text.format import NewerRevision, format_lock
from render.lock.text.parse import ConflictedLock, UnsupportedLock
from render.system.files import LOCK_FILE

LOCK = lock([package("net v1.0.0")])
OLD = format_lock(LOCK)
NEW = format_lock(lock([package("net v1.1.0"), package("web v1.0.0")]))

# Starts a child that writes two texts in turn for ever, kills it, looks at the file; two hundred times. It forks,
# since starting an interpreter each time would take most of a minute.
KILLER = """
import os, random, signal, sys, time
from pathlib import Path
from render.lock.text.file import write_lock
folder = Path(sys.argv[1])
texts = [(folder / name).read_text() for name in ("old", "new")]
for _ in range(200):
    child = os.fork()
    while child == 0:
        for text in texts:
            write_lock(folder, text)
    time.sleep(random.random() * 0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    found = (folder / "crossplane.lock.yaml").read_bytes()
    print("old" if found == texts[0].encode() else "new" if found == texts[1].encode() else "torn")
"""


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_without_a_lock_has_none(tmp_path: Path) -> None:
    assert read_lock(tmp_path, Limits()) is None
    assert read_lock(tmp_path / "missing", Limits()) is None


def test_what_is_written_is_read(tmp_path: Path) -> None:
    assert write_lock(tmp_path, OLD)

    assert read_lock(tmp_path, Limits()) == LOCK
    assert read_lock_bytes(tmp_path, Limits()) == OLD.encode()
    assert names_in(tmp_path) == [LOCK_FILE]


def test_a_lock_that_does_not_change_is_not_touched(tmp_path: Path) -> None:
    write_lock(tmp_path, OLD)
    before = (tmp_path / LOCK_FILE).stat()

    assert not write_lock(tmp_path, OLD)

    after = (tmp_path / LOCK_FILE).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_faults_are_told_with_the_path(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).write_text(f"<<<<<<< HEAD\n{OLD}")

    with pytest.raises(ConflictedLock, match=f"{tmp_path / LOCK_FILE} holds a merge conflict"):
        read_lock(tmp_path, Limits())


@pytest.mark.parametrize("target", ["profile", "missing"])
def test_a_link_in_its_place_is_neither_read_nor_written(tmp_path: Path, target: str) -> None:
    (tmp_path / "profile").write_text(OLD)
    (tmp_path / LOCK_FILE).symlink_to(tmp_path / target)

    with pytest.raises(LinkedLock) as reading:
        read_lock(tmp_path, Limits())
    with pytest.raises(LinkedLock) as writing:
        write_lock(tmp_path, NEW)

    assert reading.value.exit_code == writing.value.exit_code == 1
    assert (tmp_path / "profile").read_text() == OLD
    assert not (tmp_path / "missing").exists()


def test_a_folder_or_a_pipe_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a" / LOCK_FILE).mkdir(parents=True)
    (tmp_path / "b").mkdir()
    os.mkfifo(tmp_path / "b" / LOCK_FILE)

    for name in ("a", "b"):
        with pytest.raises(RenderError, match="it is not a plain file"):
            read_lock(tmp_path / name, Limits())
        with pytest.raises(RenderError, match="it is not a plain file"):
            write_lock(tmp_path / name, NEW)


def test_a_lock_that_is_too_large_names_the_limit(tmp_path: Path) -> None:
    write_lock(tmp_path, OLD)

    with pytest.raises(LimitExceeded, match="XPLOCK_LIMIT_LOCK_BYTES"):
        read_lock(tmp_path, Limits(lock_bytes=50))


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("revision: 0", "revision: 1", NewerRevision),
        ("revision: 0", "revision: 7\r", NewerRevision),
        ("version: 1", "version: 2", UnsupportedLock),
    ],
)
def test_what_a_newer_xplock_wrote_is_never_overwritten(
    tmp_path: Path, old: str, new: str, error: type[RenderError]
) -> None:
    newer = OLD.replace(f"\n{old}\n", f"\n{new}\n")
    (tmp_path / LOCK_FILE).write_text(newer, newline="")

    with pytest.raises(error):
        write_lock(tmp_path, NEW)

    assert (tmp_path / LOCK_FILE).read_bytes() == newer.encode()


@pytest.mark.parametrize("umask", [0o077, 0o022])
@pytest.mark.parametrize("mode", [0o640, 0o600, 0o664])
def test_mode_and_group_stay_as_they_were(tmp_path: Path, umask: int, mode: int) -> None:
    path = tmp_path / LOCK_FILE
    path.write_text(OLD)
    others = [group for group in os.getgroups() if group != path.stat().st_gid]
    group = 4_242 if os.geteuid() == 0 else (others or [path.stat().st_gid])[0]
    os.chown(path, -1, group)
    path.chmod(mode)
    before = os.umask(umask)

    try:
        write_lock(tmp_path, NEW)
    finally:
        os.umask(before)

    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.stat().st_gid == group


@pytest.mark.parametrize(("umask", "mode"), [(0o077, 0o600), (0o022, 0o644), (0o002, 0o664)])
def test_a_new_lock_has_the_mode_that_the_user_gives_to_files(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)

    try:
        write_lock(tmp_path, NEW)
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / LOCK_FILE).stat().st_mode) == mode


def test_a_folder_that_hands_on_its_group_does_so(tmp_path: Path) -> None:
    others = [group for group in os.getgroups() if group != tmp_path.stat().st_gid]
    group = 4_242 if os.geteuid() == 0 else (others or [tmp_path.stat().st_gid])[0]
    os.chown(tmp_path, -1, group)
    tmp_path.chmod(0o2770)

    write_lock(tmp_path, OLD)
    first = (tmp_path / LOCK_FILE).stat()
    write_lock(tmp_path, NEW)
    second = (tmp_path / LOCK_FILE).stat()

    assert first.st_gid == second.st_gid == group
    assert first.st_mode == second.st_mode


def test_a_full_disk_leaves_the_old_text_and_nothing_else(tmp_path: Path) -> None:
    write_lock(tmp_path, OLD)
    large = format_lock(lock([package(f"net-{i} v1.0.0") for i in range(100)]))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, hard))

    try:
        with pytest.raises(RenderError, match="cannot be written") as caught:
            write_lock(tmp_path, large)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert caught.value.exit_code == 1
    assert (tmp_path / LOCK_FILE).read_text() == OLD
    assert names_in(tmp_path) == [LOCK_FILE]


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(RenderError, match="cannot be written"):
        write_lock(tmp_path / "missing", NEW)


def test_what_a_killed_run_left_behind_goes_with_the_next_write(tmp_path: Path) -> None:
    left, fresh, other = (tmp_path / f".{LOCK_FILE}.{end}" for end in ("0" * 16, "1" * 16, "keep"))
    for path in (left, fresh, other):
        path.write_text("part")
    for path in (left, other):
        os.utime(path, (time.time() - 3_600,) * 2)

    write_lock(tmp_path, NEW)

    assert names_in(tmp_path) == sorted([LOCK_FILE, fresh.name, other.name])


def test_a_kill_at_any_moment_leaves_the_old_text_or_the_new_one(tmp_path: Path) -> None:
    (tmp_path / "old").write_text(OLD)
    (tmp_path / "new").write_text(format_lock(lock([package(f"net-{i} v1.0.0") for i in range(300)])))
    write_lock(tmp_path, OLD)

    command = [sys.executable, "-c", KILLER, str(tmp_path)]
    run = subprocess.run(
        command, cwd=Path(__file__).parents[3], stdout=subprocess.PIPE, timeout=600, check=True
    )

    seen = run.stdout.decode().split()
    assert len(seen) == 200
    assert {*seen} == {"old", "new"}
