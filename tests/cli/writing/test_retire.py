"""xplock retire: only the lock changes, one step at a time, and whatever is wrong nothing does."""

import json
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
import yaml
from rig.builders.projects import HOME, World, small_world, text_of

from render.cli.run import run
from render.limits import Limits
from render.lock.freshness import check_closure
from render.lock.model import Lock
from render.lock.text.file import read_lock
from render.system.files import LOCK_FILE

GUARD = {
    "argocd.argoproj.io/sync-options": "Prune=false,Delete=confirm,ServerSideApply=true",
    "kustomize.toolkit.fluxcd.io/prune": "disabled",
}


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A small ecosystem: app, tool and old all need base."""
    return small_world(tmp_path)


@pytest.fixture
def shop(world: World, capsys: pytest.CaptureFixture[str]) -> Path:
    """A folder that asked for app and old, and asks for old alone now; the registry is gone."""
    project = world.project("shop", "app:v1.0.0", "old")
    assert run(["lock", str(project)]) == 0
    world.project("shop", "old")
    assert run(["lock", str(project)]) == 0
    shutil.rmtree(world.layout)
    world.layout.mkdir()
    capsys.readouterr()
    return project


def states(folder: Path) -> dict[str, str]:
    """Return the state of everything in a folder's lock, which holds together."""
    lock = read_lock(folder, Limits()) or Lock()
    assert check_closure(lock) == []
    return {s.name: f"{p.state}{' released' if p.released else ''}" for s, p in lock.packages.items()}


def rendered(folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, str]]:
    """Return the annotations of every package that a folder renders."""
    capsys.readouterr()
    assert run(["render", str(folder)]) == 0
    objects = yaml.safe_load_all(capsys.readouterr().out)
    return {
        value["metadata"]["name"]: value["metadata"].get("annotations", {})
        for value in objects
        if value["kind"] == "Configuration"
    }


def live(name: str, annotations: dict[str, str] | None = None) -> str:
    """Return an object as kubectl prints it."""
    metadata = {"name": name, "annotations": annotations or {}}
    return yaml.safe_dump(
        {"apiVersion": "pkg.crossplane.io/v1", "kind": "Configuration", "metadata": metadata}
    )


def say_on_stdin(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(text.encode())))


