"""xplock adopt into a folder that contradicts its cluster: the lock would give it other objects, and is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from rig.builders.live_objects import Running
from rig.builders.live_worlds import running, write_cluster
from rig.builders.projects import World, at, moves
from rig.commands.run import Outcome, run_command

from render.limits import Limits
from render.lock.text.file import read_lock

LONG = "a-name-of-fifty-characters-or-more-that-is-cut-off-there"


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A registry in which app needs base, and another package."""
    made = World(tmp_path)
    made.publish("base v1.0.0")
    made.publish("base v1.1.0")
    made.publish("app v1.0.0", {"base": "*"})
    made.publish("next v1.0.0")
    return made


def app(world: World, **more: Any) -> Running:
    return running(world, "app v1.0.0", needs={"base": "*"}, **more)


def base(world: World, **more: Any) -> Running:
    return running(world, "base v1.0.0", **more)


def adopt(world: World, folder: Path, *packages: Running, more: tuple[str, ...] = ()) -> Outcome:
    cluster = write_cluster(world.folder, packages)
    layout = ("--layout", f"xpkg.example.org={world.layout}")
    return run_command("adopt", str(cluster), "--to", str(folder), *layout, *more)


def named(folder: Path) -> dict[str, str]:
    lock = read_lock(folder, Limits())
    assert lock is not None
    return {source.name: package.object_name for source, package in lock.packages.items()}


def test_a_root_that_the_cluster_has_under_another_name_is_to_be_named_so(world: World) -> None:
    shop = world.project("shop", "base:v1.0.0")
    settings = shop / "xplock.yaml"

    refused = adopt(world, shop, base(world, name="my-base"))
    plain = f"  - package: {at('base')}:v1.0.0\n"
    settings.write_text(settings.read_text().replace(plain, f"{plain}    name: my-base\n"))
    done = adopt(world, shop, base(world, name="my-base"))

    refused.assert_refused(
        4,
        f"{at('base')} is my-base there, and would be acme-base as well",
        f"name {at('base')} my-base where you ask for it",
    )
    assert done.code == 0, done.stderr
    assert named(shop) == {"base": "my-base"}


def test_a_dependency_that_only_metadata_names_is_to_be_adopted_too(world: World) -> None:
    folder = world.folder / "platform"
    detached = app(world, spec={"skipDependencyResolution": True}, attached=False)
    mine = base(world, name="my-base")

    refused = adopt(world, folder, detached, mine, more=("--only", "app"))
    done = adopt(world, folder, detached, mine, more=("--only", "app", "--only", at("base")))

    refused.assert_refused(4, f"adopt {at('base')}, too: --only {at('base')}")
    assert done.code == 0, done.stderr
    assert named(folder) == {"app": "acme-app", "base": "my-base"}


def test_a_source_that_lacks_its_registry_in_the_cluster_is_refused(world: World) -> None:
    partial = base(world, spec={"package": "acme/base:v1.0.0"}, attached=False)
    entry = {**base(world).as_entry(), "source": "acme/base"}
    cluster = write_cluster(world.folder, [app(world), partial], entries=[entry])
    layout = ("--layout", f"xpkg.example.org={world.layout}")

    done = run_command(
        "adopt", str(cluster), "--to", str(world.folder / "platform"), *layout, "--only", "app"
    )

    done.assert_refused(4, f"the cluster knows {at('base')} as acme/base", "then adopt the cluster again")


def test_another_kind_is_refused(world: World) -> None:
    wrong = Running("base v1.0.0", kind="Provider", digest=base(world).digest)

    adopt(world, world.folder / "platform", app(world), wrong).assert_refused(
        4, f"{at('base')} v1.0.0 is a Configuration, and the cluster has a Provider"
    )


def test_an_object_of_another_package_is_never_taken_over(world: World) -> None:
    shop = world.project("shop", "app:v1.0.0")
    other = running(world, "next v1.0.0", name="acme-base")
    alone = app(world, spec={"skipDependencyResolution": True}, attached=False)

    done = adopt(world, shop, alone, other, more=("--only", "app"))

    done.assert_refused(4, "the cluster has another package as Configuration acme-base")


def test_other_packages_of_the_cluster_stay_and_are_mentioned(world: World) -> None:
    done = adopt(
        world,
        world.folder / "platform",
        base(world),
        running(world, "next v1.0.0"),
        more=("--only", "base", "-o", "json"),
    )

    said = f"the cluster has 1 package that nothing here asks for, which stays as it is: {at('next')} v1.0.0"
    assert said in json.loads(done.stdout)["warnings"]


def test_a_package_is_adopted_before_it_is_moved(world: World) -> None:
    shop = world.project("shop", "next:v1.0.0", more=moves("base", "next"))

    both = [base(world), running(world, "next v1.0.0")]
    done = adopt(world, shop, *both, more=("--only", "next"))

    done.assert_refused(4, f"the cluster has {at('base')}, and it was never locked")


def test_a_name_that_the_lock_of_the_cluster_cuts_off_is_kept(world: World) -> None:
    folder = world.folder / "platform"

    done = adopt(world, folder, base(world, name=LONG))

    assert done.code == 0, done.stderr
    assert named(folder) == {"base": LONG}
