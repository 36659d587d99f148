"""xplock adopt: a folder for the packages of a running cluster, which changes nothing there; or all reasons why not."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from rig.builders.live_objects import Running, format_objects, image_config
from rig.builders.live_worlds import digest_of, running, write_cluster
from rig.builders.projects import World, at
from rig.commands.run import Outcome, files_below, run_command

from render.limits import Limits
from render.lock.model import Lock
from render.lock.text.file import read_lock


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A registry in which app needs net and base."""
    made = World(tmp_path)
    made.publish("base v1.0.0", kind="Provider", crds=["bases.example.org"])
    made.publish("base v1.1.0", kind="Provider", crds=["bases.example.org"])
    made.publish("net v1.0.0", kind="Provider", crds=["nets.example.org"])
    made.publish("net v1.2.0", kind="Provider", crds=["nets.example.org"])
    made.publish("app v1.0.0", {"net": ">=v1.0.0", "base": ">=v1.0.0"})
    return made


def app(world: World, **more: Any) -> Running:
    return running(world, "app v1.0.0", needs={"net": ">=v1.0.0", "base": ">=v1.0.0"}, **more)


def net(world: World, **more: Any) -> Running:
    return running(world, "net v1.0.0", kind="Provider", **more)


def base(world: World, **more: Any) -> Running:
    return running(world, "base v1.0.0", kind="Provider", **more)


def adopt(world: World, cluster: Path, *more: str) -> Outcome:
    layout = ("--layout", f"xpkg.example.org={world.layout}")
    return run_command("adopt", str(cluster), "--to", str(world.folder / "platform"), *layout, *more)


def lock_of(world: World) -> Lock:
    lock = read_lock(world.folder / "platform", Limits())
    assert lock is not None
    return lock


def rendered(world: World) -> dict[str, Any]:
    done = run_command("render", str(world.folder / "platform"))
    assert done.code == 0, done.stderr
    return {f"{one['kind']} {one['metadata']['name']}": one for one in yaml.safe_load_all(done.stdout)}


@pytest.mark.parametrize("generation", [None, 4], ids=["v2.3", "v2.4"])
def test_what_runs_is_locked_and_only_what_was_asked_for_is_a_manifest(
    world: World, generation: int | None
) -> None:
    packages = [one(world, generation=generation) for one in (app, net, base)]
    cluster = write_cluster(world.folder, packages)

    done = adopt(world, cluster)

    assert done.code == 0, done.stderr
    folder = world.folder / "platform"
    assert [path.name for path in files_below(folder)] == [
        "configuration-acme-app.yaml",
        "crossplane.lock.yaml",
        "xplock.yaml",
    ]
    assert {one.source.name: one.version for one in lock_of(world).in_order()} == {
        "app": "v1.0.0",
        "base": "v1.0.0",
        "net": "v1.0.0",
    }
    settings = yaml.safe_load((folder / "xplock.yaml").read_text())
    assert settings == {"crossplaneVersion": "v2.3.0" if generation is None else "v2.4.0", "pin": "tag"}
    assert {name: one["spec"] for name, one in rendered(world).items()} == {
        f"{one.kind} {one.object_name}": {"package": one.reference} for one in packages
    }
    checked = run_command("lock", "--check", "--layout", f"xpkg.example.org={world.layout}", str(folder))
    assert checked.code == 0, checked.stderr


def test_several_files_and_stdin_are_one_cluster(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = write_cluster(world.folder, [app(world), net(world), base(world)])
    objects = yaml.safe_load(whole.read_text())["items"]
    parts = [format_objects(part) for part in (objects[:3], objects[3:])]
    file = world.folder / "part.yaml"
    file.write_text(parts[0])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(parts[1].encode())))

    done = adopt(world, file, "-", "-o", "json")

    assert done.code == 0, done.stderr
    made = json.loads(done.stdout)
    assert [one["name"] for one in made["roots"]] == ["acme-app"]
    assert [one["name"] for one in made["dependencies"]] == ["acme-base", "acme-net"]


