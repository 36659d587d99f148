"""Rules about several folders of one cluster."""

from pathlib import Path

import pytest
from rig.builders.locks import lock as made_lock
from rig.builders.locks import package, provided
from rig.builders.projects import HOME, World, moves, small_world

from render.checks.cluster_rules import needed_elsewhere, provided_changed, provided_unsuited
from render.checks.model import Checked, CheckedFolder, Finding
from render.checks.read import read_checked
from render.checks.rules import Rule, find_findings
from render.cli.run import run
from render.folders.neighbours import Neighbours
from render.inputs.projects import Inputs
from render.lean import replace
from render.limits import Limits
from render.lock.model import Lock, Replaced
from render.lock.text.file import read_lock, write_lock
from render.lock.text.format import format_lock
from render.moves import Consent, Strategy
from render.references import parse_source
from render.settings import Settings
from render.system.files import LOCK_FILE

PLATFORM = "uses:\n  - ../platform\n"
SWITCH_OFF = "crossplaneVersion: v2.3.4\n"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A small ecosystem: app, tool and old all need base; folders are named from where they are."""
    monkeypatch.chdir(tmp_path)
    return small_world(tmp_path)


@pytest.fixture
def cluster(world: World) -> World:
    """A platform with base, and an app that uses it."""
    world.project("platform", "base:v1.0.0")
    world.project("app", "app:v1.0.0", more=PLATFORM)
    lock("platform", "app")
    return world


def lock(*folders: str) -> None:
    assert run(["-q", "lock", *folders]) == 0


def check(*folders: str, same_cluster: bool = False) -> list[Finding]:
    checked = read_checked([Path(name) for name in folders], Limits(), {}, same_cluster=same_cluster)
    return find_findings(checked)


def told(findings: list[Finding]) -> list[tuple[str, str, int]]:
    return [(finding.rule, finding.folder, finding.exit_code) for finding in findings]


@pytest.mark.usefixtures("cluster")
def test_folders_that_go_together_are_well() -> None:
    assert check("platform", "app") == check("app") == check("app", "platform") == []


def test_a_used_folder_without_a_lock_is_found_by_whoever_uses_it(cluster: World) -> None:
    (cluster.folder / "platform" / LOCK_FILE).unlink()

    findings = check("app")

    assert told(findings) == [("used-unusable", "app", 3)]
    assert findings[0].next == ("lock it first: xplock lock platform",)


def test_a_used_folder_that_is_not_there_is_found_by_whoever_uses_it(cluster: World) -> None:
    (cluster.folder / "platform").rename(cluster.folder / "elsewhere")

    findings = check("app")

    assert told(findings) == [("used-unusable", "app", 2)]
    assert findings[0].message == "platform is used, and is not a folder"


def test_a_circle_is_found_in_the_folders_that_are_part_of_it_and_in_no_other(cluster: World) -> None:
    cluster.project("one", "tool", more="uses:\n  - ../two\n")
    cluster.project("two", "tool", more="uses:\n  - ../one\n")

    findings = [
        finding for finding in check("one", "two", "app", "platform") if finding.rule != "lock-missing"
    ]

    assert told(findings) == [("used-unusable", "one", 2), ("used-unusable", "two", 2)]
    assert findings[0].why == findings[1].why == ("one uses two uses one",)


def test_a_used_folder_that_has_changed_is_found(cluster: World) -> None:
    cluster.project("platform", "base:v1.1.0")
    lock("platform")

    findings = check("platform", "app")

    assert told(findings) == [("provided-changed", "app", 3)]
    assert findings[0].why == (f"../platform provides {HOME}/base v1.1.0, and not v1.0.0",)
    assert findings[0].next == ("run: xplock lock app",)


def test_a_version_that_is_not_accepted_any_more_is_graver_and_told_alone(cluster: World) -> None:
    cluster.project("platform", "base:v2.0.0")
    lock("platform")

    findings = check("platform", "app")

    assert told(findings) == [("provided-unsuited", "app", 4)]
    assert findings[0].why == (f"{HOME}/app v1.0.0 accepts ^1 of {HOME}/base; ../platform provides v2.0.0",)


def test_a_package_that_was_dropped_there_and_is_needed_here_is_found(cluster: World) -> None:
    platform = cluster.project("platform", "other")
    cluster.publish("other v1.0.0")
    (platform / LOCK_FILE).unlink()
    lock("platform")

    findings = check("app")

    assert told(findings) == [("needed-elsewhere", "app", 4)]
    assert findings[0].why == (f"{HOME}/app v1.0.0 needs {HOME}/base, which ../platform has dropped",)


def test_a_package_that_is_being_retired_there_and_is_needed_here_is_found(cluster: World) -> None:
    platform = cluster.project("platform", "other")
    cluster.publish("other v1.0.0")
    lock("platform")
    unneeded = check("platform", "app")
    _release(platform, "base")

    findings = check("platform", "app")

    assert unneeded == []
    assert told(findings) == [("needed-elsewhere", "app", 4)]
    assert findings[0].why == (f"{HOME}/app v1.0.0 needs {HOME}/base, which ../platform is about to drop",)


def test_a_package_that_was_switched_off_there_and_is_needed_here_is_found(cluster: World) -> None:
    cluster.publish("new v1.0.0")
    cluster.project("platform", "new", more=SWITCH_OFF + moves("base", "new"))
    lock("platform")

    findings = check("platform", "app")

    assert told(findings) == [("needed-elsewhere", "app", 4)]
    assert findings[0].why == (f"{HOME}/app v1.0.0 needs {HOME}/base, which ../platform has deactivated",)


def test_locked_together_the_same_move_is_well(cluster: World) -> None:
    cluster.publish("new v1.0.0")
    cluster.project("platform", "new", more=SWITCH_OFF + moves("base", "new"))
    lock("platform", "app")

    assert check("platform", "app") == []


def test_a_package_that_has_another_source_there_is_missed_by_who_is_attached(cluster: World) -> None:
    _repoint(cluster.folder / "platform", "base", "renamed")

    findings = check("app")

    assert told(findings) == [("needed-elsewhere", "app", 4)]
    assert findings[0].why == (
        f"{HOME}/app v1.0.0 needs {HOME}/base, which ../platform provides under another name",
    )


def test_who_is_detached_does_not_miss_the_name_of_what_was_replaced(cluster: World) -> None:
    cluster.project("app", "app:v1.0.0", more=f"{PLATFORM}detach: all\n")
    lock("app")
    _repoint(cluster.folder / "platform", "base", "renamed")

    assert told(check("app")) == [("provided-changed", "app", 3)]


def test_a_used_lock_that_contradicts_itself_is_not_compared(cluster: World) -> None:
    cluster.project("platform", "tool")
    lock("platform", "app")
    file = cluster.folder / "platform" / LOCK_FILE
    file.write_text(file.read_text().replace('constraints: ">=v1"', 'constraints: ">=v7"'))

    assert told(check("platform", "app")) == [("lock-stale", "platform", 3), ("used-unusable", "app", 3)]


def test_moves_of_a_folder_count_for_what_others_provide(cluster: World) -> None:
    cluster.publish("new v1.0.0")
    cluster.project("platform", "new")
    (cluster.folder / "platform" / LOCK_FILE).unlink()
    cluster.project("app", "app:v1.0.0", more=PLATFORM + moves("base", "new"))
    lock("platform", "app")

    assert check("platform", "app") == []


def test_one_package_in_two_folders_that_use_the_same_is_found(cluster: World) -> None:
    cluster.publish("lone v1.0.0")
    cluster.project("one", "lone", more=PLATFORM)
    cluster.project("two", "lone", more=PLATFORM)
    lock("one")
    lock("two")

    findings = check("one", "app", "two")

    assert told(findings) == [("rendered-twice", "one", 4)]
    assert findings[0].message == "one and two render the same objects"
    assert f"{HOME}/lone" in findings[0].why
    assert any(name.startswith("Configuration acme-lone") for name in findings[0].why)
    assert findings[0].next[1:] == (
        "  # one/xplock.yaml",
        "  uses:",
        "    - ../platform",
        "  # two/xplock.yaml",
        "  uses:",
        "    - ../platform",
    )


def test_folders_that_are_not_connected_may_have_the_same_unless_told_otherwise(world: World) -> None:
    world.project("one", "app:v1.0.0")
    world.project("two", "tool")
    lock("one", "two")

    apart, together = check("one", "two"), check("one", "two", same_cluster=True)

    assert apart == []
    assert told(together) == [("rendered-twice", "one", 4)]
    assert together[0].next[0] == (
        "ask for it in a new folder, shared, and nowhere else; each of them needs:"
    )


def test_an_object_of_the_users_in_two_folders_is_found(cluster: World) -> None:
    for name in ("platform", "app"):
        (cluster.folder / name / "settings.yaml").write_text(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  namespace: crossplane-system\n"
        )

    findings = check("platform", "app")

    assert told(findings) == [("rendered-twice", "platform", 4)]
    assert findings[0].why == ("ConfigMap crossplane-system/settings",)
    assert findings[0].next == ("keep it in one of them",)


def test_a_package_that_is_provided_and_locked_here_as_well_is_found(cluster: World) -> None:
    cluster.project("platform", "base:v1.0.0", "app:v1.0.0")
    lock("platform")

    findings = check("platform", "app")

    assert [rule for rule, _, code in told(findings)] == ["rendered-twice", "provided-changed"]
    assert findings[1].why == (f"../platform provides {HOME}/app",)


def test_a_folder_with_broken_files_is_not_compared_with_others(cluster: World) -> None:
    (cluster.folder / "app" / "broken.yaml").write_text("kind: [\n")

    assert told(check("platform", "app")) == [("inputs-invalid", "app", 2)]


def test_findings_come_in_the_order_of_the_folders(world: World) -> None:
    world.project("a", "app:v1.0.0")
    (world.folder / "a" / "broken.yaml").write_text("kind: [\n")
    world.project("b", "app:v1.0.0")

    assert [folder for _, folder, _ in told(check("b", "a", "a/../b"))] == ["b", "a", "a"]


@pytest.mark.parametrize(
    ("rule", "now"),
    [(provided_changed, "v1.1.0"), (provided_unsuited, "v2.0.0"), (needed_elsewhere, None)],
    ids=["changed", "unsuited", "dropped"],
)
def test_of_much_that_is_wrong_between_folders_the_first_is_shown(rule: Rule, now: str | None) -> None:
    names = [f"{number:02}" for number in range(30)]
    locked = made_lock(
        [package(f"app{name} v1.0.0", f"base{name} ^1") for name in names],
        provided=[provided(f"base{name} v1.0.0") for name in names],
    )
    there = [provided(f"base{name} {now}") for name in names] if now else []
    around = Neighbours(provided={one.source: one for one in there})
    inputs = Inputs(Path("app"), (), Settings(), (), (), {})

    [finding] = rule(Checked((CheckedFolder(Path("app"), inputs, locked, around=around),)))

    assert "base00" in finding.why[0]
    assert finding.why[20:] == ("… and 10 more",)


def _release(folder: Path, name: str) -> None:
    found = read_lock(folder, Limits()) or Lock()
    source = parse_source(f"{HOME}/{name}")
    package = replace(found.packages[source], released=True)
    write_lock(folder, format_lock(replace(found, packages={**found.packages, source: package})))


def _repoint(folder: Path, name: str, target: str) -> None:
    """Let another source have a package's object."""
    found = read_lock(folder, Limits()) or Lock()
    old, new = parse_source(f"{HOME}/{name}"), parse_source(f"{HOME}/{target}")
    replaced = (Replaced(old, Strategy.REPOINT, Consent.MOVES),)
    package = replace(found.packages[old], source=new, replaces=replaced)
    write_lock(folder, format_lock(replace(found, packages={new: package})))
