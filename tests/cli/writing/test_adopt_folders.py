"""xplock adopt into a folder that exists: it gets what it lacks, and keeps what it has."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from rig.builders.live_objects import Running
from rig.builders.live_worlds import running, write_cluster
from rig.builders.projects import World, at
from rig.commands.run import Outcome, files_below, run_command

from render.app.adopting.folder import write_files
from render.errors import RenderError
from render.limits import Limits
from render.lock.text.file import read_lock


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A registry in which app needs base, and a folder that is not there yet."""
    made = World(tmp_path)
    for version in ("v1.0.0", "v1.1.0"):
        made.publish(f"base {version}", kind="Provider", crds=["bases.example.org"])
    made.publish("app v1.0.0", {"base": ">=v1.0.0"})
    return made


def folder_of(world: World) -> Path:
    return world.folder / "platform"


def layout(world: World) -> tuple[str, str]:
    return "--layout", f"xpkg.example.org={world.layout}"


def adopt(world: World, *packages: Running, more: tuple[str, ...] = ()) -> Outcome:
    cluster = write_cluster(world.folder, packages)
    return run_command("adopt", str(cluster), "--to", str(folder_of(world)), *layout(world), *more)


def base(world: World, **more: Any) -> Running:
    return running(world, "base v1.0.0", kind="Provider", **more)


def app(world: World, **more: Any) -> Running:
    return running(world, "app v1.0.0", needs={"base": ">=v1.0.0"}, **more)


def texts(world: World) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in files_below(folder_of(world))}


def locked(world: World) -> dict[str, tuple[str, str]]:
    lock = read_lock(folder_of(world), Limits())
    assert lock is not None
    return {one.source.name: (one.object_name, one.version) for one in lock.in_order()}


def manifest(
    name: str, *, package: str = "base", kind: str = "Provider", spec: Any = None, **metadata: Any
) -> str:
    return yaml.safe_dump(
        {
            "apiVersion": "pkg.crossplane.io/v1",
            "kind": kind,
            "metadata": {"name": name, **metadata},
            "spec": {"package": f"{at(package)}:v1.0.0", **(spec or {})},
        }
    )


def test_a_second_run_writes_nothing(world: World) -> None:
    assert adopt(world, app(world), base(world)).code == 0
    before = texts(world)

    done = adopt(world, app(world), base(world))

    assert done.code == 0, done.stderr
    assert texts(world) == before
    assert "File" not in done.stdout
    assert "nothing had to be written" in done.stderr


def test_a_folder_that_is_the_owner_keeps_its_manifests_and_gets_a_lock(world: World) -> None:
    folder_of(world).mkdir()
    written = "# kept\n" + manifest("my-base", labels={"team": "a"})
    (folder_of(world) / "base.yaml").write_text(written)
    tracked = {"argocd.argoproj.io/tracking-id": "platform:pkg.crossplane.io/Provider:/my-base"}

    done = adopt(world, base(world, name="my-base", labels={"team": "a"}, annotations=tracked))

    assert done.code == 0, done.stderr
    assert sorted(texts(world)) == ["base.yaml", "crossplane.lock.yaml", "xplock.yaml"]
    assert (folder_of(world) / "base.yaml").read_text() == written


def test_a_manifest_that_names_it_otherwise_is_refused(world: World) -> None:
    folder_of(world).mkdir()
    (folder_of(world) / "base.yaml").write_text(manifest("other-base"))

    done = adopt(world, base(world, name="my-base"))

    assert done.code == 4
    assert "under another name" in done.stderr
    assert sorted(texts(world)) == ["base.yaml"]


def test_names_and_versions_of_the_cluster_go_into_a_lock_that_had_others(world: World) -> None:
    folder_of(world).mkdir()
    (folder_of(world) / "xplock.yaml").write_text("crossplaneVersion: v2.3.4\npin: tag\n")
    (folder_of(world) / "app.yaml").write_text(manifest("acme-app", package="app", kind="Configuration"))
    assert run_command("lock", *layout(world), str(folder_of(world))).code == 0
    assert locked(world)["base"] == ("acme-base", "v1.1.0")

    refused = adopt(world, app(world), base(world, name="my-base"))
    assert refused.code == 4
    assert "to keep a package attached, write spec.skipDependencyResolution: false" in refused.stderr
    stays = {"skipDependencyResolution": False}
    (folder_of(world) / "app.yaml").write_text(
        manifest("acme-app", package="app", kind="Configuration", spec=stays)
    )
    done = adopt(world, app(world), base(world, name="my-base"))

    assert done.code == 0, done.stderr
    assert locked(world) == {"app": ("acme-app", "v1.0.0"), "base": ("my-base", "v1.0.0")}
    assert (folder_of(world) / "xplock.yaml").read_text() == "crossplaneVersion: v2.3.4\npin: tag\n"


def test_a_file_in_the_way_is_replaced_with_force_alone(world: World) -> None:
    folder_of(world).mkdir()
    (folder_of(world) / "configuration-acme-app.yaml").write_text("# nothing\n")

    for more in ((), ("--dry-run",)):
        refused = adopt(world, app(world), base(world), more=more)
        refused.assert_refused(2, "configuration-acme-app.yaml exists", "--force")
    assert sorted(texts(world)) == ["configuration-acme-app.yaml"]

    assert adopt(world, app(world), base(world), more=("--force",)).code == 0
    assert len(texts(world)) == 3


