"""xplock lock --live: the names and versions that a cluster has are kept, or the lock is refused with what to write."""

import textwrap
from pathlib import Path

import pytest
from rig.builders.live_locks import Entry, format_live_lock
from rig.builders.projects import World, at, locked, moves, text_of

from render.cli.run import run
from render.limits import Limits
from render.lock.text.file import read_lock
from render.system.files import LOCK_FILE

APP = Entry("app v1.0.0", needs={"base": "*"})
MINE = Entry("base v1.0.0", "my-base")


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A registry with packages, of which app needs base."""
    made = World(tmp_path)
    made.publish("base v1.0.0")
    made.publish("base v1.1.0")
    made.publish("app v1.0.0", {"base": "*"})
    made.publish("next v1.0.0")
    return made


def lock_live(folder: Path, *entries: Entry, more: tuple[str, ...] = ()) -> int:
    """Lock a folder with the Lock of a cluster that has these packages."""
    live = folder.parent / "live.yaml"
    live.write_text(format_live_lock(entries))
    return run(["lock", "--live", str(live), *more, str(folder)])


def named(folder: Path) -> dict[str, str]:
    lock = read_lock(folder, Limits())
    assert lock is not None
    return {source.name: package.object_name for source, package in lock.packages.items()}


def pasted(errors: str) -> str:
    """Return the manifests that an error prints."""
    lines = textwrap.dedent(errors[errors.index("apiVersion:") - 8 :]).splitlines()
    return "\n".join(lines[: next(i for i, line in enumerate(lines) if line.startswith("its other"))]) + "\n"


@pytest.mark.parametrize("generation", [None, 3], ids=["v2.3", "v2.4"])
def test_a_dependency_under_a_hand_made_name_is_refused_with_the_root_to_write(
    world: World, generation: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = world.project("shop", "app")
    mine = Entry("base v1.0.0", "my-base", generation=generation)

    assert lock_live(shop, mine, APP) == 4
    errors = capsys.readouterr().err
    assert not (shop / LOCK_FILE).exists()
    assert f"{at('base')} is my-base there, and would be acme-base as well" in errors

    (shop / "base.yaml").write_text(pasted(errors))
    assert lock_live(shop, mine, APP) == 0
    assert (named(shop)["base"], locked(shop)["base"]) == ("my-base", "v1.0.0")
    assert f"  staleEntry:\n  - {at('base')}\n".encode() in text_of(shop)


def test_all_of_them_are_listed_at_once(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.publish("top v1.0.0", {"app": "*", "next": "*"})
    shop = world.project("shop", "top")
    entries = [Entry("next v1.0.0", "mine"), MINE, APP]

    assert lock_live(shop, *entries) == 4
    (shop / "hand-made.yaml").write_text(pasted(capsys.readouterr().err))

    assert lock_live(shop, *entries) == 0
    assert named(shop) == {"top": "acme-top", "app": "acme-app", "base": "my-base", "next": "mine"}


@pytest.mark.parametrize("name", [None, "other"])
def test_a_root_is_named_as_the_cluster_has_it(
    world: World, name: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = world.project("shop", "base")
    settings = shop / "xplock.yaml"
    plain = f"  - package: {at('base')}\n"
    settings.write_text(settings.read_text().replace(plain, plain + (f"    name: {name}\n" if name else "")))

    assert lock_live(shop, MINE) == 4
    assert f"next: name {at('base')} my-base where you ask for it\n" in capsys.readouterr().err

    settings.write_text(
        settings.read_text().replace(f"    name: {name}\n", "").replace(plain, f"{plain}    name: my-base\n")
    )
    assert lock_live(shop, MINE) == 0
    assert (named(shop), locked(shop)) == ({"base": "my-base"}, {"base": "v1.0.0"})


def test_a_lock_with_another_name_is_refused_and_can_be_started_over(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = world.project("shop", "app")
    assert run(["-q", "lock", str(shop)]) == 0
    before = text_of(shop)

    assert lock_live(shop, MINE, APP) == 4
    errors = capsys.readouterr().err
    assert text_of(shop) == before
    assert "add --new to this command" in errors

    (shop / "base.yaml").write_text(pasted(errors.replace("the lock has other", "its other")))
    assert lock_live(shop, MINE, APP, more=("--new",)) == 0
    assert (named(shop)["base"], locked(shop)["base"]) == ("my-base", "v1.0.0")


def test_versions_that_the_cluster_has_are_kept(world: World) -> None:
    shop = world.project("shop", "app")

    assert lock_live(shop, Entry("base v1.0.0"), APP) == 0

    assert locked(shop) == {"app": "v1.0.0", "base": "v1.0.0"}


def test_they_change_where_that_is_asked_for_and_it_is_said(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = world.project("shop", "app", "base:v1.1.0")

    assert lock_live(shop, Entry("base v1.0.0"), APP) == 0

    assert locked(shop)["base"] == "v1.1.0"
    said = f"warning: {at('base')} changes: the cluster has v1.0.0, and the lock v1.1.0\n"
    assert said in capsys.readouterr().err


def test_an_upgrade_of_everything_takes_the_newest(world: World) -> None:
    shop = world.project("shop", "app")

    assert lock_live(shop, Entry("base v1.0.0"), APP, more=("-U",)) == 0

    assert locked(shop)["base"] == "v1.1.0"


def test_a_version_that_the_registry_has_lost_is_never_replaced_silently(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = world.project("shop", "app")

    assert lock_live(shop, Entry("base v1.0.5"), APP) == 1

    assert f"{at('base')} would move up from v1.0.5 to v1.1.0" in capsys.readouterr().err


def test_a_source_that_the_cluster_has_twice_is_refused(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = world.project("shop", "app")

    assert lock_live(shop, MINE, APP, Entry("base v1.0.0")) == 4

    errors = capsys.readouterr().err
    assert f"error: the cluster's Lock has {at('base')} twice\n" in errors
    assert "my-base-0123456789ab and acme-base-0123456789ab" in errors
    assert not (shop / LOCK_FILE).exists()


@pytest.mark.parametrize("source", ["acme/base", f"{at('base')}:v1.0.0"])
def test_a_source_that_differs_only_as_text_is_refused(
    world: World, source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = world.project("shop", "app")

    assert lock_live(shop, Entry("base v1.0.0", source=source), APP) == 4

    assert f"error: the cluster knows {at('base')} as {source}\n" in capsys.readouterr().err


def test_another_kind_is_refused(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    shop = world.project("shop", "app")

    assert lock_live(shop, Entry("base v1.0.0", kind="Provider"), APP) == 4

    assert (
        f"{at('base')} v1.0.0 is a Configuration, and the cluster has a Provider" in capsys.readouterr().err
    )


def test_an_object_of_another_package_is_never_taken_over(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = world.project("shop", "app")

    assert lock_live(shop, Entry("next v1.0.0", "acme-base"), APP) == 4

    assert "the cluster has another package as Configuration acme-base" in capsys.readouterr().err


def test_other_packages_of_the_cluster_stay_and_are_mentioned(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = world.project("shop", "base")

    assert lock_live(shop, Entry("base v1.0.0"), Entry("else/where v3.0.0")) == 0

    said = f"the cluster has 1 package that nothing here asks for, which stays as it is: {at('else/where')} v3.0.0"
    assert said in capsys.readouterr().err


def test_a_package_is_locked_before_it_is_moved(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    shop = world.project("shop", "next", more=moves("base", "next"))

    assert lock_live(shop, Entry("base v1.0.0")) == 4

    assert f"the cluster has {at('base')}, and it was never locked" in capsys.readouterr().err


LONG = "a-name-of-fifty-characters-or-more-that-is-cut-off-there"


def test_a_name_that_is_cut_off_is_kept_where_it_can_be_the_same(world: World) -> None:
    shop = world.project("shop", "app")
    (shop / "base.yaml").write_text(
        f"apiVersion: pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {{name: {LONG}}}\n"
        f"spec: {{package: {at('base')}}}\n"
    )

    assert lock_live(shop, Entry("base v1.0.0", LONG), APP) == 0

    assert named(shop)["base"] == LONG


@pytest.mark.parametrize(
    "entry", [Entry("base v1.0.0", LONG), Entry("base v1.0.0", revision="odd-file-xpkg")]
)
def test_a_name_that_the_lock_of_a_cluster_does_not_show_is_to_be_looked_up(
    world: World, entry: Entry, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = world.project("shop", "app")

    assert lock_live(shop, entry, APP) == 4

    errors = capsys.readouterr().err
    assert f"find the object of {at('base')}" in errors
    assert "kubectl get configurations.pkg.crossplane.io" in errors
