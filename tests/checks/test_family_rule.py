"""Provider families: their members come from one place, in all folders of a cluster."""

from pathlib import Path

import pytest
from rig.builders.locks import lock, package
from rig.builders.projects import HOME, World, at

from render.checks.family_rule import family_scattered
from render.checks.model import Checked, CheckedFolder, Finding
from render.checks.read import read_checked
from render.checks.rules import find_findings
from render.cli.run import run
from render.errors import RenderError
from render.lean import replace
from render.limits import Limits
from render.lock.model import Lock, State
from render.lock.text.file import read_lock, write_lock
from render.lock.text.format import format_lock
from render.references import parse_source
from render.system.files import LOCK_FILE

FAMILY = "provider-family-cloud"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Two organisations that have members of one family, and a member that nobody calls one."""
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    world.publish(f"{FAMILY} v1.0.0", kind="Provider", family=FAMILY)
    world.publish("provider-cloud-net v1.0.0", kind="Provider", family=FAMILY)
    world.publish("labs/provider-cloud-store v1.0.0", kind="Provider", family=FAMILY)
    world.publish("labs/provider-other v1.0.0", kind="Provider")
    return world


def check(*folders: str, same_cluster: bool = False) -> list[Finding]:
    return find_findings(
        read_checked([Path(name) for name in folders], Limits(), {}, same_cluster=same_cluster)
    )


def locked(world: World, name: str, *roots: str, more: str = "") -> None:
    world.project(name, *roots, more=more)
    assert run(["-q", "lock", name]) == 0


def adopt(folder: str, name: str) -> None:
    """Make a package one of the family, in a lock that two branches may have merged into that."""
    found = read_lock(Path(folder), Limits()) or Lock()
    source = parse_source(at(name))
    package = replace(found.packages[source], family=FAMILY)
    write_lock(Path(folder), format_lock(replace(found, packages={**found.packages, source: package})))


def test_members_of_one_organisation_are_well(world: World) -> None:
    locked(world, "one", FAMILY, "provider-cloud-net", "labs/provider-other")

    assert check("one") == []


def test_a_family_in_two_organisations_is_found(world: World) -> None:
    locked(world, "one", FAMILY, "labs/provider-other")
    adopt("one", "labs/provider-other")

    [finding] = check("one")

    assert (finding.rule, finding.folder, finding.exit_code) == ("family-scattered", "one", 4)
    assert finding.message == f"the family {FAMILY} comes from several registries or organisations"
    assert finding.why[:2] == (
        f"{HOME}/{FAMILY} v1.0.0 in one",
        f"{at('labs/provider-other')} v1.0.0 in one",
    )
    lines = (Path("one") / LOCK_FILE).read_text().splitlines()
    assert lines[finding.place.line - 1].strip() == f"source: {HOME}/{FAMILY}"


def test_of_many_members_the_first_are_shown() -> None:
    members = [package(f"provider-cloud-{number:02} v1.0.0", family=FAMILY) for number in range(30)]
    elsewhere = replace(members[-1], source=parse_source(at("labs/provider-cloud-29")))
    one = CheckedFolder(Path("one"), RenderError("not looked at"), lock([*members[:-1], elsewhere]))

    [finding] = family_scattered(Checked((one,)))

    assert finding.why[19:21] == (f"{at('provider-cloud-19')} v1.0.0 in one", "… and 10 more")
    assert len(finding.why) == 22


def test_what_is_leaving_does_not_count(world: World) -> None:
    locked(world, "one", FAMILY, "labs/provider-other")
    adopt("one", "labs/provider-other")
    scattered = check("one")
    locked(world, "one", FAMILY)

    moved_on = check("one")

    lock = read_lock(Path("one"), Limits()) or Lock()
    assert lock.packages[parse_source(at("labs/provider-other"))].state is State.ORPHANED
    assert ([finding.rule for finding in scattered], moved_on) == (["family-scattered"], [])


def test_an_alias_is_where_the_cluster_knows_it(examples: Path) -> None:
    steps = [path.parent for path in (examples / "moving/family").glob("*/crossplane.lock.yaml")]

    assert steps
    assert [finding.rule for step in steps for finding in check(str(step))] == []


def test_a_family_in_two_folders_of_one_cluster_is_found(world: World) -> None:
    locked(world, "platform", FAMILY)
    locked(world, "app", "labs/provider-cloud-store", more="uses:\n  - ../platform\n")

    both, one = check("platform", "app"), check("app")

    assert [(finding.rule, finding.folder) for finding in both] == [("family-scattered", "platform")]
    assert [(finding.rule, finding.folder) for finding in one] == [("family-scattered", "app")]
    assert set(both[0].why) == set(one[0].why)


def test_folders_of_several_clusters_are_not_compared_unless_told_otherwise(world: World) -> None:
    locked(world, "one", FAMILY)
    locked(world, "two", "labs/provider-cloud-store")

    apart, together = check("one", "two"), check("one", "two", same_cluster=True)

    assert apart == []
    assert [finding.rule for finding in together] == ["family-scattered"]


def test_a_family_that_only_used_folders_have_is_not_told(world: World) -> None:
    locked(world, "low", FAMILY)
    locked(world, "middle", "labs/provider-cloud-store", more="uses:\n  - ../low\n")
    locked(world, "top", "labs/provider-other", more="uses:\n  - ../middle\n")

    assert check("top") == []
