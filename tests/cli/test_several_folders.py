"""Several folders of one cluster: each is locked after those it uses, and none has what another has."""

import json
from pathlib import Path

import pytest
from rig.builders.projects import HOME, World, locked, moves, small_world, text_of
from rig.registry.layout_server import serve_layout

from render.cli.run import run
from render.limits import Limits
from render.lock.model import Lock
from render.lock.text.file import read_lock
from render.references import parse_source
from render.system.files import LOCK_FILE

PLATFORM = "uses:\n  - ../platform\n"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A small ecosystem: app, tool and old all need base; folders are named from where they are."""
    monkeypatch.chdir(tmp_path)
    return small_world(tmp_path)


def provided(folder: Path) -> dict[str, str]:
    lock = read_lock(folder, Limits()) or Lock()
    return {source.name: f"{package.version} {package.folder}" for source, package in lock.provided.items()}


def test_a_folder_is_locked_with_what_the_one_it_uses_has(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.project("platform", "base:v1.0.0")
    app = world.project("app", "app", more=PLATFORM)
    run(["lock", "platform"])
    capsys.readouterr()

    code = run(["lock", "app"])

    assert code == 0
    assert (locked(app), provided(app)) == ({"app": "v1.0.0"}, {"base": "v1.0.0 ../platform"})
    assert capsys.readouterr().out.splitlines() == [
        f"Added    {HOME}/app v1.0.0 (asked for)",
        f"Provided {HOME}/base v1.0.0 (by ../platform)",
        f"app/{LOCK_FILE}: 1 package, 1 added, 0 unchanged",
    ]


@pytest.mark.parametrize("order", [["platform", "app"], ["app", "platform"]])
def test_in_one_call_the_used_folder_comes_first_whatever_the_order(world: World, order: list[str]) -> None:
    platform = world.project("platform", "base:v1.0.0")
    app = world.project("app", "app", more=PLATFORM)

    code = run(["lock", *order])

    assert code == 0
    assert locked(platform) == {"base": "v1.0.0"}
    assert (locked(app), provided(app)) == ({"app": "v1.0.0"}, {"base": "v1.0.0 ../platform"})


def test_reports_come_in_the_order_of_the_call(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.project("platform", "base:v1.0.0")
    world.project("app", "app", more=PLATFORM)

    run(["lock", "-o", "json", "app", "platform"])

    assert [report["folder"] for report in json.loads(capsys.readouterr().out)] == ["app", "platform"]


def test_locking_again_asks_nobody(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_layout(world.layout, "xpkg.example.org") as server:
        world.host = server.host
        monkeypatch.setenv("XPLOCK_PLAIN_HTTP", server.host)
        monkeypatch.setenv("XPLOCK_CACHE_DIR", str(world.folder / "cache"))
        world.project("platform", "base:v1.0.0")
        app = world.project("app", "app", more=PLATFORM)
        run(["lock", "platform", "app"])
        before, asked = text_of(app), len(server.requests)

        code = run(["lock", "platform", "app"])

        assert asked > 0
        assert (code, text_of(app), len(server.requests)) == (0, before, asked)


def test_the_new_lock_of_a_used_folder_counts_and_not_the_one_on_disk(world: World) -> None:
    world.project("platform", "base:v1.0.0")
    app = world.project("app", "tool", more=PLATFORM)
    run(["lock", "platform", "app"])
    world.project("platform", "base:v2.0.0")

    code = run(["lock", "app", "platform"])

    assert (code, provided(app)) == (0, {"base": "v2.0.0 ../platform"})


def test_what_is_used_by_way_of_a_folder_that_is_not_in_the_call_comes_first_too(world: World) -> None:
    world.project("base", "base:v1.0.0")
    world.project("platform", "tool", more="uses:\n  - ../base\n")
    app = world.project("app", "app", more=PLATFORM)
    run(["lock", "base", "platform"])
    world.project("base", "base:v1.1.0")

    code = run(["lock", "app", "base"])

    assert (code, provided(app)) == (0, {"base": "v1.1.0 ../base"})


def test_if_one_of_them_fails_those_that_use_it_are_not_tried_and_folders_of_other_clusters_are_written(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.project("platform", "base:v9.0.0")
    app = world.project("app", "app", more=PLATFORM)
    lone = world.project("lone", "tool")

    code = run(["lock", "platform", "app", "lone"])

    errors = capsys.readouterr().err
    assert code == 1
    assert "app was not tried: it uses platform" in errors
    assert "1 of 3 folders could not be locked" in errors
    assert not (app / LOCK_FILE).exists()
    assert locked(lone) == {"tool": "v1.0.0", "base": "v2.0.0"}


def test_if_the_one_that_uses_fails_the_used_one_is_not_written(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    platform = world.project("platform", "base:v1.0.0")
    world.project("app", "app:v2.0.0", more=PLATFORM)

    code = run(["lock", "platform", "app"])

    assert code == 4
    assert "platform stays as it is: it is of one cluster with app" in capsys.readouterr().err
    assert not (platform / LOCK_FILE).exists()


def test_an_error_that_many_folders_have_is_reported_once(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two", "three"):
        world.project(name, "none:v1.0.0")
    world.project("good", "base:v1.0.0")

    code = run(["lock", "one", "two", "good", "three"])

    errors = capsys.readouterr().err
    assert code == 1
    assert "in one, two, three:\n" in errors
    assert errors.count(f"error: {HOME}/none ") == 1


def test_a_folder_that_uses_one_that_is_not_there_does_not_stop_the_others(world: World) -> None:
    world.project("lost", "app", more="uses:\n  - ../gone\n")
    good = world.project("good", "base:v1.0.0")

    code = run(["lock", "lost", "good"])

    assert (code, locked(good)) == (2, {"base": "v1.0.0"})


def test_a_used_folder_that_was_never_locked_has_to_be_first(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.project("platform", "base:v1.0.0")
    world.project("app", "app", more=PLATFORM)

    code = run(["lock", "app"])

    assert code == 3
    assert "lock it first: xplock lock platform" in capsys.readouterr().err


def test_folders_that_use_each_other_are_refused(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.project("platform", "base:v1.0.0", more="uses:\n  - ../app\n")
    world.project("app", "app", more=PLATFORM)

    code = run(["lock", "platform", "app"])

    assert code == 2
    assert "app uses platform uses app" in capsys.readouterr().err


def test_two_folders_of_one_cluster_that_lock_the_same_are_told_what_to_write(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.project("platform", "old")
    for name in ("one", "two"):
        world.publish(f"{name} v1.0.0", {"shared": "*"})
    world.publish("shared v1.0.0")
    one = world.project("one", "one", more=PLATFORM)
    world.project("teams/two", "two", more="uses:\n  - ../../platform\n")

    code = run(["lock", "platform", "one", "teams/two"])

    errors = capsys.readouterr().err
    assert code == 4
    assert "error: one and teams/two have locked the same package" in errors
    assert f"{HOME}/shared" in errors
    assert [line.strip() for line in errors[errors.index("next: ") :].splitlines()] == [
        "next: ask for it in a folder that they use, platform, and nowhere else; each of them needs:",
        "# one/xplock.yaml",
        "uses:",
        "- ../platform",
        "# teams/two/xplock.yaml",
        "uses:",
        "- ../../platform",
    ]
    assert not (one / LOCK_FILE).exists()


def test_where_no_folder_is_used_by_both_a_new_one_is_named(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("x", "y", "z"):
        world.publish(f"{name} v1.0.0")
    world.project("x", "x")
    world.project("y", "y")
    world.project("one", "tool", more="uses:\n  - ../x\n")
    world.project("two", "old", more="uses:\n  - ../y\n")
    world.project("both", "z", more="uses:\n  - ../x\n  - ../y\n")

    separate = run(["lock", "x", "y", "one", "two"])
    together = run(["lock", "both", "one", "two"])

    errors = capsys.readouterr().err
    assert (separate, together) == (0, 4)
    assert [line.strip() for line in errors[errors.index("next: ") :].splitlines()] == [
        "next: ask for it in a new folder, shared, and nowhere else; each of them needs:",
        "# one/xplock.yaml",
        "uses:",
        "- ../shared",
        "# two/xplock.yaml",
        "uses:",
        "- ../shared",
    ]


def test_a_folder_cannot_use_two_that_have_the_same(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.publish("z v1.0.0")
    world.project("one", "tool")
    world.project("two", "old")
    world.project("both", "z", more="uses:\n  - ../one\n  - ../two\n")

    code = run(["lock", "one", "two", "both"])

    errors = capsys.readouterr().err
    assert code == 4
    assert f"{HOME}/base is locked in two of the folders that are used" in errors
    assert "../one and ../two both render it" in errors


def test_an_alias_and_its_old_source_are_the_same(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.publish("new v1.5.0")
    world.publish("lone v1.0.0")
    moved = moves("base", "new")
    world.project("platform", "lone")
    world.project("one", "app:v1.0.0", more=PLATFORM)
    run(["lock", "platform", "one"])
    world.project("one", "app:v1.0.0", "new", more=PLATFORM + moved)
    world.project("two", "base", more=PLATFORM)
    capsys.readouterr()

    code = run(["lock", "one", "two"])

    assert code == 4
    assert f"why:  {HOME}/base\n" in capsys.readouterr().err


def test_folders_that_are_not_connected_may_lock_the_same(world: World) -> None:
    world.project("one", "app")
    world.project("two", "app")

    assert run(["lock", "one", "two"]) == 0


def test_a_folder_that_is_named_twice_is_locked_once(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.project("one", "app")

    code = run(["lock", "-o", "json", "one", "./one", "one/../one"])

    assert (code, len(json.loads(capsys.readouterr().out))) == (0, 1)


def test_a_using_folder_holds_an_upgrade_back(world: World) -> None:
    platform = world.project("platform", "base:v1.0.0")
    world.project("app", "app:v1.0.0", more=PLATFORM)
    run(["lock", "platform", "app"])
    world.project("platform", "base")

    code = run(["lock", "-U", "platform", "app"])

    assert (code, locked(platform)) == (0, {"base": "v1.1.0"})
    assert run(["lock", "-U", "platform"]) == 0
    assert locked(platform) == {"base": "v2.0.0"}


def test_a_using_folder_makes_a_move_an_alias(world: World) -> None:
    world.publish("new v1.5.0")
    world.publish("legacy v1.0.0", {"base": "^1"})
    platform = world.project("platform", "base:v1.0.0", more="crossplaneVersion: v2.3.4\n")
    world.project("app", "legacy", more=PLATFORM)
    run(["lock", "platform", "app"])
    world.project("platform", "new", more=f"crossplaneVersion: v2.3.4\n{moves('base', 'new')}")

    code = run(["lock", "platform", "app"])

    lock = read_lock(platform, Limits()) or Lock()
    app = read_lock(Path("app"), Limits()) or Lock()
    assert code == 0
    assert lock.packages[parse_source(f"{HOME}/new")].installed_as == parse_source(f"{HOME}/base")
    assert app.packages[parse_source(f"{HOME}/legacy")].detached == ()
    assert provided(Path("app")) == {"new": "v1.5.0 ../platform"}


def test_check_tells_that_a_used_folder_has_changed_and_whether_that_fits(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.project("platform", "base:v1.0.0")
    app = world.project("app", "app:v1.0.0", more=PLATFORM)
    run(["lock", "platform", "app"])
    before = text_of(app)
    current = run(["lock", "--check", "app"])
    world.project("platform", "base:v1.1.0")
    run(["lock", "platform"])
    changed = run(["lock", "--check", "app"])
    world.project("platform", "base:v2.0.0")
    run(["lock", "platform"])
    capsys.readouterr()

    unsuited = run(["lock", "--check", "app"])

    errors = capsys.readouterr().err
    assert (current, changed, unsuited) == (0, 3, 4)
    assert "../platform provides v2.0.0" in errors
    assert text_of(app) == before


def test_check_exits_4_even_where_another_version_would_suit(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.project("platform", "base:v1.0.0")
    world.project("app", "app", more=PLATFORM)
    run(["lock", "platform", "app"])
    world.project("platform", "base:v2.0.0")
    run(["lock", "platform"])
    capsys.readouterr()

    code = run(["lock", "--check", "app"])

    assert code == 4
    assert (
        f"{HOME}/app v1.0.0 accepts ^1 of {HOME}/base; ../platform provides v2.0.0" in capsys.readouterr().err
    )
    assert run(["lock", "app"]) == 0
    assert locked(Path("app")) == {"app": "v2.0.0"}


def test_rendering_never_looks_at_what_used_folders_have(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    platform = world.project("platform", "base:v1.0.0")
    world.project("app", "app:v1.0.0", more=PLATFORM)
    run(["lock", "platform", "app"])
    capsys.readouterr()
    run(["render", "app"])
    expected = capsys.readouterr().out
    world.project("platform", "base:v2.0.0")
    run(["lock", "platform"])
    capsys.readouterr()

    newer = run(["render", "app"]), capsys.readouterr().out
    (platform / LOCK_FILE).write_text("damaged")
    damaged = run(["render", "app"]), capsys.readouterr().out
    (platform / LOCK_FILE).unlink()
    gone = run(["render", "app"]), capsys.readouterr().out

    assert newer == damaged == gone == (0, expected)
    assert f"package: {HOME}/app:v1.0.0" in expected
    assert "acme-base" not in expected


def test_what_a_used_folder_takes_over_is_dropped_and_told(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.project("platform", "old")
    app = world.project("app", "app:v1.0.0", "tool", "lone")
    world.publish("lone v1.0.0")
    run(["lock", "platform", "app"])
    world.project("platform", "old", "lone")
    world.project("app", "app:v1.0.0", "tool", more=PLATFORM)
    capsys.readouterr()

    code = run(["lock", "platform", "app"])

    output = capsys.readouterr()
    assert code == 0
    assert locked(app) == {"app": "v1.0.0", "tool": "v1.0.0"}
    assert f"Removed  {HOME}/base v1.1.0 (../platform provides it now)" in output.out
    assert f"{HOME}/lone is dropped here; ../platform provides it from now on" in output.err


def test_a_dry_run_of_rendering_sees_used_folders(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.project("platform", "base:v1.0.0")
    world.project("app", "app", more=PLATFORM)
    run(["lock", "platform"])
    capsys.readouterr()

    code = run(["render", "--resolve", "app"])

    rendered = capsys.readouterr().out
    assert code == 0
    assert f"package: {HOME}/app:v1.0.0" in rendered
    assert "acme-base" not in rendered