def test_a_package_with_a_name_or_fields_of_its_own_is_a_root_and_keeps_them(world: World) -> None:
    secret = {"packagePullSecrets": [{"name": "login"}], "revisionHistoryLimit": 0}
    mine = base(world, name="my-base", spec=secret, labels={"team": "a"}, annotations={"note": "b"})
    cluster = write_cluster(world.folder, [mine, net(world)])

    assert adopt(world, cluster).code == 0

    written = yaml.safe_load((world.folder / "platform/provider-my-base.yaml").read_text())
    assert written == {
        "apiVersion": "pkg.crossplane.io/v1",
        "kind": "Provider",
        "metadata": {"name": "my-base", "labels": {"team": "a"}, "annotations": {"note": "b"}},
        "spec": {"package": f"{at('base')}:v1.0.0", **secret},
    }


def test_a_dependant_of_a_package_with_a_given_name_stays_attached_until_the_user_decides(
    world: World,
) -> None:
    cluster = write_cluster(world.folder, [app(world), net(world), base(world, name="my-base")])

    done = adopt(world, cluster)

    assert done.code == 0, done.stderr
    assert "it stays attached to my-base" in done.stdout
    spec = rendered(world)["Configuration acme-app"]["spec"]
    assert spec == {"package": f"{at('app')}:v1.0.0", "skipDependencyResolution": False}
    # Its entry in the cluster's Lock names the package, which must not change before that entry is gone.
    layout = ("--layout", f"xpkg.example.org={world.layout}")
    folder = world.folder / "platform"
    manifest = folder / "provider-my-base.yaml"
    manifest.write_text(manifest.read_text().replace("v1.0.0", "v1.1.0"))
    refused = run_command("lock", *layout, str(folder))
    assert refused.code == 4
    assert "remove skipDependencyResolution: false from the manifest of" in refused.stderr


def test_a_detached_package_stays_detached_and_its_stale_entry_is_known(world: World) -> None:
    detached = app(world, spec={"skipDependencyResolution": True})
    cluster = write_cluster(world.folder, [detached, net(world), base(world)])

    assert adopt(world, cluster).code == 0

    package = next(one for one in lock_of(world).in_order() if one.source.name == "app")
    assert package.detached
    assert package.stale_entry == (at("base"), at("net"))


def test_configs_that_are_used_are_taken_along(world: World) -> None:
    login = image_config(
        "login", "xpkg.example.org", {"registry": {"authentication": {"pullSecretRef": {"name": "a"}}}}
    )
    other = image_config("other", "xpkg.example.net", {"rewriteImage": {"prefix": "mirror.example.net"}})
    runtime = {
        "apiVersion": "pkg.crossplane.io/v1beta1",
        "kind": "DeploymentRuntimeConfig",
        "metadata": {"name": "small", "uid": "small"},
        "spec": {"deploymentTemplate": {"spec": {"replicas": 1}}},
    }
    used = {"appliedImageConfigRefs": [{"name": "login", "reason": "SetImagePullSecret"}]}
    reference = {
        "apiVersion": "pkg.crossplane.io/v1beta1",
        "kind": "DeploymentRuntimeConfig",
        "name": "small",
    }
    one = base(world, status=used, spec={"runtimeConfigRef": reference})
    cluster = write_cluster(world.folder, [one], login, other, runtime)

    done = adopt(world, cluster)

    assert done.code == 0, done.stderr
    names = [path.name for path in files_below(world.folder / "platform")]
    assert "imageconfig-login.yaml" in names
    assert "deploymentruntimeconfig-small.yaml" in names
    assert "imageconfig-other.yaml" not in names
    assert rendered(world)["Provider acme-base"]["spec"]["runtimeConfigRef"] == {"name": "small"}


