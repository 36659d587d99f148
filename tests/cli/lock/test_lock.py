"""xplock lock: a folder in, a lock out, and nothing else touched."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rig.builders.projects import HOME, World, locked, moves, small_world, text_of

from render.cli.run import run
from render.limits import Limits
from render.lock.model import Lock
from render.lock.text.file import read_lock
from render.system.files import LOCK_FILE


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A small ecosystem: app, tool and old all need base."""
    return small_world(tmp_path)


def test_a_folder_is_locked_with_one_version_that_suits_everyone(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    project = world.project("shop", "app:v1.0.0", "tool")

    code = run(["lock", str(project)])

    assert code == 0
    assert locked(project) == {"app": "v1.0.0", "base": "v1.1.0", "tool": "v1.0.0"}
    assert capsys.readouterr().out.splitlines() == [
        f"Added    {HOME}/app v1.0.0 (asked for)",
        f"Added    {HOME}/base v1.1.0 (required by app, tool)",
        f"Added    {HOME}/tool v1.0.0 (asked for)",
        f"{project}/{LOCK_FILE}: 3 packages, 3 added, 0 unchanged",
    ]


def _remove(folder: Path) -> None:
    shutil.rmtree(folder)


def _empty(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def _replace_by_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.touch()


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (
            _remove,
            "is not a folder\n  why:  it has to be the OCI image layout that stands in for xpkg.example.org",
        ),
        (_replace_by_file, "is not a folder\n  why:  it has to be the OCI image layout"),
        (_empty, "is not an OCI image layout\n  why:  such a folder has the files oci-layout and index.json"),
    ],
    ids=["gone", "a file", "empty"],
)
@pytest.mark.parametrize("command", [["lock"], ["render", "--resolve"], ["verify"]], ids=" ".join)
def test_a_layout_that_is_none_is_told_where_it_is_read(
    world: World,
    command: list[str],
    spoil: Callable[[Path], None],
    told: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    project = world.project("shop", "app:v1.0.0")
    run(["-q", "lock", str(project)])
    expected = (project / LOCK_FILE).read_bytes()
    if command != ["verify"]:
        world.project("shop", "app:v2.0.0")
    spoil(world.layout)
    capsys.readouterr()

    code = run([*command, str(project)])

    errors = capsys.readouterr().err
    assert (code, text_of(project)) == (2, expected)
    assert errors.startswith(f"error: {world.layout} {told}")


@pytest.mark.parametrize("spoil", [_remove, _replace_by_file])
@pytest.mark.parametrize("command", [["lock"], ["render", "--resolve"]], ids=" ".join)
def test_a_used_folder_that_is_not_there_is_told(
    world: World, command: list[str], spoil: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    platform = world.project("platform", "base:v1.0.0")
    project = world.project("shop", "app:v1.0.0", more="uses: [../platform]\n")
    spoil(platform)

    code = run([*command, str(project)])

    assert (code, (project / LOCK_FILE).exists()) == (2, False)
    assert f"error: {platform} is used, and is not a folder\n" in capsys.readouterr().err


def test_locking_again_asks_nobody_and_leaves_the_file_alone(world: World) -> None:
    project = world.project("shop", "app:v1.0.0")
    run(["lock", str(project)])
    before = (project / LOCK_FILE).stat()
    shutil.rmtree(world.layout / "blobs")

    code = run(["lock", str(project)])

    after = (project / LOCK_FILE).stat()
    assert code == 0
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_pin_that_still_fits_stays_when_something_newer_comes_out(world: World) -> None:
    project = world.project("shop", "app:v1.0.0")
    run(["lock", str(project)])
    world.publish("base v1.2.0")
    world.project("shop", "app:v1.0.0", "tool")

    run(["lock", str(project)])

    assert locked(project) == {"app": "v1.0.0", "base": "v1.1.0", "tool": "v1.0.0"}


@pytest.mark.parametrize(
    ("options", "base"),
    [
        (["-U"], "v1.2.0"),
        (["-P", "base"], "v1.2.0"),
        (["-P", f"{HOME}/base=v1.0.0"], "v1.0.0"),
        ([], "v1.1.0"),
    ],
)
def test_only_an_upgrade_moves_a_pin_that_fits(world: World, options: list[str], base: str) -> None:
    project = world.project("shop", "app:v1.0.0")
    run(["lock", str(project)])
    world.publish("base v1.2.0")

    code = run(["lock", *options, str(project)])

    assert (code, locked(project)["base"]) == (0, base)


def test_an_upgrade_that_nobody_accepts_is_refused_and_names_who(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    project = world.project("shop", "app:v1.0.0")
    run(["lock", str(project)])
    before = text_of(project)

    code = run(["lock", "-P", "base=v2.0.0", str(project)])

    assert code == 4
    errors = capsys.readouterr().err
    assert f"{HOME}/app v1.0.0 accepts {HOME}/base ^1" in errors
    assert "the command line" in errors
    assert text_of(project) == before


def test_an_upgrade_of_a_package_that_is_not_locked_suggests_one_that_is(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    project = world.project("shop", "app:v1.0.0")
    run(["lock", str(project)])

    code = run(["lock", "-P", "bases", str(project)])

    assert code == 2
    assert f"did you mean {HOME}/base?" in capsys.readouterr().err


def test_check_writes_nothing_and_tells_by_its_exit_code(world: World) -> None:
    project = world.project("shop", "app:v1.0.0")
    missing = run(["lock", "--check", str(project)])
    written_meanwhile = (project / LOCK_FILE).exists()
    run(["lock", str(project)])
    current = run(["lock", "--check", str(project)])
    world.project("shop", "app:v2.0.0")
    before = text_of(project)

    stale = run(["lock", "--check", str(project)])

    assert (missing, written_meanwhile, current, stale) == (3, False, 0, 3)
    assert text_of(project) == before


def test_a_dry_run_tells_what_it_would_do_and_does_not(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    project = world.project("shop", "app:v1.0.0")

    code = run(["lock", "--dry-run", "-o", "json", str(project)])

    [report] = json.loads(capsys.readouterr().out)
    assert code == 0
    assert [entry["source"] for entry in report["added"]] == [f"{HOME}/app", f"{HOME}/base"]
    assert not (project / LOCK_FILE).exists()
    run(["lock", "--dry-run", str(project)])
    assert capsys.readouterr().err.endswith("\nnothing was written\n")


def test_quiet_says_nothing(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    project = world.project("shop", "app:v1.0.0")

    run(["-q", "lock", str(project)])

    output = capsys.readouterr()
    assert (output.out, output.err) == ("", "")


def test_versions_that_contradict_each_other_are_explained_with_an_edit_that_helps(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    project = world.project("shop", "app:v2.0.0", "old:v1.0.0")

    code = run(["lock", str(project)])

    errors = capsys.readouterr().err
    assert code == 4
    assert f"no version of {HOME}/base suits every dependant" in errors
    assert f"{HOME}/app v2.0.0 accepts {HOME}/base >=v2" in errors
    assert f"{HOME}/old v1.0.0 accepts {HOME}/base <v2" in errors
    assert f"ask for {HOME}/app v1.0.0 instead" in errors
    assert not (project / LOCK_FILE).exists()


def test_a_folder_that_fails_does_not_keep_the_lock_of_another_one_from_being_written(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = world.project("good", "app:v1.0.0"), world.project("bad", "app:v9.0.0")

    code = run(["lock", str(good), str(bad)])

    errors = capsys.readouterr().err
    assert code == 1
    assert f"in {bad}:" in errors
    assert "1 of 2 folders could not be locked" in errors
    assert (good / LOCK_FILE).exists()


def test_several_folders_are_locked_in_one_call(world: World) -> None:
    folders = [world.project(name, "app:v1.0.0") for name in ("one", "two")]

    code = run(["lock", *map(str, folders)])

    assert code == 0
    assert text_of(folders[0]) == text_of(folders[1])


def test_offline_keeps_what_is_locked_and_cached(world: World) -> None:
    project = world.project("shop", "app:v1.0.0", "tool:v1.0.0")
    run(["lock", str(project)])
    (project / "xplock.yaml").write_text(f"roots:\n  - package: {HOME}/app:v1.0.0\n")

    code = run(["lock", "--offline", str(project)])

    # Nobody asks for tool any more; it is installed, and stays until it is retired.
    assert (code, locked(project)) == (0, {"app": "v1.0.0", "base": "v1.1.0", "tool": "v1.0.0"})


def test_offline_says_what_is_not_at_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "xplock.yaml").write_text(f"roots:\n  - package: {HOME}/app:v1.0.0\n")

    code = run(["lock", "--offline", str(tmp_path)])

    assert code == 1
    assert f"{HOME}/app:v1.0.0 is not available offline" in capsys.readouterr().err


def test_a_locked_version_that_vanished_is_not_lowered_silently(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    project = world.project("shop", "base")
    run(["lock", str(project)])
    shutil.rmtree(world.layout)
    world.publish("base v1.0.0")
    before = text_of(project)

    refused = run(["lock", "-U", str(project)])
    kept = text_of(project)
    accepted = run(["lock", "-U", "--allow-downgrade", str(project)])

    assert (refused, accepted) == (1, 0)
    assert "would move down from v2.0.0 to v1.0.0" in capsys.readouterr().err
    assert kept == before
    assert locked(project) == {"base": "v1.0.0"}


def test_a_moved_tag_changes_nothing_but_is_told(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    project = world.project("shop", "app:v1.0.0")
    run(["lock", str(project)])
    before = (read_lock(project, Limits()) or Lock()).packages
    world.publish("base v1.1.0", {"extra": "*"})
    world.publish("extra v1.0.0")
    world.project("shop", "app:v1.0.0", "tool")

    code = run(["lock", str(project)])

    after = (read_lock(project, Limits()) or Lock()).packages
    warnings = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning:")]
    assert code == 0
    assert {source: after[source].digest for source in before} == {s: p.digest for s, p in before.items()}
    assert len(warnings) == 1
    assert f"{HOME}/base v1.1.0: tag moved since it was locked" in warnings[0]


def test_an_upgrade_takes_what_a_moved_tag_names_now(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    project = world.project("shop", "app:v1.0.0")
    run(["lock", str(project)])
    world.publish("base v1.1.0", {"extra": "*"})
    world.publish("extra v1.0.0")

    code = run(["lock", "-P", "base", str(project)])

    assert (code, locked(project)) == (0, {"app": "v1.0.0", "base": "v1.1.0", "extra": "v1.0.0"})
    assert (
        f"Updated  {HOME}/base v1.1.0 -> v1.1.0\n"
        "           (same version, other digest; required by app)\n" in capsys.readouterr().out
    )


def test_the_lock_is_the_same_whatever_the_machine_is_like(world: World) -> None:
    project = world.project("shop", "app:v1.0.0", "tool")
    run(["lock", str(project)])
    expected = text_of(project)

    for seed, locale in (("1", "C"), ("2", "C.UTF-8"), ("3", "POSIX")):
        (project / LOCK_FILE).unlink()
        environ = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "LC_ALL": locale,
            "TZ": "Asia/Tokyo",
            "XPLOCK_CACHE_DIR": "",
        }
        subprocess.run([sys.executable, "-m", "render", "-q", "lock", str(project)], env=environ, check=True)

        assert text_of(project) == expected


@pytest.mark.parametrize(
    ("break_it", "code"),
    [
        (lambda folder: (folder / "xplock.yaml").write_text("rots: []\n"), 2),
        (lambda folder: (folder / "x.yaml").write_text("kind: [\n"), 2),
        (lambda folder: (folder / "xplock.yaml").write_text(f"roots:\n  - package: {HOME}/nobody:v1\n"), 1),
    ],
    ids=["an unknown setting", "broken YAML", "a package that does not exist"],
)
def test_whatever_fails_the_older_lock_stays_byte_for_byte(
    world: World, break_it: Callable[[Path], object], code: int
) -> None:
    project = world.project("shop", "app:v1.0.0")
    run(["lock", str(project)])
    before = text_of(project)
    break_it(project)

    found = run(["lock", "--layout", str(world.layout), str(project)])

    assert found == code
    assert text_of(project) == before
    assert sorted(path.name for path in project.iterdir() if path.name.startswith(".")) == []


def test_a_root_for_a_locked_source_keeps_its_object_name(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    project = world.project("shop", "app:v1.0.0")
    run(["lock", str(project)])
    with (project / "base.yaml").open("w") as manifest:
        manifest.write(
            "apiVersion: pkg.crossplane.io/v1\nkind: Configuration\nmetadata:\n  name: my-base\n"
            f"spec:\n  package: {HOME}/base:v1.1.0\n"
        )

    code = run(["lock", str(project)])

    assert code == 4
    assert f"{HOME}/base is already installed as acme-base" in capsys.readouterr().err


KNOWN = "crossplaneVersion: v2.3.4\n"


@pytest.fixture
def moving(tmp_path: Path) -> World:
    """An ecosystem in which newco takes over what acme published: app and lone need providers of both."""
    world = World(tmp_path)
    world.publish("net v1.0.0", kind="Provider", crds=["nets.example.org"])
    world.publish("lone v1.0.0", kind="Provider", crds=["lones.example.org"])
    world.publish("newco/net v2.0.0", kind="Provider", crds=["nets.example.org"], replaces=["net"])
    world.publish("newco/lone v2.0.0", kind="Provider", crds=["lones.example.org"])
    world.publish("app v1.0.0", {"net": ">=v1"})
    return world


def test_what_leaves_moves_and_returns_is_told_step_by_step(
    moving: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    newco = "xpkg.example.org/newco"

    def step(*roots: str, more: str = "") -> list[str]:
        monkeypatch.chdir(moving.project("shop", *roots, more=KNOWN + more))
        assert run(["lock"]) == 0
        *lines, summary = capsys.readouterr().out.splitlines()
        return [*lines, summary.partition(": ")[2]]

    first = step("app", "net", "lone")
    left = step("app", "net")
    back = step("app", "net", "lone")
    moved = step("app", "newco/net", "newco/lone", more=moves("lone", "newco/lone"))
    again = step("app", "newco/net", "newco/lone", more=moves("lone", "newco/lone"))

    assert first[-1] == "3 packages, 3 added, 0 unchanged"
    assert left == [
        f"Leaving  {HOME}/lone v1.0.0",
        "           nothing requires it any more; held until:",
        f"           xplock retire {HOME}/lone",
        f"Inputs   root {HOME}/lone was removed",
        "3 packages, 1 leaving, 2 unchanged",
    ]
    assert back == [
        f"Returned {HOME}/lone v1.0.0 (asked for; it was leaving)",
        f"Inputs   root {HOME}/lone was added",
        "3 packages, 1 returned, 2 unchanged",
    ]
    assert moved == [
        f"Added    {newco}/lone v2.0.0 (asked for)",
        f"Moved    {HOME}/",
        f"           lone  v1.0.0 -> {newco}/lone v2.0.0 by deactivate",
        "             (the old one is deactivated; your moves say so)",
        f"           net   v1.0.0 -> {newco}/net v2.0.0 by alias",
        "             (Provider acme-net keeps its name and its source, and gets the new",
        "              bytes; the new one claims it)",
        f"Off      {HOME}/lone v1.0.0",
        f"           replaced by {newco}/lone; retire when everyone has",
        "           moved:",
        f"           xplock retire {HOME}/lone",
        f"Inputs   root {HOME}/lone was removed; root",
        f"           {HOME}/net was removed; root",
        f"           {newco}/lone was added; root",
        f"           {newco}/net was added; setting moves was added",
        "3 packages and 1 deactivated, 1 added, 2 moved, 1 unchanged",
    ]
    assert again == ["3 packages and 1 deactivated, 3 unchanged"]


def test_a_stranger_that_claims_to_replace_something_is_told_of_and_changes_nothing(
    moving: World, capsys: pytest.CaptureFixture[str]
) -> None:
    moving.publish("newco/fork v9.0.0", kind="Provider", replaces=["net"])
    moving.publish("stack v1.0.0", {"net": "*", "newco/fork": "*"})
    project = moving.project("shop", "stack")

    code = run(["lock", str(project)])

    output = capsys.readouterr()
    assert code == 0
    assert f"xpkg.example.org/newco/fork says that it replaces {HOME}/net, without effect" in output.err
    assert [line.split()[0] for line in output.out.splitlines()[:-1]] == ["Added", "Added", "Added"]
    assert "replaces" not in text_of(project).decode()


def test_an_alias_is_upgraded_by_either_name(moving: World) -> None:
    project = moving.project("shop", "app", "net")
    run(["-q", "lock", str(project)])
    moving.project("shop", "app", "newco/net")
    run(["-q", "lock", str(project)])
    moving.publish("newco/net v2.1.0", kind="Provider", crds=["nets.example.org"], replaces=["net"])
    moving.publish("newco/net v2.2.0", kind="Provider", crds=["nets.example.org"], replaces=["net"])

    codes = [run(["-q", "lock", "-P", f"{HOME}/net=v2.1.0", str(project)])]
    first = locked(project)["net"]
    codes.append(run(["-q", "lock", "-P", "newco/net", str(project)]))

    assert (codes, first, locked(project)["net"]) == ([0, 0], "v2.1.0", "v2.2.0")


def test_a_package_of_unknown_objects_leaves_only_if_that_is_accepted(
    moving: World, capsys: pytest.CaptureFixture[str]
) -> None:
    project = moving.project("shop", "lone")
    run(["-q", "lock", str(project)])
    before = text_of(project)
    shutil.rmtree(moving.layout)
    shutil.rmtree(os.environ["XDG_CACHE_HOME"])
    moving.publish("net v1.0.0", kind="Provider", crds=["nets.example.org"])
    moving.project("shop", "net")

    refused = run(["lock", str(project)])
    advice, kept = capsys.readouterr().err, text_of(project)
    accepted = run(["lock", "--accept-unknown-objects", str(project)])

    output = capsys.readouterr()
    assert (refused, accepted, kept) == (1, 0, before)
    assert "xplock lock --accept-unknown-objects" in advice
    assert f"warning: {HOME}/lone leaves; its installed objects are not known" in output.err
    assert f"Leaving  {HOME}/lone v1.0.0" in output.out
