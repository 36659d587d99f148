"""xplock adopt takes over what xplock has applied: its annotations and pins are its own, and no choice of a user."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from rig.builders.live_objects import Object, Running
from rig.builders.live_worlds import running, write_cluster
from rig.builders.projects import World, at
from rig.commands.run import Outcome, files_below, run_command

from render.limits import Limits
from render.lock.text.file import read_lock

TRACKED = {"argocd.argoproj.io/tracking-id": "shop:pkg.crossplane.io/Provider:/x"}
MIRROR = {
    "apiVersion": "pkg.crossplane.io/v1beta1",
    "kind": "ImageConfig",
    "metadata": {"name": "mirror", "uid": "mirror"},
    "spec": {
        "matchImages": [{"type": "Prefix", "prefix": "xpkg.example.org"}],
        "rewriteImage": {"prefix": "mirror.example.org"},
    },
}


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A registry in which app needs base, and its mirror."""
    made = World(tmp_path)
    made.publish("base v1.0.0", kind="Provider", crds=["bases.example.org"])
    made.publish("app v1.0.0", {"base": ">=v1.0.0"})
    made.publish("more v1.0.0", kind="Provider", crds=["mores.example.org"])
    return made


def layouts(world: World) -> list[str]:
    hosts = ("xpkg.example.org", "mirror.example.org")
    return [word for host in hosts for word in ("--layout", f"{host}={world.layout}")]


def applied(world: World, folder: Path) -> tuple[list[Running], list[Object]]:
    """Return what a cluster has after a folder was rendered and applied: packages, and their ImageConfigs."""
    rendered = list(yaml.safe_load_all(run_command("render", str(folder)).stdout))
    configs = [one for one in rendered if one["kind"] == "ImageConfig"]
    for one in configs:
        one["metadata"]["uid"] = one["metadata"]["name"]
    packages = []
    for one in rendered:
        if one["kind"] == "ImageConfig":
            continue
        text = one["spec"]["package"]
        pins = [each for each in configs if each["spec"]["matchImages"][0]["prefix"] == text]
        packages.append(
            running(
                world,
                text.removeprefix(f"{at('')}").replace(":", " "),
                kind=one["kind"],
                name=one["metadata"]["name"],
                needs={"base": ">=v1.0.0"} if one["kind"] == "Configuration" else {},
                resolved=pins[0]["spec"]["rewriteImage"]["prefix"] if pins else "",
                annotations=one["metadata"]["annotations"],
                status={"appliedImageConfigRefs": [{"name": each["metadata"]["name"], "reason": "RewriteImage"} for each in pins]},
            )
        )  # fmt: skip
    return packages, configs


def adopt(world: World, folder: Path, packages: list[Running], *more: Object) -> Outcome:
    return run_command(
        "adopt", str(write_cluster(world.folder, packages, *more)), "--to", str(folder), *layouts(world)
    )


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in files_below(folder)}


@pytest.mark.parametrize("mirrored", [False, True], ids=["direct", "mirrored"])
def test_a_pinned_cluster_gets_a_folder_that_renders_its_pins(world: World, mirrored: bool) -> None:
    shop, platform = world.project("shop", "app:v1.0.0"), world.folder / "platform"
    if mirrored:
        world.publish("mirror.example.org/acme/base v1.0.0", kind="Provider", crds=["bases.example.org"])
        world.publish("mirror.example.org/acme/app v1.0.0", {"base": ">=v1.0.0"})
        (shop / "mirror.yaml").write_text(yaml.safe_dump(MIRROR))
    assert run_command("lock", *layouts(world), str(shop)).code == 0
    packages, configs = applied(world, shop)

    done = adopt(world, platform, packages, *configs)

    assert done.code == 0, done.stderr
    own = {"imageconfig-mirror.yaml"} if mirrored else set()
    written = texts(platform)
    assert set(written) == {"configuration-acme-app.yaml", "crossplane.lock.yaml", "xplock.yaml", *own}
    assert yaml.safe_load(written["xplock.yaml"])["pin"] == "digest"
    assert "annotations" not in written["configuration-acme-app.yaml"]
    assert "Pins" not in done.stdout
    assert "pin: digest" not in done.stderr
    before, after = ({(one["kind"], one["metadata"]["name"]): one["spec"] for one in yaml.safe_load_all(run_command("render", str(each)).stdout)} for each in (shop, platform))  # fmt: skip
    assert after == before


def test_pins_beside_packages_without_one_stay_in_the_cluster(world: World) -> None:
    shop, platform = world.project("shop", "base:v1.0.0"), world.folder / "platform"
    assert run_command("lock", *layouts(world), str(shop)).code == 0
    packages, configs = applied(world, shop)

    done = adopt(world, platform, [*packages, running(world, "more v1.0.0", kind="Provider")], *configs)

    assert done.code == 0, done.stderr
    assert not [name for name in texts(platform) if name.startswith("imageconfig")]
    assert yaml.safe_load(texts(platform)["xplock.yaml"])["pin"] == "tag"
    assert "note: 1 of 2 packages are pinned by ImageConfigs of xplock" in done.stderr


def test_a_folder_that_is_applied_already_gets_what_was_installed_beside_it(world: World) -> None:
    shop = world.project("shop", "app:v1.0.0", more="pin: tag\ncrossplaneVersion: v2.3.4\n")
    assert run_command("lock", *layouts(world), str(shop)).code == 0
    packages, _ = applied(world, shop)
    tracked: list[Any] = [
        Running(**{**fields(one), "annotations": {**one.annotations, **TRACKED}}) for one in packages
    ]
    before = texts(shop)

    done = adopt(world, shop, [*tracked, running(world, "more v1.0.0", kind="Provider")])

    assert done.code == 0, done.stderr
    assert texts(shop).keys() - before.keys() == {"provider-acme-more.yaml"}
    lock = read_lock(shop, Limits())
    assert lock is not None
    assert {one.source.name: bool(one.root) for one in lock.in_order()} == {
        "app": True,
        "base": False,
        "more": True,
    }


def fields(one: Running) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__dataclass_fields__}


def test_what_is_leaving_a_folder_is_not_asked_for_again(world: World) -> None:
    settings = "pin: tag\ncrossplaneVersion: v2.3.4\n"
    shop = world.project("shop", "app:v1.0.0", more=settings)
    assert run_command("lock", *layouts(world), str(shop)).code == 0
    world.project("shop", "more:v1.0.0", more=settings)
    assert run_command("lock", *layouts(world), str(shop)).code == 0
    packages, _ = applied(world, shop)
    before = texts(shop)

    done = adopt(world, shop, packages)

    assert done.code == 0, done.stderr
    assert len(packages) == 3
    assert texts(shop) == before