def test_a_folder_with_settings_decides_how_it_pins(world: World) -> None:
    folder_of(world).mkdir()
    (folder_of(world) / "xplock.yaml").write_text("pin: digest\n")

    adopt(world, base(world), more=("--pin", "tag")).assert_refused(2, "which decide how it pins")

    done = adopt(world, base(world))
    assert done.code == 0, done.stderr
    assert "1 ImageConfig" in done.stdout


def test_a_folder_with_a_kustomization_is_refused(world: World) -> None:
    folder_of(world).mkdir()
    (folder_of(world) / "kustomization.yaml").write_text("resources: []\n")

    adopt(world, base(world)).assert_refused(2, "has a kustomization")


@pytest.mark.parametrize("make", ["file", "link"])
def test_only_a_folder_is_written(world: World, make: str) -> None:
    if make == "file":
        folder_of(world).write_text("")
    else:
        (world.folder / "other").mkdir()
        folder_of(world).symlink_to(world.folder / "other")

    adopt(world, base(world)).assert_refused(2, "is not written")


def test_what_cannot_be_written_whole_is_not_written_at_all(tmp_path: Path) -> None:
    # A folder in the place of the last file.
    (tmp_path / "crossplane.lock.yaml").mkdir()
    (tmp_path / "xplock.yaml").write_text("old")
    files = {"provider-x.yaml": b"a", "xplock.yaml": b"b", "crossplane.lock.yaml": b"c"}

    with pytest.raises((RenderError, OSError)):
        write_files(tmp_path, files)

    assert [path.name for path in files_below(tmp_path)] == ["xplock.yaml"]
    assert (tmp_path / "xplock.yaml").read_text() == "old"


def test_a_new_folder_is_not_left_behind_half_written(tmp_path: Path) -> None:
    with pytest.raises(RenderError):
        write_files(tmp_path / "a/b", {"x.yaml": b"a", "y/z.yaml": b"b"})

    assert not (tmp_path / "a").exists()


def test_a_package_that_stays_attached_holds_the_version_of_what_it_needs(world: World) -> None:
    assert adopt(world, app(world), base(world, name="my-base")).code == 0
    folder = folder_of(world)
    manifest_of_base = folder / "provider-my-base.yaml"
    manifest_of_base.write_text(manifest_of_base.read_text().replace(":v1.0.0", ""))

    held = run_command("lock", "-U", *layout(world), str(folder))

    assert held.code == 0, held.stderr
    assert "Held" in held.stdout
    said = " ".join(held.stdout.split())
    assert f"{at('base')} stays at v1.0.0 while {at('app')} stays attached to it" in said
    why = run_command("why", "base", "-C", str(folder))
    assert "v1.0.0" in why.stdout

    app_file = folder / "configuration-acme-app.yaml"
    app_file.write_text(app_file.read_text().replace("  skipDependencyResolution: false\n", ""))
    detached = run_command("lock", *layout(world), str(folder))
    assert detached.code == 0, detached.stderr
    assert "Detached" in detached.stdout
    # Up to v2.3 its entry stays until its digest changes.
    assert "until another version of" in " ".join(detached.stdout.split())


def test_what_a_used_folder_has_locked_is_left_to_it(world: World) -> None:
    cluster = [app(world), base(world, name="my-base")]
    assert adopt(world, *cluster, more=("--only", "base")).code == 0
    folder_of(world).rename(world.folder / "shared")
    folder_of(world).mkdir()
    settings = "uses: [../shared]\ncrossplaneVersion: v2.3.4\npin: tag\n"
    (folder_of(world) / "xplock.yaml").write_text(settings)

    done = adopt(world, *cluster)

    assert done.code == 0, done.stderr
    assert sorted(texts(world)) == ["configuration-acme-app.yaml", "crossplane.lock.yaml", "xplock.yaml"]
    assert locked(world) == {"app": ("acme-app", "v1.0.0")}
    assert "skipDependencyResolution: false" in texts(world)["configuration-acme-app.yaml"].decode()
    checked = run_command("check", "--same-cluster", str(world.folder / "shared"), str(folder_of(world)))
    assert checked.code == 0, checked.stdout


def test_names_that_hold_versions_and_packages_left_over_are_said(world: World) -> None:
    world.publish("old v1.0.0", kind="Provider", crds=["olds.example.org"])
    cluster = [app(world), base(world, name="my-base"), running(world, "old v1.0.0", kind="Provider")]

    done = adopt(world, *cluster)

    assert done.code == 0, done.stderr
    assert (
        "note: Provider my-base has a name that Crossplane does not derive, and acme-app depends on it"
        in done.stderr
    )
    assert "note: nothing depends on Provider acme-old" in done.stderr


def test_two_owners_of_one_object_are_both_named(world: World) -> None:
    labels = {"app.kubernetes.io/managed-by": "Helm", "kustomize.toolkit.fluxcd.io/name": "shop"}
    both = base(world, labels=labels, annotations={"meta.helm.sh/release-name": "charts"})

    refused = adopt(world, both)
    folder_of(world).mkdir()
    (folder_of(world) / "base.yaml").write_text(manifest("acme-base"))
    done = adopt(world, both)

    refused.assert_refused(4, "the Helm release charts owns", "the Flux Kustomization shop owns")
    assert done.code == 0, done.stderr
    assert "Provider acme-base has two owners, which undo each other's changes" in done.stderr
