"""`promote`: a folder gets the versions and digests of another one, by its own rules."""

import json
from pathlib import Path

import pytest
from rig.builders.projects import HOME, World, locked, text_of
from rig.commands.run import run_command

from render.limits import Limits
from render.lock.model import Lock
from render.lock.text.file import read_lock
from render.references import parse_source
from render.system.files import LOCK_FILE

MANIFEST = f"""# asked for by the platform team
apiVersion: pkg.crossplane.io/v1
kind: Configuration
metadata:
  name: our-app  # its name in this cluster
spec:
  package: "{HOME}/app:v1.0.0"  # tested in staging
"""


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Staging has app v2.0.0 and what it needs; production has app v1.0.0 under a name of its own."""
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    for version in ("v1.0.0", "v1.1.0", "v2.0.0"):
        world.publish(f"base {version}")
    world.publish("app v1.0.0", {"base": "^1"})
    world.publish("app v2.0.0", {"base": ">=v2"})
    world.publish("net v1.0.0")
    world.publish("net v1.1.0")
    world.publish("old v1.0.0", {"base": "<v2"})
    world.project("staging", "app:v2.0.0", "net:v1.1.0")
    production(world, "net:v1.0.0")
    lock("staging", "production")
    return world


def production(world: World, *roots: str, name: str = "production", manifest: str = MANIFEST) -> Path:
    folder = world.project(name, *roots)
    (folder / "app.yaml").write_text(manifest)
    return folder


def lock(*arguments: str) -> None:
    done = run_command("lock", *arguments)
    assert done.code == 0, done


def lock_of(name: str) -> Lock:
    return read_lock(Path(name), Limits()) or Lock()


@pytest.mark.usefixtures("world")
def test_versions_and_digests_are_those_of_the_origin_and_names_are_not() -> None:
    done = run_command("promote", "staging", "production")

    staging, there = lock_of("staging").packages, lock_of("production").packages
    assert (done.code, locked(Path("production"))) == (0, locked(Path("staging")))
    assert {s: p.digest for s, p in there.items()} == {s: p.digest for s, p in staging.items()}
    assert there[parse_source(f"{HOME}/app")].object_name == "our-app"
    assert [pin.tag for pin in there[parse_source(f"{HOME}/app")].kept_pins] == ["v1.0.0"]
    assert done.stdout.splitlines() == [
        f"Promoted {HOME}/app v1.0.0 -> v2.0.0 (major; as in staging)",
        f"Promoted {HOME}/base v1.1.0 -> v2.0.0 (major; as in staging)",
        f"Promoted {HOME}/net v1.0.0 -> v1.1.0 (minor; as in staging)",
        "Edited   production/app.yaml",
        "Edited   production/xplock.yaml",
        f"Inputs   root {HOME}/app changed; root {HOME}/net changed",
        f"production/{LOCK_FILE}: 3 packages, 3 updated (2 major), 0 unchanged",
    ]


@pytest.mark.usefixtures("world")
def test_only_the_tag_of_an_exact_root_is_edited() -> None:
    settings = Path("production/xplock.yaml").read_text()

    run_command("promote", "staging", "production")

    assert Path("production/app.yaml").read_text() == MANIFEST.replace("app:v1.0.0", "app:v2.0.0")
    assert Path("production/xplock.yaml").read_text() == settings.replace("net:v1.0.0", "net:v1.1.0")
    assert run_command("check", "production").code == 0
    assert run_command("lock", "--check", "production").code == 0


@pytest.mark.usefixtures("world")
def test_promoting_twice_changes_nothing() -> None:
    run_command("promote", "staging", "production")
    before = text_of(Path("production"))

    again = run_command("promote", "staging", "production")

    assert (again.code, text_of(Path("production"))) == (0, before)
    assert run_command("promote", "--check", "staging", "production").code == 0


@pytest.mark.parametrize("option", ["--dry-run", "--check"])
@pytest.mark.usefixtures("world")
def test_nothing_is_written_where_that_is_asked_for(option: str) -> None:
    before = text_of(Path("production"))

    done = run_command("promote", option, "staging", "production")

    assert done.code == {"--dry-run": 0, "--check": 3}[option]
    assert "Promoted" in done.stdout
    assert (text_of(Path("production")), Path("production/app.yaml").read_text()) == (before, MANIFEST)


@pytest.mark.usefixtures("world")
def test_no_edit_refuses_and_prints_the_lines() -> None:
    done = run_command("promote", "--no-edit", "staging", "production")

    done.assert_refused(4, f"  {HOME}/app:v2.0.0\n", f"{HOME}/net v1.0.0 in xplock.yaml: roots[0]")
    assert Path("production/app.yaml").read_text() == MANIFEST


@pytest.mark.usefixtures("world")
def test_a_root_that_a_kustomization_builds_is_not_edited() -> None:
    Path("production/kustomization.yaml").write_text("resources:\n  - app.yaml\n")
    lock("production")

    run_command("promote", "staging", "production").assert_refused(
        4, f"{HOME}/app v1.0.0 in kustomization: ", f"  {HOME}/app:v2.0.0\n"
    )


def test_a_range_stays_and_has_to_accept_the_version(world: World) -> None:
    ranged = MANIFEST.replace(":v1.0.0", "").replace(
        "  name: our-app", '  annotations: {xplock.dev/version: "<v2"}\n  name: our-app'
    )
    production(world, name="narrow", manifest=ranged)
    production(world, name="wide", manifest=ranged.replace("<v2", ">=v1"))
    lock("narrow", "wide")

    narrow, wide = run_command("promote", "staging", "narrow"), run_command("promote", "staging", "wide")

    narrow.assert_refused(4, "<v2 (app.yaml: spec.package)", "only versions that staging has locked")
    assert (wide.code, locked(Path("wide"))["app"]) == (0, "v2.0.0")
    assert Path("wide/app.yaml").read_text() == ranged.replace("<v2", ">=v1")


def test_what_only_the_target_has_stays_and_what_only_the_origin_asks_for_is_not_added(world: World) -> None:
    world.project("target", "net:v1.0.0", "lone")
    world.publish("lone v1.0.0")
    lock("target")
    world.publish("lone v1.1.0")

    done = run_command("promote", "staging", "target")

    assert (done.code, locked(Path("target"))) == (0, {"lone": "v1.0.0", "net": "v1.1.0"})
    assert f"Kept     {HOME}/lone v1.0.0 (only here)" in done.stdout.splitlines()


def test_with_roots_adds_what_only_the_origin_asks_for(world: World) -> None:
    world.project("target", "net:v1.0.0")
    lock("target")

    done = run_command("promote", "--with-roots", "staging", "target")

    assert (done.code, locked(Path("target"))) == (0, locked(Path("staging")))
    assert f"package: {HOME}/app:v2.0.0" in Path("target/acme-app.yaml").read_text()
    assert run_command("check", "target").code == 0


@pytest.mark.usefixtures("world")
def test_one_package_is_promoted_with_what_it_needs() -> None:
    done = run_command("promote", "-P", "net", "staging", "production")

    assert (done.code, locked(Path("production"))) == (
        0,
        {"app": "v1.0.0", "base": "v1.1.0", "net": "v1.1.0"},
    )
    assert Path("production/app.yaml").read_text() == MANIFEST


def test_a_package_of_the_target_alone_that_does_not_accept_a_version_is_named_with_what_can_be_promoted(
    world: World,
) -> None:
    world.project("target", "net:v1.0.0", "old", "base")
    lock("target")

    done = run_command("promote", "staging", "target")

    command = f"xplock promote -P {HOME}/net staging target"
    done.assert_refused(4, f"{HOME}/old v1.0.0 accepts {HOME}/base <v2", command)
    assert run_command(*command.split()[1:]).code == 0
    assert locked(Path("target")) == {"net": "v1.1.0", "old": "v1.0.0", "base": "v1.1.0"}


def test_a_target_that_is_ahead_is_refused_until_a_downgrade_is_allowed(world: World) -> None:
    world.project("staging", "app:v1.0.0", "net:v1.1.0")
    world.project("hotfixed", "base:v2.0.0", "net:v1.0.0")
    lock("staging", "hotfixed", "--allow-downgrade")

    refused = run_command("promote", "staging", "hotfixed")
    shown = run_command("promote", "--allow-downgrade", "--dry-run", "staging", "hotfixed")
    done = run_command("promote", "--allow-downgrade", "staging", "hotfixed")

    refused.assert_refused(4, f"{HOME}/base: v2.0.0 here, v1.1.0 in staging", "--allow-downgrade")
    assert f"Promoted {HOME}/base v2.0.0 -> v1.1.0 (downgrade; as in staging)" in shown.stdout
    assert (done.code, locked(Path("hotfixed"))) == (0, {"base": "v1.1.0", "net": "v1.1.0"})


def test_a_stale_origin_is_refused(world: World) -> None:
    world.project("staging", "app:v1.0.0")

    run_command("promote", "staging", "production").assert_refused(
        4, "the versions of staging are not promoted", "is out of date", "xplock lock staging"
    )


@pytest.mark.usefixtures("world")
def test_an_origin_with_a_merge_conflict_is_refused() -> None:
    lock_file = Path("staging") / LOCK_FILE
    lock_file.write_text(lock_file.read_text() + "<<<<<<< ours\n")

    run_command("promote", "staging", "production").assert_refused(4, "holds a merge conflict")


def test_folders_without_a_common_package_are_refused(world: World) -> None:
    world.publish("lone v1.0.0")
    world.project("target", "lone")
    lock("target")

    run_command("promote", "staging", "target").assert_refused(2, "no package in common", "--with-roots")


@pytest.mark.parametrize("name", ["nowhere", "main:staging", "staging/xplock.yaml", "staging"])
@pytest.mark.usefixtures("world")
def test_what_is_no_lock_is_refused(name: str) -> None:
    target = "staging" if name == "staging" else "production"

    done = run_command("promote", name, target)

    assert done.code in (1, 2)
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("world")
def test_a_lock_file_is_an_origin_too() -> None:
    Path("tested.yaml").write_bytes(text_of(Path("staging")))

    done = run_command("promote", "tested.yaml", "production")

    assert (done.code, locked(Path("production"))) == (0, locked(Path("staging")))


def test_rings_of_which_one_is_refused_are_promoted_all_the_same(world: World) -> None:
    rings = [str(production(world, "net:v1.0.0", name=f"ring/{i}")) for i in range(9)]
    world.project("ring/4", "old:v1.0.0", "net:v1.0.0")
    (Path("ring/4") / "app.yaml").write_text(MANIFEST)
    lock(*rings)

    done = run_command("promote", "staging", "-R", "ring", "-o", "json")

    entries = json.loads(done.stdout)
    assert done.code == 4
    assert [one["folder"] for one in entries] == [f"ring/{i}" for i in range(9)]
    assert [Path(one["folder"]).name for one in entries if "error" in one] == ["4"]
    assert [locked(Path(f"ring/{i}"))["app"] for i in range(9)].count("v2.0.0") == 8
    assert locked(Path("ring/4"))["app"] == "v1.0.0"


def test_a_folder_of_one_cluster_is_promoted_after_the_one_it_uses(world: World) -> None:
    world.project("platform", "base:v1.1.0")
    world.project("shop", "app:v1.0.0", more="uses:\n  - ../platform\n")
    lock("platform", "shop")

    done = run_command("promote", "staging", "shop", "platform")

    assert (done.code, locked(Path("platform"))) == (0, {"base": "v2.0.0"})
    assert locked(Path("shop")) == {"app": "v2.0.0"}
    assert run_command("check", "platform", "shop").code == 0


@pytest.mark.usefixtures("world")
def test_offline_with_an_empty_cache_is_said(tmp_path: Path) -> None:
    for name in ("staging", "production"):
        settings = Path(name, "xplock.yaml")
        settings.write_text(settings.read_text().partition("layouts:")[0])
    layout = f"xpkg.example.org={tmp_path}/registry"
    lock("--layout", layout, "staging", "production")

    done = run_command("promote", "--offline", "staging", "production")

    done.assert_refused(1, "is not available offline")