def test_a_package_goes_in_two_steps_and_its_manifest_with_it(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = rendered(shop, capsys)
    first = run(["retire", "app", "-C", str(shop)])
    between = rendered(shop, capsys)
    second = run(["retire", "app", "-C", str(shop), "--synced"])

    after = rendered(shop, capsys)
    assert (first, second) == (0, 0)
    assert before["acme-app"].items() >= GUARD.items()
    assert between["acme-app"] == {"argocd.argoproj.io/sync-options": "ServerSideApply=true"}
    assert between["acme-old"].items() >= GUARD.items()
    assert before.keys() - after.keys() == {"acme-app"}


def test_the_first_step_tells_what_to_do_next(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["retire", "app", "-C", str(shop)])

    output = capsys.readouterr()
    assert code == 0
    assert output.out.splitlines() == [
        f"Released {HOME}/app v1.0.0 (sync, then: xplock retire {HOME}/app -C {shop} --synced)",
        f"{shop}/{LOCK_FILE}: 1 released, 3 packages left",
    ]
    assert output.err.splitlines() == [
        "With its next sync Argo CD takes the guard off Configuration acme-app; that deletes nothing yet.",
        "After the second step Argo CD deletes Configuration acme-app.",
    ]


def test_the_second_step_tells_what_the_cluster_will_do(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["retire", "app", "-C", str(shop)])
    capsys.readouterr()

    run(["retire", "app", "-C", str(shop), "--synced"])

    output = capsys.readouterr()
    assert output.out.splitlines() == [
        f"Dropped  {HOME}/app v1.0.0",
        f"{shop}/{LOCK_FILE}: 1 dropped, 2 packages left",
    ]
    assert output.err.splitlines() == [
        "With its next sync that prunes Argo CD deletes Configuration acme-app."
    ]


def test_the_current_folder_is_meant_unless_another_one_is_named(
    shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(shop)

    code = run(["retire", "app"])

    assert (code, states(shop)["app"]) == (0, "orphaned released")
    assert f"(sync, then: xplock retire {HOME}/app --synced)" in capsys.readouterr().out


def test_without_a_word_about_a_sync_nothing_is_dropped(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["retire", "app", "-C", str(shop)])
    before = text_of(shop)

    code = run(["retire", "app", "-C", str(shop)])

    assert (code, text_of(shop)) == (3, before)
    assert f"then: xplock retire {HOME}/app -C {shop} --synced" in capsys.readouterr().err


@pytest.mark.parametrize("where", ["stdin", "file"])
def test_live_objects_without_a_guard_are_proof(
    shop: Path, tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(["retire", "app", "-C", str(shop)])
    text = live("acme-other", GUARD) + "---\n" + live("acme-app", {"a": "b"})
    (tmp_path / "live.yaml").write_text(text)
    say_on_stdin(text, monkeypatch)

    code = run(
        ["retire", "app", "-C", str(shop), "--live", "-" if where == "stdin" else str(tmp_path / "live.yaml")]
    )

    assert (code, states(shop)) == (0, {"base": "wanted", "old": "wanted"})


@pytest.mark.parametrize("more", [[], ["--synced"]], ids=["alone", "whatever is promised"])
def test_a_live_object_with_its_guard_has_to_sync_first(
    shop: Path, more: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["retire", "app", "-C", str(shop)])
    before = text_of(shop)
    say_on_stdin(live("acme-app", GUARD), monkeypatch)

    code = run(["retire", "app", "-C", str(shop), "--live", "-", *more])

    assert (code, text_of(shop)) == (3, before)
    assert "Configuration acme-app has kustomize.toolkit.fluxcd.io/prune: disabled" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is not among the live objects"),
        ("kind: [", "input is not kubectl output"),
        (live("acme-other"), "is not among the live objects"),
        (live("acme-app") * 2, "input is not kubectl output"),
    ],
    ids=["nothing", "broken", "another object", "two calls without ---"],
)
def test_live_objects_that_show_nothing_are_refused(
    shop: Path, text: str, says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["retire", "app", "-C", str(shop)])
    before = text_of(shop)
    say_on_stdin(text, monkeypatch)

    code = run(["retire", "app", "-C", str(shop), "--live", "-"])

    assert (code, text_of(shop)) == (2, before)
    assert says in capsys.readouterr().err


def test_live_objects_may_come_out_of_a_pipe_that_has_a_name(shop: Path, tmp_path: Path) -> None:
    run(["retire", "app", "-C", str(shop)])
    os.mkfifo(tmp_path / "pipe")

    with ThreadPoolExecutor(1) as writer:
        writer.submit((tmp_path / "pipe").write_text, live("acme-app"))
        code = run(["retire", "app", "-C", str(shop), "--live", str(tmp_path / "pipe")])

    assert code == 0


def test_a_file_of_live_objects_that_is_not_there_is_refused(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["retire", "app", "-C", str(shop)])

    code = run(["retire", "app", "-C", str(shop), "--live", str(shop / "nothing.yaml")])

    assert code == 2
    assert "nothing.yaml" in capsys.readouterr().err


def test_live_objects_have_a_limit(
    shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    size = len(text_of(shop)) + 100
    monkeypatch.setenv("XPLOCK_LIMIT_LOCK_BYTES", str(size))
    say_on_stdin("#" * (size + 1), monkeypatch)

    code = run(["retire", "app", "-C", str(shop), "--live", "-"])

    assert code == 1
    assert "XPLOCK_LIMIT_LOCK_BYTES" in capsys.readouterr().err


def test_only_the_lock_changes(shop: Path) -> None:
    others = {path.name: path.read_bytes() for path in shop.iterdir() if path.name != LOCK_FILE}

    run(["retire", "app", "-C", str(shop)])

    assert {p.name: p.read_bytes() for p in shop.iterdir() if p.name != LOCK_FILE} == others


def test_a_lock_that_is_behind_its_inputs_can_be_retired_from_and_stays_behind(
    shop: Path,
) -> None:
    (shop / "xplock.yaml").write_text(f"roots:\n  - package: {HOME}/old\n  - package: {HOME}/tool\n")

    code = run(["retire", "app", "-C", str(shop)])

    assert (code, states(shop)["app"]) == (0, "orphaned released")
    assert run(["render", str(shop)]) == 3


def test_broken_manifests_are_none_of_its_business(shop: Path) -> None:
    (shop / "broken.yaml").write_text("kind: [\n")

    assert run(["retire", "app", "-C", str(shop)]) == 0


def test_settings_that_cannot_be_read_are_refused(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (shop / "xplock.yaml").write_text("gaurd: false\n")
    before = text_of(shop)

    code = run(["retire", "app", "-C", str(shop)])

    assert (code, text_of(shop)) == (2, before)
    assert "gaurd" in capsys.readouterr().err


def test_a_lock_that_does_not_hold_together_is_refused(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (shop / LOCK_FILE).read_text()
    broken = text.replace("<v2", ">=v2")
    assert broken != text
    (shop / LOCK_FILE).write_text(broken)

    code = run(["retire", "app", "-C", str(shop)])

    assert (code, (shop / LOCK_FILE).read_text()) == (3, broken)
    assert f"run `xplock lock {shop}`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda _: None, 3),
        (lambda text: "<<<<<<< ours\n" + text, 2),
        (lambda text: text[: len(text) // 2], 2),
        (lambda text: text.replace("revision: 0", "revision: 99"), 1),
    ],
    ids=["missing", "conflict", "cut", "of a newer xplock"],
)
def test_a_lock_that_cannot_be_used_stays_as_it_is(
    shop: Path, damage: Callable[[str], str | None], code: int
) -> None:
    damaged = damage((shop / LOCK_FILE).read_text())
    (shop / LOCK_FILE).unlink()
    if damaged is not None:
        (shop / LOCK_FILE).write_text(damaged)

    found = run(["retire", "app", "-C", str(shop)])

    assert found == code
    assert ((shop / LOCK_FILE).read_text() if damaged else None) == damaged


def test_a_dry_run_tells_and_writes_nothing(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = text_of(shop)

    code = run(["retire", "app", "-C", str(shop), "--dry-run"])

    assert (code, text_of(shop)) == (0, before)
    assert f"Released {HOME}/app v1.0.0" in capsys.readouterr().out


def test_programs_get_the_same_facts(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["retire", "app", "-C", str(shop), "-o", "json"])

    output = capsys.readouterr()
    [report] = json.loads(output.out)
    assert (report["folder"], report["packages"], report["deactivated"]) == (str(shop), 3, 0)
    assert [(entry["source"], entry["state"], entry["object"]) for entry in report["released"]] == [
        (f"{HOME}/app", "orphaned", "acme-app")
    ]
    assert (report["dropped"], report["waiting"], report["free"]) == ([], [], [])
    assert report["next"] == f"xplock retire {HOME}/app -C {shop} --synced"
    assert output.err == ""


def test_quiet_says_nothing(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["-q", "retire", "app", "-C", str(shop)])

    output = capsys.readouterr()
    assert (output.out, output.err) == ("", "")


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [
        ("old", 4, f"{HOME}/old v1.0.0 is asked for"),
        ("base", 4, f"{HOME}/base v1.1.0 is required by {HOME}/old"),
        ("nobody", 2, "nobody is not in the lock"),
        ("ap", 2, f"did you mean {HOME}/app?"),
        ("", 2, "is not in the lock"),
        ("\x1b[31m", 2, "\\x1b[31m is not in the lock"),
    ],
)
def test_what_cannot_be_retired_is_refused_and_nothing_changes(
    shop: Path, name: str, code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = text_of(shop)

    found = run(["retire", "app", name, "-C", str(shop)])

    assert (found, text_of(shop)) == (code, before)
    assert says in capsys.readouterr().err


def test_a_package_that_is_gone_already_is_told_the_way_back(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["retire", "app", "-C", str(shop)])
    run(["retire", "app", "-C", str(shop), "--synced"])

    code = run(["retire", "app", "-C", str(shop), "--synced"])

    assert code == 2
    assert "revert the commit that dropped it, sync, and retire it once more" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["app", "-C", "nowhere"]], ids=["no package", "no folder"])
def test_wrong_usage_is_told(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["retire", *arguments])

    assert code == 2
    assert "see xplock retire --help" in capsys.readouterr().err


@pytest.fixture
def leaving(world: World, capsys: pytest.CaptureFixture[str]) -> Path:
    """A folder in which app and base are leaving, and spare stays."""
    world.publish("spare v1.0.0")
    project = world.project("leaving", "app:v1.0.0", "spare")
    assert run(["lock", str(project)]) == 0
    world.project("leaving", "spare")
    assert run(["lock", str(project)]) == 0
    capsys.readouterr()
    return project


def test_several_go_together_the_dependants_one_sync_earlier(
    leaving: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["retire", "base", "app", "-C", str(leaving)])
    first = capsys.readouterr()
    run(["retire", "base", "app", "-C", str(leaving), "--synced"])
    second = capsys.readouterr()
    run(["retire", "base", "-C", str(leaving), "--synced"])

    assert first.out.splitlines()[-1] == (
        f"sync, then: xplock retire {HOME}/app {HOME}/base -C {leaving} --synced"
    )
    assert second.out.splitlines() == [
        f"Dropped  {HOME}/app v1.0.0",
        f"Waiting  {HOME}/base v1.1.0 (sync, then: xplock retire {HOME}/base -C {leaving} --synced)",
        f"{leaving}/{LOCK_FILE}: 1 dropped, 1 waiting, 2 packages left",
    ]
    assert f"{HOME}/base v1.1.0 stays for one more sync" in second.err
    assert states(leaving) == {"spare": "wanted"}


def test_orphans_that_are_free_now_are_told_with_the_command(
    leaving: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["retire", "app", "-C", str(leaving)])

    assert capsys.readouterr().err.splitlines()[-1] == (
        f"Nothing else needs {HOME}/base v1.1.0; to retire that as well: xplock retire {HOME}/base -C {leaving}"
    )


def test_without_guards_it_is_one_step(leaving: Path) -> None:
    settings = leaving / "xplock.yaml"
    settings.write_text(settings.read_text() + "guard: false\n")
    run(["lock", str(leaving)])

    code = run(["retire", "app", "-C", str(leaving)])

    assert (code, states(leaving)) == (0, {"base": "orphaned", "spare": "wanted"})


def test_a_guard_that_is_off_in_the_settings_alone_is_still_on_in_the_cluster(leaving: Path) -> None:
    settings = leaving / "xplock.yaml"
    settings.write_text(settings.read_text() + "guard: false\n")

    run(["retire", "app", "-C", str(leaving)])

    assert states(leaving)["app"] == "orphaned released"


def test_several_folders_are_written_or_none(
    leaving: Path, shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = text_of(shop), text_of(leaving)
    refused = run(["retire", "app", "base", "-C", str(shop), "-C", str(leaving)])
    meanwhile = text_of(shop), text_of(leaving)
    capsys.readouterr()
    code = run(["retire", "app", "-C", str(shop), "-C", str(leaving), "-C", f"{shop}/../shop"])

    assert (refused, meanwhile) == (4, before)
    assert code == 0
    assert (states(shop)["app"], states(leaving)["app"]) == ("orphaned released",) * 2
    assert capsys.readouterr().out.splitlines() == [
        f"{shop}:",
        f"Released {HOME}/app v1.0.0",
        f"{shop}/{LOCK_FILE}: 1 released, 3 packages left",
        f"{leaving}:",
        f"Released {HOME}/app v1.0.0",
        f"{leaving}/{LOCK_FILE}: 1 released, 3 packages left",
        f"sync, then: xplock retire {HOME}/app -C {shop} -C {leaving} --synced",
    ]


def test_a_folder_that_uses_another_one_holds_what_it_needs_there(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    platform, shop = world.project("platform", "base:v1.1.0", "tool"), world.project("front", "app:v1.0.0")
    (shop / "xplock.yaml").write_text((shop / "xplock.yaml").read_text() + "uses: [../platform]\n")
    world.publish("spare v1.0.0")
    assert run(["lock", str(platform), str(shop)]) == 0
    world.project("platform", "spare")
    assert run(["lock", str(platform)]) == 0

    alone = run(["retire", "base", "tool", "-C", str(platform), "--dry-run"])
    code = run(["retire", "base", "tool", "-C", str(platform), "-C", str(shop)])

    # A folder in reach counts, whether it is named or not.
    assert (alone, code) == (4, 4)
    assert f"{HOME}/app v1.0.0 in {shop} needs {HOME}/base v1.1.0" in capsys.readouterr().err


def test_a_lock_that_is_a_link_is_not_followed(shop: Path, tmp_path: Path) -> None:
    shutil.move(shop / LOCK_FILE, tmp_path / "elsewhere.yaml")
    (shop / LOCK_FILE).symlink_to(tmp_path / "elsewhere.yaml")

    code = run(["retire", "app", "-C", str(shop)])

    assert code == 1
