"""A machine without descriptors, memory, threads or space: a clear error, exit 1, and nothing half-written."""

import errno
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from rig.builders.projects import World, small_world
from rig.commands.run import files_below
from rig.registry.layout_server import serve_layout

from render.cli.run import run
from render.errors import RenderError
from render.limits import Limits
from render.lock.text.file import write_lock
from render.registry.layout import Layout
from render.system.faults import MachineFault, find_fault
from render.system.files import LOCK_FILE, open_plain, read_plain
from render.system.scratch import NoPlace, scratch_folder

SECONDS = 120
MIB = 1 << 20


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder that asks a layout for packages."""
    return small_world(tmp_path).project("shop", "app:v1.0.0")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Path]:
    """A folder that asks a registry for packages."""
    world: World = small_world(tmp_path)
    with serve_layout(world.layout, "xpkg.example.org") as server:
        world.host = server.host
        yield world.project("shop", "app:v1.0.0")


def limited(folder: Path, limit: str, *arguments: str, host: str = "") -> subprocess.CompletedProcess[str]:
    """Run xplock in a shell that has set a limit."""
    command = 'ulimit $0 && exec "$@"'
    return subprocess.run(
        ["sh", "-c", command.replace("$0", limit), "sh", sys.executable, "-m", "render", *arguments],
        cwd=folder,
        env={**os.environ, "XPLOCK_CACHE_DIR": "", "XPLOCK_PLAIN_HTTP": host},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )


def assert_clear(folder: Path, done: subprocess.CompletedProcess[str], *reasons: str) -> None:
    """Check that a command succeeded, or failed for one of the reasons without leaving a part of a file."""
    names = {path.name for path in files_below(folder)}
    if done.returncode == 0:
        assert names == {"xplock.yaml", LOCK_FILE}
        return
    assert (done.returncode, names) == (1, {"xplock.yaml"}), done.stderr
    assert done.stderr.startswith("error: "), done.stderr
    assert "Traceback" not in done.stderr
    assert any(reason in done.stderr for reason in reasons), done.stderr


@pytest.mark.parametrize("files", [5, 9])
def test_too_few_descriptors_are_told_as_such(shop: Path, files: int) -> None:
    done = limited(shop, f"-n {files}", "lock")

    assert_clear(shop, done, "too many open files")


@pytest.mark.parametrize("files", [10])
def test_a_registry_is_not_blamed_for_missing_descriptors(served: Path, files: int) -> None:
    host = (served / "xplock.yaml").read_text().rpartition("to: ")[2].strip()

    done = limited(served, f"-n {files}", "lock", host=host)

    assert_clear(served, done, "too many open files")


def _needed_to_start() -> int:
    """Return the address space that Python needs to import the first files of xplock, in MiB."""
    done = subprocess.run(
        [sys.executable, "-c", "import render.cli.run\nprint(open('/proc/self/statm').read().split()[0])"],
        capture_output=True,
        check=True,
        timeout=SECONDS,
    )
    return int(done.stdout) * resource.getpagesize() // MIB


@pytest.mark.parametrize("more", [6, 16])
def test_too_little_memory_is_told_as_such(shop: Path, more: int) -> None:
    done = limited(shop, f"-v {(_needed_to_start() + more) * 1024}", "lock")

    assert_clear(shop, done, "there is not enough memory", "no more threads")


def test_a_leftover_that_cannot_be_removed_does_not_fail_a_lock_that_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> Iterator[Path]:
        raise OSError(errno.EIO, "input/output error")

    monkeypatch.setattr(Path, "glob", refuse)

    assert write_lock(tmp_path, "text\n")
    assert (tmp_path / LOCK_FILE).read_text() == "text\n"


def _read_a_file(folder: Path) -> None:
    read_plain(folder / "file", 10)


def _read_a_layout(folder: Path) -> None:
    Layout(folder, Limits()).images()


def _open_a_file(folder: Path) -> None:
    open_plain(folder)


@contextmanager
def _no_descriptors() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = [os.dup(0)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (taken[0] + 8, before[1]))
    try:
        with suppress(OSError):
            while True:
                taken.append(os.dup(0))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for handle in taken:
            os.close(handle)


@pytest.mark.parametrize("act", [_read_a_file, _read_a_layout, _open_a_file])
def test_without_descriptors_no_file_is_called_wrong(tmp_path: Path, act: Callable[[Path], None]) -> None:
    (tmp_path / "file").write_text("")

    with _no_descriptors(), pytest.raises(RenderError) as caught:
        act(tmp_path)

    assert (type(caught.value), caught.value.exit_code) == (MachineFault, 1)
    assert caught.value.why == ("too many open files",)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (MemoryError(), "there is not enough memory"),
        (OSError(errno.ENOSPC, "x"), "no space left on device"),
        (OSError(errno.EROFS, "x"), "read-only file system"),
        (OSError(errno.EIO, "x"), "input/output error"),
        (OSError(errno.ENFILE, "x"), "too many open files in system"),
        (RuntimeError("can't start new thread"), "no more threads or processes can be started"),
        (ImportError("x.so: failed to map segment from shared object"), "there is not enough memory"),
        (ImportError("Failed to initialize: [Errno 24] Too many open files"), "too many open files"),
    ],
)
def test_faults_of_the_machine_are_found_in_exceptions_and_their_causes(error: Exception, why: str) -> None:
    outer = ValueError("wrapped")
    outer.__cause__ = error

    for one in (error, outer):
        fault = find_fault(one)
        assert fault is not None
        assert (fault.why, fault.exit_code, bool(fault.next)) == ((why,), 1, True)


def test_a_bug_is_no_fault_of_the_machine() -> None:
    for error in (KeyError("x"), RuntimeError("x"), ImportError("x"), OSError(errno.ENOENT, "x")):
        assert find_fault(error) is None


def test_a_temporary_folder_in_a_circle_of_links_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "a"))

    with pytest.raises(NoPlace) as caught, scratch_folder("a test"):
        pass

    assert caught.value.why == ("too many levels of symbolic links",)


@pytest.mark.parametrize("command", ["lock", "render", "check", "tree"])
def test_a_folder_in_a_circle_of_links_is_wrong_input(tmp_path: Path, command: str) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")

    assert run([command, str(tmp_path / "a")]) == 2