def test_only_some_packages_are_adopted_with_what_they_need(world: World) -> None:
    world.publish("web v1.0.0")
    cluster = write_cluster(world.folder, [app(world), net(world), base(world), running(world, "web v1.0.0")])

    done = adopt(world, cluster, "--only", "app")

    assert done.code == 0, done.stderr
    assert {source.name for source in lock_of(world).packages} == {"app", "net", "base"}
    assert adopt(world, cluster, "--only", "nothing", "--force").code == 2


def test_a_dry_run_writes_nothing_and_says_the_same(world: World) -> None:
    cluster = write_cluster(world.folder, [app(world), net(world), base(world)])

    dry = adopt(world, cluster, "--dry-run", "-o", "json")

    assert dry.code == 0, dry.stderr
    assert not (world.folder / "platform").exists()
    document = json.loads(dry.stdout)
    made = json.loads(adopt(world, cluster, "-o", "json").stdout)
    assert {**document, "written": True} == made
    assert [root["name"] for root in made["roots"]] == ["acme-app"]
    assert set(made["annotations"]) == {
        "argocd.argoproj.io/sync-options",
        "kustomize.toolkit.fluxcd.io/prune",
        "xplock.dev/required-by",
    }


def test_pins_are_made_at_once_if_asked_for(world: World) -> None:
    cluster = write_cluster(world.folder, [base(world)])

    done = adopt(world, cluster, "--pin", "digest", "-o", "json")

    assert done.code == 0, done.stderr
    assert len(json.loads(done.stdout)["pins"]) == 1
    assert "ImageConfig" in {one["kind"] for one in rendered(world).values()}


def test_a_tag_that_has_moved_is_refused_until_it_is_decided_which_bytes_to_lock(world: World) -> None:
    before = base(world)
    world.publish("base v1.0.0", kind="Provider", crds=["bases.example.org", "more.example.org"])
    cluster = write_cluster(world.folder, [before])

    adopt(world, cluster).assert_refused(
        4, "has moved since Provider acme-base was installed", "--take registry"
    )
    taken = adopt(world, cluster, "--take", "registry")

    assert taken.code == 0, taken.stderr
    assert lock_of(world).in_order()[0].digest == f"sha256:{digest_of(world, 'base v1.0.0')}"
    wrong = adopt(world, cluster, "--take", f"installed=sha256:{'e' * 64}", "--force")
    wrong.assert_refused(2, "no package of the cluster runs")


def test_all_reasons_against_it_come_at_once(world: World) -> None:
    owned = net(
        world, annotations={"argocd.argoproj.io/tracking-id": "shop:pkg.crossplane.io/Provider:/acme-net"}
    )
    off = app(
        world, spec={"revisionActivationPolicy": "Manual"}, status={"currentRevision": "gone-123456789abc"}
    )
    twice = [base(world), base(world, name="my-base", objects=("bases.example.org",))]
    cluster = write_cluster(world.folder, [owned, off, *twice])

    done = adopt(world, cluster)

    done.assert_refused(
        4,
        "the Lock has xpkg.example.org/acme/base 2 times",
        "Configuration acme-app is switched off",
        "the Argo CD Application shop owns objects",
        "kubectl patch provider.pkg.crossplane.io/acme-base --type merge -p",
        "kubectl annotate provider.pkg.crossplane.io/acme-net argocd.argoproj.io/tracking-id-",
    )
    assert not (world.folder / "platform").exists()


def test_a_lock_that_would_change_a_field_is_refused_with_its_name(world: World) -> None:
    world.publish("new v1.0.0", {"base": ">=v1.1.0"})
    cluster = write_cluster(
        world.folder, [running(world, "new v1.0.0", needs={"base": ">=v1.1.0"}), base(world)]
    )

    done = adopt(world, cluster)

    assert done.code == 4
    assert (
        "Provider acme-base: spec.package would be xpkg.example.org/acme/base:v1.1.0, and is" in done.stderr
    )
    assert not (world.folder / "platform").exists()
