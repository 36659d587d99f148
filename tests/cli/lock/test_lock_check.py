"""xplock lock --check: every lock is resolved, and its file compared with the text that would be written."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from rig.builders.projects import HOME, World, moves, small_world, text_of
from rig.commands.served import Served, serve
from rig.registry.docker import RunningRegistry

from render.cli.run import run
from render.system.files import LOCK_FILE

REQUEST = re.compile(r"^(?:GET|HEAD) http\S+: \d+$", re.MULTILINE)
OTHER_DIGEST = "sha256:" + "ab" * 32


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A small ecosystem; app needs base, and base is a Provider with a CRD."""
    world = small_world(tmp_path)
    world.publish("sql v1.0.0", kind="Provider", crds=["databases.sql.example.org"], family="sql")
    world.publish("site v1.0.0", {"sql": ">=v1", "base": "^1"})
    return world


@pytest.fixture
def project(world: World) -> Path:
    """A locked project."""
    folder = world.project("shop", "site:v1.0.0")
    assert run(["-q", "lock", str(folder)]) == 0
    return folder


def edit(folder: Path, old: str, new: str) -> None:
    """Replace a part of a lock, wherever it is."""
    file = folder / LOCK_FILE
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


# Text that only the packages themselves can contradict.
DERIVED = {
    "constraint": ('constraints: "^1"', 'constraints: "^1.0"'),
    "kind of a dependency": ("type: Provider", "type: Function"),
    "number of objects": ("CustomResourceDefinition: 1", "CustomResourceDefinition: 2"),
    "list of objects": ("objectsDigest: sha256:", "objectsDigest: sha256:00"),
    "definitions": ("definitionsDigest: sha256:", "definitionsDigest: sha256:00"),
    "groups": ("- sql.example.org", "- dns.example.org"),
    "family": ("family: sql", "family: dns"),
}


@pytest.mark.parametrize(("old", "new"), DERIVED.values(), ids=DERIVED)
@pytest.mark.parametrize("offline", [[], ["--offline"]], ids=["online", "offline"])
def test_text_that_the_packages_contradict_would_change(
    project: Path, old: str, new: str, offline: list[str]
) -> None:
    honest = text_of(project)
    if old.endswith("sha256:"):
        key = old.partition(":")[0]
        found = re.search(rf"{key}: (sha256:\w{{64}})", honest.decode())
        assert found
        old, new = found[0], f"{key}: {OTHER_DIGEST}"
    edit(project, old, new)
    edited = text_of(project)

    code = run(["lock", "--check", *offline, str(project)])
    unchanged = text_of(project)
    repaired = run(["lock", *offline, str(project)])

    assert (code, unchanged) == (3, edited)
    assert (repaired, text_of(project)) == (0, honest)


@pytest.mark.parametrize("options", [["--check"], ["--check", "--offline"], []])
def test_a_lock_without_digests_of_definitions_is_good_until_something_else_changes(
    project: Path, options: list[str]
) -> None:
    older = re.sub(r"\n *definitionsDigest: .*", "", text_of(project).decode()).encode()
    assert older != text_of(project)
    (project / LOCK_FILE).write_bytes(older)

    code = run(["lock", *options, str(project)])

    assert (code, text_of(project)) == (0, older)


WRITTEN_OTHERWISE: dict[str, Callable[[str], str]] = {
    "a comment": lambda text: text.replace("\nversion: 1", "\n# by hand\nversion: 1"),
    "an empty line": lambda text: text.replace("\nversion: 1", "\n\nversion: 1"),
    "quotes": lambda text: text.replace("kind: Lock\n", 'kind: "Lock"\n'),
    "another order": lambda text: text.replace("version: 1\nrevision: 0\n", "revision: 0\nversion: 1\n"),
    "no header": lambda text: text.partition("\n")[2],
    "ends of lines": lambda text: text.replace("\n", "\r\n"),
}


