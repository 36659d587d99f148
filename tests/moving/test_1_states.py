"""Moving, section 1: the states of a locked package, how it gets from one to the next, and that an orphan counts."""

from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import TypeAlias

import pytest
import yaml
from rig.builders.catalogs import FakeCatalog, Packages, named
from rig.builders.lock_story import Story, is_guarded, move, objects_of, states
from rig.builders.projects import HOME, small_world, text_of
from rig.cluster.cluster import Cluster
from rig.commands.refusals import edit_lock, refusal

from render.cli.run import run
from render.lifecycle.names import NameTaken
from render.lifecycle.ownership import HandoverWithoutConsent
from render.lifecycle.retiring.checks import StillNeeded
from render.lock.model import State
from render.packages import Kind
from render.resolve.conflict import NoSolution
from render.system.files import LOCK_FILE

Told: TypeAlias = Callable[[], Story]

AWAY = "xpkg.example.com/acme"
PACKAGES: Packages = {
    "app v1.0.0": {"base": "^1", "fn": "*"},
    "base v1.0.0": {},
    "base v1.1.0": {},
    "base v2.0.0": {},
    "fn v1.0.0": {},
    "heir v1.2.0": {},
    "heir v2.0.0": {},
    "lone v1.0.0": {},
    f"{AWAY}/lone v1.0.0": {},
    "twin v1.0.0": {},
}
PROVIDERS = ("base", "heir", "lone", f"{AWAY}/lone", "twin")
KINDS = {**dict.fromkeys(PROVIDERS, Kind.PROVIDER), "fn": Kind.FUNCTION}
OBJECTS = {name: ["CustomResourceDefinition lones.acme.org"] for name in ("lone", "twin")}


def story() -> Story:
    return Story(FakeCatalog(PACKAGES, kinds=KINDS, objects=OBJECTS))


def orphaned() -> Story:
    """Lone was asked for, and base is not asked for any more."""
    told = story()
    told.lock("base v1.0.0", "lone")
    told.lock("lone")
    return told


def deactivated() -> Story:
    """Heir has taken the place of base."""
    told = story()
    told.lock("base v1.0.0", "lone")
    told.lock("heir", "lone", moves=(move("base", "heir"),))
    return told


def released(told: Story) -> Story:
    told.retire("base")
    return told


def ask_again(told: Story) -> Story:
    """Ask for base again, in whatever state it is; what replaced it makes room then."""
    moved = (move("heir", "base"),) if told.current.deactivated else ()
    told.lock("base", "lone", moves=moved)
    return told


LEAVING = pytest.mark.parametrize("leaving", [orphaned, deactivated])
ANY_WAY = pytest.mark.parametrize(
    "left",
    [orphaned, deactivated, lambda: released(orphaned()), lambda: released(deactivated())],
    ids=["orphaned", "deactivated", "orphaned-released", "deactivated-released"],
)


# From one state to the next.


def test_what_nobody_asks_for_any_more_is_an_orphan() -> None:
    assert states(orphaned().current) == {"base": "v1.0.0 orphaned", "lone": "v1.0.0"}


def test_what_was_replaced_is_deactivated() -> None:
    assert states(deactivated().current) == {
        "base": "v1.0.0 deactivated",
        "heir": "v2.0.0",
        "lone": "v1.0.0",
    }


@LEAVING
def test_retiring_what_is_leaving_takes_its_guard_off(leaving: Told) -> None:
    told = leaving()
    before = is_guarded(told.packages()["acme-base"])

    told.retire("base")

    assert states(told.current)["base"].endswith(" released")
    assert (before, is_guarded(told.packages()["acme-base"])) == (True, False)


@LEAVING
def test_retiring_what_is_released_makes_it_gone(leaving: Told) -> None:
    told = released(leaving())

    told.retire("base")

    assert "base" not in states(told.current)
    assert "acme-base" not in told.packages()


