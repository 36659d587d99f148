"""`render --out`: a complete kustomize base; files of others are never touched."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from render.errors import RenderError
from render.limits import LimitExceeded, Limits
from render.manifests.out_folder import (
    HEADER,
    KUSTOMIZATION,
    FolderReport,
    ForeignFile,
    ForeignFolder,
    UnnamedObject,
    write_folder,
)
from render.yaml.documents import file_rules, parse_documents

LIMITS = Limits()


def provider(name: str, version: str = "v1.0.0") -> dict[str, Any]:
    return {
        "apiVersion": "pkg.crossplane.io/v1",
        "kind": "Provider",
        "metadata": {"name": name},
        "spec": {"package": f"xpkg.example.org/acme/{name}:{version}"},
    }


def write(folder: Path, *names: str) -> FolderReport:
    return write_folder(folder, [provider(name) for name in names], LIMITS)


def state(folder: Path) -> dict[str, bytes | str]:
    """Return everything in a folder: the bytes of files, the targets of links."""
    return {
        str(path.relative_to(folder)): str(path.readlink())
        if path.is_symlink()
        else path.read_bytes()
        if path.is_file()
        else "folder"
        for path in folder.rglob("*")
    }


def test_each_object_has_a_file_and_the_kustomization_lists_them_in_order(tmp_path: Path) -> None:
    report = write(tmp_path / "new/out", "b", "a")

    assert state(tmp_path / "new/out") == {
        KUSTOMIZATION: f"""\
{HEADER}---
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
sortOptions:
  order: fifo
resources:
- provider-b.yaml
- provider-a.yaml
""".encode(),
        "provider-a.yaml": f"""\
{HEADER}---
apiVersion: pkg.crossplane.io/v1
kind: Provider
metadata:
  name: a
spec:
  package: xpkg.example.org/acme/a:v1.0.0
""".encode(),
        "provider-b.yaml": f"""\
{HEADER}---
apiVersion: pkg.crossplane.io/v1
kind: Provider
metadata:
  name: b
spec:
  package: xpkg.example.org/acme/b:v1.0.0