@pytest.mark.parametrize("change", WRITTEN_OTHERWISE.values(), ids=WRITTEN_OTHERWISE)
def test_a_lock_that_says_the_same_in_another_way_would_change_and_is_written_again(
    project: Path, change: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    honest = text_of(project)
    (project / LOCK_FILE).write_bytes(change(honest.decode()).encode())
    assert text_of(project) != honest
    capsys.readouterr()

    checked = run(["lock", "--check", str(project)])
    said = capsys.readouterr()
    written = run(["lock", str(project)])
    again = run(["lock", "--check", str(project)])

    assert (checked, written, again, text_of(project)) == (3, 0, 0, honest)
    for out in (said.out, capsys.readouterr().out):
        # Below a long path, the reason has a line of its own.
        words = " ".join(out.replace("(", "").replace(")", "").split())
        assert f"Changed {project / LOCK_FILE} only its text, as xplock writes it " in words


def test_a_check_that_fails_prints_the_command_that_helps(
    world: World, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = world.project("shop two", "app:v1.0.0")

    code = run(["lock", "--check", str(project), str(other)])

    assert code == 3
    assert (
        f"next: run `xplock lock {project} '{other}'` and commit what it writes\n" in capsys.readouterr().err
    )


@pytest.mark.parametrize("options", [["-U"], ["-P", "base"], ["-P", f"{HOME}/base=v1.0.0"]], ids=str)
def test_with_an_upgrade_the_check_tells_whether_it_would_change_anything(
    world: World, project: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    world.publish("base v1.2.0")

    plain = run(["lock", "--check", str(project)])
    upgrade = run(["lock", "--check", *options, str(project)])
    errors = capsys.readouterr().err
    run(["-q", "lock", *options, str(project)])
    after = run(["lock", "--check", *options, str(project)])

    assert (plain, upgrade, after) == (0, 3, 0)
    assert f"next: run `xplock lock {' '.join(options)} {project}` and commit what it writes\n" in errors


def test_starting_over_is_compared_with_the_file(world: World, project: Path) -> None:
    same = run(["lock", "--check", "--new", str(project)])
    world.publish("base v1.2.0")

    newer = run(["lock", "--check", "--new", str(project)])

    assert (same, newer) == (0, 3)


def test_a_folder_that_fails_does_not_hide_another_that_would_change(
    world: World, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad, stale = world.project("bad", "app:v9.0.0"), world.project("stale", "app:v1.0.0")

    code = run(["lock", "--check", str(project), str(bad), str(stale)])

    errors = capsys.readouterr().err
    assert code == 3
    assert f"in {bad}:" in errors
    assert "error: 1 of 3 folders could not be resolved, and 1 of 3 locks would change\n" in errors
    assert str(stale / LOCK_FILE) in errors
    assert "are written" not in errors


def test_only_a_failure_is_told_where_no_lock_would_change(
    world: World, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = world.project("bad", "app:v9.0.0")

    code = run(["lock", "--check", str(project), str(bad)])

    assert code == 1
    assert "error: 1 of 2 folders could not be resolved\n" in capsys.readouterr().err


def test_a_lock_of_a_newer_xplock_cannot_be_compared(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(project, "revision: 0", "revision: 1")
    text = text_of(project)

    codes = run(["lock", "--check", str(project)]), run(["lock", str(project)])

    assert (codes, text_of(project)) == ((1, 0), text)
    assert "written by a newer xplock" in capsys.readouterr().err


def test_whatever_moved_or_leaves_is_confirmed(world: World) -> None:
    world.publish("net v1.0.0", kind="Provider", crds=["nets.net.example.org"])
    world.publish("new/net v2.0.0", kind="Provider", crds=["nets.net.example.org"])
    folder = world.project("moving", "app:v1.0.0", "net:v1.0.0", "tool:v1.0.0")
    run(["-q", "lock", str(folder)])
    crossplane = "crossplaneVersion: v2.3.4\n"
    world.project("moving", "app:v1.0.0", "new/net:v2.0.0", more=moves("net", "new/net") + crossplane)
    assert run(["-q", "lock", str(folder)]) == 0

    assert run(["lock", "--check", str(folder)]) == 0


@pytest.fixture
def served(open_registry: RunningRegistry, tmp_path: Path) -> Served:
    """A locked project of five packages, each in a range."""
    served = serve(open_registry, tmp_path, "check")
    for name, needs in {"e": {}, "d": {"e": "*"}, "c": {"e": "*"}, "b": {"c": "*", "d": "*"}}.items():
        served.push(f"{name} v1.0.0", **needs)
    served.push("a v1.0.0", b=">=v1", d=">=v1")
    served.ask("a")
    assert served.run("lock").code == 0
    return served


@pytest.mark.parametrize("arguments", [["lock", "--check"], ["lock"]], ids=str)
def test_where_nothing_is_new_at_most_three_requests_are_sent(served: Served, arguments: list[str]) -> None:
    served.push("e v1.1.0")

    done = served.run("-vv", *arguments)

    assert (done.code, len(REQUEST.findall(done.stderr)) <= 3) == (0, True), done.stderr


def test_without_a_cache_the_registry_confirms_a_lock(served: Served) -> None:
    shutil.rmtree(served.cache)
    edit(served.folder, 'constraints: ">=v1"', 'constraints: ">=v0"')

    done = served.run("-vv", "lock", "--check")

    assert (done.code, bool(REQUEST.findall(done.stderr))) == (3, True)


def test_offline_a_lock_is_confirmed_from_the_cache_alone(served: Served) -> None:
    cached = served.run("-vv", "lock", "--check", "--offline")
    shutil.rmtree(served.cache)
    bare = served.run("-vv", "lock", "--check", "--offline")

    assert (cached.code, bare.code) == (0, 1)
    assert not REQUEST.findall(cached.stderr + bare.stderr)
    assert f"error: {served.source('a')}@sha256:" in bare.stderr
    assert "is not available offline\n  why:  neither a layout nor the cache has it" in bare.stderr


def test_a_fresh_lock_that_cannot_be_confirmed_stays_with_a_warning(served: Served) -> None:
    text = text_of(served.folder)
    shutil.rmtree(served.cache)

    done = served.run("lock", "--offline")

    assert (done.code, text_of(served.folder)) == (0, text)
    assert (
        f"warning: {served.folder / LOCK_FILE} stays unconfirmed: {served.source('a')}@sha256:" in done.stderr
    )