@LEAVING
@pytest.mark.parametrize("synced", [True, False])
def test_a_cluster_that_has_not_synced_the_first_step_keeps_what_is_dropped(
    synced: bool, leaving: Told
) -> None:
    told = leaving()
    cluster = Cluster(told.catalog)
    cluster.sync(told.rendered())

    told.retire("base")
    if synced:
        cluster.sync(told.rendered())
    told.retire("base")
    cluster.sync(told.rendered())

    assert ("Provider/acme-base" in cluster.images()) is not synced


@ANY_WAY
def test_asked_for_again_it_is_an_ordinary_package(left: Told) -> None:
    told = ask_again(left())

    package = told.current.packages[named("base")]
    assert (package.state, package.released, package.root) == (State.WANTED, False, "any version")
    assert named("base") not in told.current.deactivated
    spec = told.packages()["acme-base"]["spec"]
    assert spec.get("revisionActivationPolicy", "Automatic") == "Automatic"
    assert not spec.get("skipDependencyResolution", False)


@ANY_WAY
def test_asked_for_again_it_has_its_name(left: Told) -> None:
    assert objects_of(ask_again(left()).current)["base"] == "acme-base"


@ANY_WAY
def test_asked_for_again_it_has_the_version_it_left_with_although_there_are_newer_ones(left: Told) -> None:
    assert states(ask_again(left()).current)["base"] == "v1.0.0"


@ANY_WAY
def test_asked_for_again_it_has_its_guard_back(left: Told) -> None:
    assert is_guarded(ask_again(left()).packages()["acme-base"])


@ANY_WAY
def test_whatever_is_not_gone_is_in_the_lock_and_rendered(left: Told) -> None:
    told = left()

    assert "base" in states(told.current)
    assert told.packages()["acme-base"]["spec"]["package"] == f"{named('base')}:v1.0.0"