""".encode(),
    }
    assert report == FolderReport((KUSTOMIZATION, "provider-b.yaml", "provider-a.yaml"), (), ())


def test_kustomize_builds_the_same_objects_in_the_same_order(tmp_path: Path) -> None:
    pin = {
        "apiVersion": "pkg.crossplane.io/v1beta1",
        "kind": "ImageConfig",
        "metadata": {"name": "z"},
        "spec": {"matchImages": [{"type": "Prefix", "prefix": "a:v1"}], "rewriteImage": {"prefix": "a@x"}},
    }
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "later"}}
    objects = [pin, provider("b"), provider("a"), space]
    write_folder(tmp_path / "out", objects, LIMITS)

    built = subprocess.run(["kubectl", "kustomize", tmp_path / "out"], capture_output=True, check=True)

    assert parse_documents(built.stdout, file_rules(LIMITS)) == objects


def test_files_put_together_by_hand_are_still_one_document_each(tmp_path: Path) -> None:
    write(tmp_path / "out", "a", "b")

    together = b"".join(path.read_bytes() for path in sorted((tmp_path / "out").iterdir()))

    assert len(parse_documents(together, file_rules(LIMITS))) == 3


def test_an_empty_folder_is_accepted(tmp_path: Path) -> None:
    write(tmp_path, "a")

    assert sorted(state(tmp_path)) == [KUSTOMIZATION, "provider-a.yaml"]


def test_a_second_run_writes_only_what_changed_and_removes_what_is_no_longer_rendered(tmp_path: Path) -> None:
    write(tmp_path, "same", "changed", "gone")
    before = (tmp_path / "provider-same.yaml").stat()

    report = write_folder(tmp_path, [provider("same"), provider("changed", "v2.0.0")], LIMITS)

    assert report == FolderReport(
        (KUSTOMIZATION, "provider-changed.yaml"), ("provider-same.yaml",), ("provider-gone.yaml",)
    )
    assert sorted(state(tmp_path)) == [KUSTOMIZATION, "provider-changed.yaml", "provider-same.yaml"]
    assert b"v2.0.0" in (tmp_path / "provider-changed.yaml").read_bytes()
    assert (tmp_path / "provider-same.yaml").stat() == before


def test_a_run_without_changes_touches_nothing(tmp_path: Path) -> None:
    write(tmp_path / "out", "a", "b")
    before = (tmp_path / "out").stat()

    report = write(tmp_path / "out", "a", "b")

    assert (report.written, report.removed) == ((), ())
    assert (tmp_path / "out").stat() == before


def test_files_of_others_beside_ours_stay(tmp_path: Path) -> None:
    write(tmp_path, "a", "b")
    (tmp_path / "README.md").write_text("mine")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/provider-b.yaml").write_text("mine")

    write(tmp_path, "a")

    assert sorted(state(tmp_path)) == [
        "README.md", KUSTOMIZATION, "provider-a.yaml", "sub", "sub/provider-b.yaml",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "entry", ["mine.yaml", "../mine.yaml", "/mine.yaml", "sub/mine.yaml", ".mine.yaml", "sub", "..", "mine"]
)
def test_entries_added_to_the_kustomization_remove_no_files_of_others(tmp_path: Path, entry: str) -> None:
    out = tmp_path / "out"
    write(out, "a")
    (out / "sub").mkdir()
    theirs = [
        tmp_path / "mine.yaml",
        out / "sub/mine.yaml",
        out / "mine.yaml",
        out / ".mine.yaml",
        out / "mine",
    ]
    for path in theirs:
        path.write_text("kind: Mine\n")
    with (out / KUSTOMIZATION).open("a") as file:
        file.write(f'- "{entry}"\n')

    report = write(out, "a")

    assert report.removed == ()
    assert all(path.read_text() == "kind: Mine\n" for path in theirs)


def foreign_file(folder: Path) -> None:
    (folder / "notes.txt").write_text("mine")


def foreign_kustomization(folder: Path) -> None:
    (folder / KUSTOMIZATION).write_text("resources: []\n")


def linked_kustomization(folder: Path) -> None:
    (folder.parent / "theirs.yaml").write_text(f"{HEADER}resources: []\n")
    (folder / KUSTOMIZATION).symlink_to("../theirs.yaml")


def changed_kustomization(folder: Path) -> None:
    (folder / KUSTOMIZATION).write_text(f"{HEADER}resources: {{\n")


def nothing_listed(folder: Path) -> None:
    (folder / KUSTOMIZATION).write_text(f"{HEADER}resources: 7\n")


def foreign_object(folder: Path) -> None:
    write(folder, "b")
    (folder / "provider-a.yaml").write_text("kind: Mine\n")


def linked_object(folder: Path) -> None:
    write(folder, "a", "b")
    (folder.parent / "theirs.yaml").write_bytes((folder / "provider-a.yaml").read_bytes())
    (folder / "provider-a.yaml").unlink()
    (folder / "provider-a.yaml").symlink_to("../theirs.yaml")


def dangling_object(folder: Path) -> None:
    write(folder, "b")
    (folder / "provider-a.yaml").symlink_to("../nothing.yaml")


def linked_leftover(folder: Path) -> None:
    write(folder, "a", "b")
    (folder.parent / "theirs.yaml").write_text("mine")
    (folder / "provider-b.yaml").unlink()
    (folder / "provider-b.yaml").symlink_to("../theirs.yaml")


def folder_for_object(folder: Path) -> None:
    write(folder, "b")
    (folder / "provider-a.yaml").mkdir()


def pipe_for_object(folder: Path) -> None:
    write(folder, "b")
    os.mkfifo(folder / "provider-a.yaml")


@pytest.mark.parametrize(
    ("prepare", "error", "why"),
    [
        (foreign_file, ForeignFolder, "it is not empty, and has no kustomization.yaml"),
        (foreign_kustomization, ForeignFolder, "its kustomization.yaml was not written by xplock render"),
        (linked_kustomization, ForeignFile, "it is a symbolic link"),
        (changed_kustomization, ForeignFile, "it was changed, so the files that belong to it are unknown"),
        (nothing_listed, ForeignFile, "it was changed, so the files that belong to it are unknown"),
        (foreign_object, ForeignFile, "it was not written by xplock render"),
        (linked_object, ForeignFile, "it is a symbolic link"),
        (dangling_object, ForeignFile, "it is a symbolic link"),
        (linked_leftover, ForeignFile, "it is a symbolic link"),
        (folder_for_object, ForeignFile, "it is not a plain file"),
        (pipe_for_object, ForeignFile, "it is not a plain file"),
    ],
)
def test_foreign_files_are_refused_and_nothing_is_changed(
    tmp_path: Path, prepare: Callable[[Path], None], error: type[RenderError], why: str
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    prepare(out)
    before = state(tmp_path)

    with pytest.raises(error) as raised:
        write_folder(out, [provider("a", "v2.0.0")], LIMITS)

    assert (raised.value.exit_code, raised.value.why) == (2, (why,))
    assert state(tmp_path) == before


def test_a_link_to_a_folder_and_a_file_in_its_place_are_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "file").write_text("mine")

    for name, why in (("link", "it is a symbolic link"), ("file", "it is not a folder")):
        with pytest.raises(ForeignFolder) as raised:
            write(tmp_path / name, "a")
        assert raised.value.why == (why,)
    assert state(tmp_path) == {"real": "folder", "link": "real", "file": b"mine"}


def test_a_list_too_large_to_be_ours_is_not_read(tmp_path: Path) -> None:
    write(tmp_path, "a")

    with pytest.raises(LimitExceeded, match=r"kustomization\.yaml is too large"):
        write_folder(tmp_path, [], Limits(file_bytes=10))


def test_an_object_without_a_name_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    unnamed = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "a-"}}

    with pytest.raises(UnnamedObject, match="a Job cannot be written"):
        write_folder(tmp_path / "out", [unnamed], LIMITS)

    assert state(tmp_path) == {}


def test_a_folder_that_cannot_be_written_stays_as_it_was(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out, "a", "b")
    # Nobody may make a folder of this name there, not even root.
    too_deep = out / "x" / ("y" * 300)
    before = state(tmp_path)

    with pytest.raises(RenderError) as raised:
        write(too_deep, "a")

    assert raised.value.exit_code == 1
    assert raised.value.why == ("file name too long",)
    assert state(tmp_path) == before


def test_a_full_disk_leaves_the_older_files_and_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    write(out, "a", "b", "c")
    before = state(tmp_path)
    written = []

    def fail_late(self: Path, data: bytes) -> int:
        written.append(self.name)
        if len(written) == 3:
            raise OSError(28, "No space left on device")
        with self.open("wb") as file:
            return file.write(data)

    monkeypatch.setattr(Path, "write_bytes", fail_late)
    with pytest.raises(RenderError) as raised:
        write_folder(out, [provider(name, "v2.0.0") for name in "abd"], LIMITS)

    assert (raised.value.exit_code, raised.value.why) == (1, ("no space left on device",))
    assert len(written) == 3
    assert state(tmp_path) == before


def test_a_failed_first_run_leaves_no_folder_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "new/out", "a")

    assert state(tmp_path) == {}


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
def test_the_next_run_completes_an_interrupted_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    out = tmp_path / "out"
    write(out, "a", "b")
    moved: list[str] = []
    replace = Path.replace

    def stop(self: Path, target: Path) -> Path:
        if len(moved) == steps:
            raise KeyboardInterrupt
        moved.append(target.name)
        return replace(self, target)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Path, "replace", stop)
        write_folder(out, [provider("a", "v2.0.0"), provider("c"), provider("d")], LIMITS)
    write(out, "c", "e")

    assert len(moved) == steps
    assert sorted(state(out)) == [KUSTOMIZATION, "provider-c.yaml", "provider-e.yaml"]


def test_the_staging_folder_of_a_killed_run_is_ignored_and_later_removed(tmp_path: Path) -> None:
    old, fresh = tmp_path / ".xplock-00112233aabbccdd", tmp_path / ".xplock-ffffffffffffffff"
    for folder in (old, fresh):
        folder.mkdir()
        (folder / "provider-a.yaml").write_text("half")
    an_hour_ago = time.time() - 3600
    os.utime(old, (an_hour_ago, an_hour_ago))

    write(tmp_path, "a")

    assert sorted(path.name for path in tmp_path.iterdir()) == [fresh.name, KUSTOMIZATION, "provider-a.yaml"]


# Runs in a process of its own, and ends it with SIGKILL right before its n-th change of the file system.
KILLED_WRITER = """
import json, os, signal, sys
from pathlib import Path
from render.limits import Limits
from render.manifests.out_folder import write_folder

