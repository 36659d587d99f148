"""What is rendered, compared with the lock: sets made wrong by hand, as nothing but a mistake would make them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from rig.builders.projects import HOME, World, small_world

from render.checks.model import Checked, Finding
from render.checks.read import read_checked
from render.checks.rendered_rules import rendered_inconsistent
from render.checks.rules import find_findings
from render.cli.run import run
from render.lean import replace
from render.limits import Limits

Objects: TypeAlias = tuple[Mapping[str, Any], ...]
LOCK = {"apiVersion": "pkg.crossplane.io/v1beta1", "kind": "Lock", "metadata": {"name": "lock"}}


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A small ecosystem: app, tool and old all need base."""
    return small_world(tmp_path)


def found_in(project: Path, change: Callable[[Objects], Objects]) -> list[Finding]:
    """Return what the rule finds if something else came out of rendering."""
    run(["-q", "lock", str(project)])
    [one] = read_checked([project], Limits(), {}).folders
    assert isinstance(one.objects, tuple)
    return list(rendered_inconsistent(Checked((replace(one, objects=change(one.objects)),))))


def without(kind: str, name: str) -> Callable[[Objects], Objects]:
    return lambda objects: tuple(value for value in objects if not _is(value, kind, name))


def with_spec(kind: str, name: str, **fields: object) -> Callable[[Objects], Objects]:
    return lambda objects: tuple(
        {**value, "spec": {**value["spec"], **fields}} if _is(value, kind, name) else value
        for value in objects
    )


def of_group(group: str, kind: str, name: str) -> Callable[[Objects], Objects]:
    return lambda objects: tuple(
        {**value, "apiVersion": f"{group}/v1"} if _is(value, kind, name) else value for value in objects
    )


def _is(value: Mapping[str, Any], kind: str, name: str) -> bool:
    return value["kind"] == kind and str(value["metadata"]["name"]).startswith(name)


def _again(objects: Objects) -> Objects:
    base = next(value for value in objects if _is(value, "Configuration", "acme-base"))
    return (*objects, {**base, "metadata": {"name": "mine"}})


def test_what_rendering_makes_of_a_lock_is_well(world: World) -> None:
    project = world.project("shop", "app:v1.0.0", "tool")

    assert found_in(project, lambda objects: objects) == []


def test_one_source_under_two_names_is_found(world: World) -> None:
    project = world.project("shop", "app:v1.0.0")

    [finding] = found_in(project, _again)

    assert (finding.rule, finding.folder, finding.exit_code) == ("rendered-inconsistent", str(project), 4)
    assert finding.why == (
        f"Configuration mine installs {HOME}/base:v1.1.0, which is not in the lock",
        f"{HOME}/base is installed by Configuration acme-base and Configuration mine; "
        "two package objects for one source block every package in the cluster",
    )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            without("Configuration", "acme-base"),
            f"Configuration acme-base is missing; it installs {HOME}/base:v1.1.0",
        ),
        (
            with_spec("Configuration", "acme-base", package=f"{HOME}/base:v1.0.0"),
            f"Configuration acme-base installs {HOME}/base:v1.0.0; the lock has {HOME}/base:v1.1.0",
        ),
        (without("ImageConfig", "xplock-acme-base"), f"no ImageConfig points {HOME}/base:v1.1.0 to sha256:"),
        (
            with_spec("ImageConfig", "xplock-acme-base", rewriteImage={"prefix": f"{HOME}/base:v1.1.0"}),
            f"no ImageConfig points {HOME}/base:v1.1.0 to sha256:",
        ),
        (
            with_spec("ImageConfig", "xplock-acme-base", matchImages=[{"prefix": f"{HOME}/base"}]),
            f"no ImageConfig points {HOME}/base:v1.1.0 to sha256:",
        ),
        (
            of_group("other.example.org", "ImageConfig", "xplock-acme-base"),
            f"no ImageConfig points {HOME}/base:v1.1.0 to sha256:",
        ),
        (
            lambda objects: (*objects, LOCK),
            "Lock lock is among the objects, and a Lock must not be applied",
        ),
        (
            lambda objects: (*objects, objects[-1]),
            "Configuration acme-app is rendered 2 times",
        ),
    ],
    ids=[
        "no package",
        "a version",
        "no pin",
        "a pin to a tag",
        "a wider pin",
        "a pin of somebody else",
        "a lock",
        "an object twice",
    ],
)
def test_whatever_else_is_not_as_locked_is_found(
    world: World, change: Callable[[Objects], Objects], problem: str
) -> None:
    project = world.project("shop", "app:v1.0.0")

    [finding] = found_in(project, change)

    assert len(finding.why) == 1
    assert finding.why[0].startswith(problem)


def test_a_package_that_is_attached_and_must_not_be_is_found(world: World) -> None:
    project = world.project("shop", "app:v1.0.0", more="detach: all\n")

    [finding] = found_in(project, with_spec("Configuration", "acme-app", skipDependencyResolution=False))

    assert finding.why == ("Configuration acme-app is attached; the lock says detached",)


@pytest.mark.parametrize("pin", ["tag", "native"])
def test_where_nothing_is_pinned_by_an_image_config_none_is_missed(world: World, pin: str) -> None:
    project = world.project("shop", "app:v1.0.0", more=f"pin: {pin}\n")

    assert found_in(project, lambda objects: objects) == []


def test_a_lock_that_an_overlay_adds_is_found(world: World) -> None:
    project = world.project("shop", "app:v1.0.0", more="overlay: overlay\n")
    (project / "overlay").mkdir()
    (project / "overlay/kustomization.yaml").write_text("resources: [lock.yaml]\n")
    (project / "overlay/lock.yaml").write_text(
        "apiVersion: pkg.crossplane.io/v1beta1\nkind: Lock\nmetadata:\n  name: lock\n"
    )
    run(["-q", "lock", str(project)])

    findings = find_findings(read_checked([project], Limits(), {"PATH": "/usr/bin:/bin"}))

    assert [finding.rule for finding in findings] == ["not-renderable"]


def test_many_problems_are_counted_rather_than_shown(world: World) -> None:
    project = world.project("shop", "app:v1.0.0")
    more = tuple({**LOCK, "metadata": {"name": f"lock-{i:02}"}} for i in range(25))

    [finding] = found_in(project, lambda objects: (*objects, *more))

    assert (len(finding.why), finding.why[-1]) == (21, "… and 5 more")


def test_an_object_with_items_is_found(world: World) -> None:
    hiding = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "items": [LOCK]}

    [finding] = found_in(world.project("shop", "app:v1.0.0"), lambda objects: (*objects, hiding))

    assert finding.why == ("ConfigMap m has the field items, and Argo CD would apply each item as an object",)


def test_a_revision_that_the_lock_does_not_deactivate_is_found(world: World) -> None:
    revision = {
        "apiVersion": "pkg.crossplane.io/v1",
        "kind": "ProviderRevision",
        "metadata": {"name": "evil-1"},
        "spec": {"desiredState": "Active", "image": "xpkg.example.org/acme/evil:v1"},
    }

    [finding] = found_in(world.project("shop", "app:v1.0.0"), lambda objects: (*objects, revision))

    assert finding.why == ("ProviderRevision evil-1 is the revision of no deactivated package",)