# By the command.


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder that asked for app and old, and asks for old alone now."""
    world = small_world(tmp_path)
    project = world.project("shop", "app:v1.0.0", "old")
    assert run(["-q", "lock", str(project)]) == 0
    world.project("shop", "old")
    assert run(["-q", "lock", str(project)]) == 0
    return project


def live(annotations: dict[str, str]) -> TextIOWrapper:
    """What kubectl prints of app, on stdin."""
    metadata = {"name": "acme-app", "annotations": annotations}
    value = {"apiVersion": "pkg.crossplane.io/v1", "kind": "Configuration", "metadata": metadata}
    return TextIOWrapper(BytesIO(yaml.safe_dump(value).encode()))


def test_the_first_run_of_retire_releases_and_the_second_drops(shop: Path) -> None:
    first = run(["-q", "retire", "app", "-C", str(shop)])
    between = text_of(shop).decode()
    second = run(["-q", "retire", "app", "-C", str(shop), "--synced"])

    assert (first, second) == (0, 0)
    assert "released: true" in between
    assert f"source: {HOME}/app" not in text_of(shop).decode()


def test_the_second_run_needs_a_word_that_every_cluster_has_synced_the_first(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["retire", "app", "-C", str(shop)])
    before = text_of(shop)

    refused = refusal(capsys, "retire", "app", "-C", str(shop))

    assert (refused.code, text_of(shop)) == (3, before)
    assert refused.what == f"{HOME}/app v1.0.0 can be dropped when every cluster has synced the first step"
    assert f"then: xplock retire {HOME}/app -C {shop} --synced" in refused.next


def test_or_it_needs_the_live_object_without_its_guard(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(["-q", "retire", "app", "-C", str(shop)])
    monkeypatch.setattr("sys.stdin", live({}))

    code = run(["-q", "retire", "app", "-C", str(shop), "--live", "-"])

    assert (code, f"source: {HOME}/app" in text_of(shop).decode()) == (0, False)


def test_a_live_object_that_has_its_guard_is_not_let_go_of(
    shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["retire", "app", "-C", str(shop)])
    before = text_of(shop)
    monkeypatch.setattr("sys.stdin", live({"argocd.argoproj.io/sync-options": "Prune=false"}))

    refused = refusal(capsys, "retire", "app", "-C", str(shop), "--live", "-")

    assert (refused.code, text_of(shop)) == (3, before)
    assert refused.why == ["Configuration acme-app has argocd.argoproj.io/sync-options: Prune=false"]


def test_retiring_what_is_gone_tells_the_way_back(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["retire", "app", "-C", str(shop)])
    run(["retire", "app", "-C", str(shop), "--synced"])
    before = text_of(shop)

    refused = refusal(capsys, "retire", f"{HOME}/app", "-C", str(shop))

    assert (refused.code, text_of(shop)) == (2, before)
    assert refused.what == f"{HOME}/app is not in the lock"
    assert refused.next[-1].endswith("revert the commit that dropped it, sync, and retire it once more")


# Without guards.


def test_without_guards_nothing_is_orphaned() -> None:
    told = story()
    told.lock("base v1.0.0", "lone", guard=False)

    told.lock("lone")

    assert states(told.current) == {"lone": "v1.0.0"}
    assert told.packages().keys() == {"acme-lone"}


def test_without_guards_what_was_replaced_stays_rendered_until_it_is_retired() -> None:
    told = story()
    told.lock("base v1.0.0", guard=False)

    told.lock("heir", moves=(move("base", "heir"),))
    told.lock("heir")

    assert states(told.current)["base"] == "v1.0.0 deactivated"
    assert not is_guarded(told.packages()["acme-base"])


def test_without_guards_retiring_is_one_step() -> None:
    told = story()
    told.lock("base v1.0.0", guard=False)
    told.lock("heir", moves=(move("base", "heir"),))

    told.retire("base")

    assert states(told.current) == {"heir": "v2.0.0"}
    assert told.packages().keys() == {"acme-heir"}


# An orphan is active and counts.


def app_orphaned() -> Story:
    """App, which needs base and fn, is not asked for any more."""
    told = story()
    told.lock("app", "base v1.0.0", "lone")
    told.lock("lone")
    return told


def test_what_an_orphan_accepts_binds_the_versions_of_others() -> None:
    told = app_orphaned()

    told.lock("base", "lone")
    wanted = states(told.current)["base"]
    with pytest.raises(NoSolution) as caught:
        told.lock("base v2.0.0", "lone")

    assert wanted == "v1.0.0"
    assert caught.value.exit_code == 4
    assert f"{named('app')} v1.0.0 accepts {named('base')} ^1 (an orphaned package)" in caught.value.why
    assert f"  xplock retire {named('app')} -C project" in caught.value.next


def test_an_orphan_that_depends_on_the_old_source_makes_a_move_an_alias() -> None:
    told = app_orphaned()

    told.lock("heir", "lone", moves=(move("base", "heir"),))

    assert told.current.packages[named("heir")].installed_as == named("base")
    # The newest one does not suit the orphan.
    assert states(told.current)["heir"] == "v1.2.0"


def test_the_objects_of_an_orphan_of_an_earlier_lock_have_an_owner() -> None:
    told = story()
    told.lock("lone", "base v1.0.0")
    told.lock("base")
    told.lock("base")

    with pytest.raises(HandoverWithoutConsent) as caught:
        told.lock("base", "twin")

    assert caught.value.exit_code == 4
    assert caught.value.what == f"{named('twin')} would take over what {named('lone')} installed"


def test_the_name_of_an_orphan_is_taken() -> None:
    told = story()
    told.lock("lone", "base v1.0.0")
    told.lock("base")

    with pytest.raises(NameTaken) as caught:
        told.lock("base", f"{AWAY}/lone")

    assert caught.value.exit_code == 4
    assert caught.value.what == "two packages would be one Provider named acme-lone"
    assert f"{named('lone')} v1.0.0 has it already" in caught.value.why


def test_an_orphan_holds_all_that_it_depends_on_as_orphans_its_functions_too() -> None:
    told = app_orphaned()

    assert states(told.current) == {
        "app": "v1.0.0 orphaned",
        "base": "v1.0.0 orphaned",
        "fn": "v1.0.0 orphaned",
        "lone": "v1.0.0",
    }
    assert told.packages().keys() == {"acme-app", "acme-base", "acme-fn", "acme-lone"}


# Who may go.


def test_what_is_asked_for_is_not_retired(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = text_of(shop)

    refused = refusal(capsys, "retire", "old", "-C", str(shop))

    assert (refused.code, text_of(shop)) == (4, before)
    assert refused.why == [f"{HOME}/old v1.0.0 is asked for in {shop}"]


def test_what_a_wanted_package_depends_on_is_not_retired_and_that_one_is_named() -> None:
    told = story()
    told.lock("app")

    with pytest.raises(StillNeeded) as caught:
        told.retire("base")

    assert caught.value.exit_code == 4
    assert caught.value.why == (f"{named('base')} v1.1.0 is required by {named('app')}",)


def test_what_an_orphan_depends_on_is_not_retired_and_that_one_is_named() -> None:
    with pytest.raises(StillNeeded) as caught:
        app_orphaned().retire("fn")

    assert caught.value.why == (f"{named('app')} v1.0.0 needs {named('fn')} v1.0.0",)


def test_what_has_taken_the_place_of_a_package_that_is_off_is_not_retired_and_that_one_is_named() -> None:
    told = deactivated()
    told.lock("lone")

    with pytest.raises(StillNeeded) as caught:
        told.retire("heir")

    assert states(told.current)["heir"] == "v2.0.0 orphaned"
    assert caught.value.why[0].startswith(
        f"{named('base')} v1.0.0 is deactivated, and {named('heir')} v2.0.0"
    )


def test_a_package_and_what_it_depends_on_are_retired_together() -> None:
    told = app_orphaned()

    told.retire("app", "fn")

    assert states(told.current) == {
        "app": "v1.0.0 orphaned released",
        "base": "v1.0.0 orphaned",
        "fn": "v1.0.0 orphaned released",
        "lone": "v1.0.0",
    }


@pytest.mark.parametrize("name", ["acme-app", "acme-base", "acme-fn"])
def test_packages_of_every_kind_are_guarded(name: str) -> None:
    told = story()
    told.lock("app")

    assert {value["kind"] for value in told.packages().values()} == {*Kind}
    assert is_guarded(told.packages()[name])


# What somebody wrote into a lock.


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "state: orphaned",
            "state: retired",
            'expected wanted or orphaned or deactivated, found the text "retired"',
        ),
        ("state: orphaned", "state: deactivated", "a deactivated package belongs under deactivated"),
        ("state: orphaned", "state: orphaned\n  released: maybe", "expected true or nothing"),
    ],
)
def test_a_state_that_there_is_not_is_refused(
    old: str, new: str, problem: str, shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edited = edit_lock(shop, old, new)

    refused = refusal(capsys, "lock", str(shop))

    assert (refused.code, text_of(shop)) == (2, edited)
    assert refused.what == f"{shop / LOCK_FILE} is not a valid lock"
    assert problem in refused.why[0]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("  state: orphaned\n", "", f"{HOME}/app is in the lock, but nothing asks for it"),
        ("  state: orphaned\n", "  released: true\n", f"{HOME}/app is released, but it is not leaving"),
        (
            "  state: orphaned\n",
            "  state: orphaned\n  root: v1.0.0\n",
            f"{HOME}/app is orphaned, but it is asked for",
        ),
    ],
)
def test_a_state_that_contradicts_the_rest_makes_a_lock_out_of_date_and_is_put_right_by_locking(
    old: str, new: str, problem: str, shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = text_of(shop)
    edited = edit_lock(shop, old, new)

    refused = refusal(capsys, "render", str(shop))

    assert (refused.code, text_of(shop)) == (3, edited)
    assert any(line.startswith(problem) for line in refused.why)
    assert run(["-q", "lock", str(shop)]) == 0
    assert text_of(shop) == before