out, objects, steps_left = Path(sys.argv[1]), json.loads(sys.argv[2]), int(sys.argv[3])

def count(event, arguments):
    global steps_left
    changes = event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "os.symlink")
    if changes or (event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)):
        steps_left -= 1
        if steps_left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(count)
write_folder(out, objects, Limits())
"""


def pin(name: str, digit: str) -> dict[str, Any]:
    return {
        "apiVersion": "pkg.crossplane.io/v1beta1",
        "kind": "ImageConfig",
        "metadata": {"name": f"pin-{name}-{digit}"},
        "spec": {
            "matchImages": [{"type": "Prefix", "prefix": f"xpkg.example.org/acme/{name}:v{digit}.0.0"}],
            "rewriteImage": {"prefix": f"xpkg.example.org/acme/{name}@sha256:{digit * 64}"},
        },
    }


def pinned(name: str, digit: str) -> list[dict[str, Any]]:
    return [pin(name, digit), provider(name, f"v{digit}.0.0")]


def write_until_killed(out: Path, objects: list[dict[str, Any]], steps: int) -> bool:
    """Return whether the writer was killed; False means that it ended by itself."""
    command = [sys.executable, "-c", KILLED_WRITER, str(out), json.dumps(objects), str(steps)]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ended.returncode in (0, -signal.SIGKILL), ended.stderr
    return ended.returncode != 0


def build(out: Path) -> list[dict[str, Any]] | None:
    """Return the objects that kustomize makes of a folder, or None if it cannot be built."""
    built = subprocess.run(["kubectl", "kustomize", out], capture_output=True, check=False)
    return parse_documents(built.stdout, file_rules(LIMITS)) if built.returncode == 0 else None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ([], pinned("a", "1")),
        (pinned("a", "1"), pinned("a", "2")),
        ([*pinned("a", "1"), *pinned("b", "1")], [*pinned("a", "2"), *pinned("c", "1")]),
        # The same files with other contents, so that the list of files does not change.
        (
            [pin("a", "1"), provider("a"), provider("b")],
            [
                {**pin("a", "1"), "spec": pin("a", "2")["spec"]},
                provider("a", "v2.0.0"),
                provider("b", "v2.0.0"),
            ],
        ),
    ],
    ids=["first run", "upgrade", "added and removed", "same files"],
)
def test_killed_at_any_step_the_folder_is_the_old_one_or_the_new_one_or_cannot_be_built(
    tmp_path: Path, old: list[dict[str, Any]], new: list[dict[str, Any]]
) -> None:
    write_folder(tmp_path / "wanted", new, LIMITS)
    steps, killed = 0, True
    while killed:
        out = tmp_path / f"killed-after-{steps}"
        if old:
            write_folder(out, old, LIMITS)
        killed = write_until_killed(out, new, steps)

        built = build(out)
        assert built in (None, old, new), f"killed after {steps} steps"
        assert killed or built == new

        write_folder(out, new, LIMITS)
        left = {name: data for name, data in state(out).items() if not name.startswith(".xplock-")}
        assert left == state(tmp_path / "wanted")
        steps += 1
    assert steps > 2
