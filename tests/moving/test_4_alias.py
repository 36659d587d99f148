"""Moving, section 4: an alias keeps the old object and the old source with new bytes behind them; a repoint changes the source."""

import json
from pathlib import Path

import pytest
import yaml
from rig.builders.catalogs import FakeCatalog, Packages, digest_of, named
from rig.builders.lock_story import Story, detached, move, objects_of, states, wish
from rig.builders.projects import HOME, World, locked, moves, text_of
from rig.commands.refusals import edit_lock, refusal

from render.cli.run import run
from render.lean import replace
from render.lifecycle.claims import ImpossibleMove
from render.lock.text.format import format_lock
from render.moves import Strategy
from render.packages import Kind
from render.settings import PinMode
from render.system.files import LOCK_FILE
from render.versions.requests import Root

AWAY = "xpkg.example.com/acme"
PACKAGES: Packages = {
    "old v1.0.0": {},
    "new v1.5.0": {},
    "new v1.6.0": {},
    "newest v1.7.0": {},
    f"{AWAY}/old v1.2.0": {},
    "user v1.0.0": {"old": "^1"},
    "user v2.0.0": {},
    "next v1.0.0": {"new": "*"},
    "third v1.0.0": {f"{AWAY}/old": "*"},
    "other v1.0.0": {},
}
KINDS = dict.fromkeys(("old", "new", "newest", f"{AWAY}/old"), Kind.PROVIDER)


def story() -> Story:
    return Story(FakeCatalog(PACKAGES, kinds=KINDS))


def aliased(*more: str, new: str = "new v1.5.0") -> Story:
    """Old is installed and user depends on it; then new takes its place."""
    told = story()
    told.lock("old v1.0.0", "user v1.0.0")
    told.lock(new, "user v1.0.0", *more, moves=(move("old", new.split(" ")[0]),))
    return told


def called(text: str, name: str) -> Root:
    return replace(wish(text), name=name)


# Alias.


def test_the_object_keeps_its_source_with_the_new_tag() -> None:
    told = aliased()

    assert told.packages()["acme-old"]["spec"] == {"package": f"{named('old')}:v1.5.0"}
    assert told.packages().keys() == {"acme-old", "acme-user"}


def test_its_pin_leads_to_the_new_source_by_digest() -> None:
    told = aliased()

    assert told.pins()[f"{named('old')}:v1.5.0"] == f"{named('new')}@{digest_of('new v1.5.0')}"


def test_dependants_of_the_old_source_stay_attached() -> None:
    told = aliased()

    assert detached(told.current) == set()
    assert "skipDependencyResolution" not in told.packages()["acme-user"]["spec"]


def test_dependants_of_the_new_source_are_detached() -> None:
    told = aliased("next")

    assert detached(told.current) == {"next"}


def test_the_first_document_of_the_lock_holds_what_the_cluster_will_hold() -> None:
    first, _ = yaml.safe_load_all(format_lock(aliased().current))

    entries = {entry["source"]: (entry["version"], entry["name"]) for entry in first["packages"]}
    revision = f"acme-old-{digest_of('new v1.5.0').removeprefix('sha256:')[:12]}"
    assert entries[str(named("old"))] == ("v1.5.0", revision)
    assert str(named("new")) not in entries


def test_the_second_document_holds_the_real_source() -> None:
    _, second = yaml.safe_load_all(format_lock(aliased().current))

    (entry,) = [entry for entry in second["packages"] if entry["object"] == "acme-old"]
    assert (entry["source"], entry["installedAs"]) == (str(named("new")), str(named("old")))
    assert entry["digest"] == digest_of("new v1.5.0")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder in which new has taken the place of old, as an alias; a version newer than that is out."""
    world = World(tmp_path)
    world.publish("old v1.0.0", kind="Provider")
    world.publish("new v1.5.0", kind="Provider")
    world.publish("app v1.0.0", {"old": "^1"})
    project = world.project("shop", "app", "old", more=KNOWN)
    assert run(["-q", "lock", str(project)]) == 0
    world.project("shop", "app", "new", more=KNOWN + moves("old", "new"))
    assert run(["-q", "lock", str(project)]) == 0
    world.publish("new v1.6.0", kind="Provider")
    return project


KNOWN = "crossplaneVersion: v2.3.4\n"


def test_verifying_asks_the_real_source(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["verify", str(shop)])

    # The old source never had that tag.
    assert (code, capsys.readouterr().out) == (0, f"{shop}: 2 of 2 packages as locked\n")


def test_what_is_outdated_is_told_by_the_tags_of_the_real_source(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["outdated", str(shop), "-o", "json"])

    found = {one["source"]: one for one in json.loads(capsys.readouterr().out)["packages"]}
    assert found.keys() == {f"{HOME}/new"}
    assert "v1.6.0" in found[f"{HOME}/new"].values()


def test_an_upgrade_by_name_takes_a_version_of_the_real_source(shop: Path) -> None:
    code = run(["-q", "lock", "-P", f"{HOME}/new=v1.6.0", str(shop)])

    assert (code, locked(shop)["new"]) == (0, "v1.6.0")


def test_why_knows_it_by_the_real_source(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["why", f"{HOME}/new", str(shop)])

    assert code == 0
    assert f"{HOME}/new v1.5.0" in capsys.readouterr().out


def test_an_upgrade_of_an_alias_is_one_of_its_object() -> None:
    told = aliased()

    told.lock("new v1.6.0", "user v1.0.0")

    assert told.packages()["acme-old"]["spec"]["package"] == f"{named('old')}:v1.6.0"
    assert told.pins()[f"{named('old')}:v1.6.0"] == f"{named('new')}@{digest_of('new v1.6.0')}"


def test_a_further_move_keeps_the_object_with_its_first_source_and_the_newest_tag_and_bytes() -> None:
    told = aliased()

    told.lock("newest", "user v1.0.0", moves=(move("old", "new"), move("new", "newest")))

    assert objects_of(told.current) == {"old": "acme-old", "user": "acme-user"}
    assert told.packages()["acme-old"]["spec"]["package"] == f"{named('old')}:v1.7.0"
    assert told.pins()[f"{named('old')}:v1.7.0"] == f"{named('newest')}@{digest_of('newest v1.7.0')}"
    assert detached(told.current) == set()


def test_an_alias_ends_by_repoint_where_both_derive_one_name() -> None:
    told = aliased(new=f"{AWAY}/old v1.2.0")

    told.lock(f"{AWAY}/old", "user v1.0.0", moves=(move("old", f"{AWAY}/old", strategy="repoint"),))

    assert told.current.packages[named(f"{AWAY}/old")].installed_as is None
    assert told.packages()["acme-old"]["spec"]["package"] == f"{AWAY}/old:v1.2.0"
    assert told.current.deactivated == {}


def test_an_alias_does_not_end_by_repoint_where_they_do_not() -> None:
    told = aliased()

    with pytest.raises(ImpossibleMove) as caught:
        told.lock("new", "user v1.0.0", moves=(move("old", "new", strategy="repoint"),))

    assert caught.value.exit_code == 4
    assert caught.value.why[0].startswith("Crossplane would name it acme-new, and the object is acme-old")


def test_an_alias_ends_by_deactivate_when_no_attached_dependant_of_the_old_source_is_left() -> None:
    told = aliased()

    told.lock("new", "user v2.0.0", moves=(move("old", "new", strategy="deactivate"),))

    assert objects_of(told.current) == {"new": "acme-new", "old": "acme-old", "user": "acme-user"}
    off = told.packages()["acme-old"]["spec"]
    assert (off["package"], off["revisionActivationPolicy"]) == (f"{named('old')}:v1.5.0", "Manual")


def test_an_alias_does_not_end_by_deactivate_while_one_is_left_which_is_named() -> None:
    told = aliased()

    with pytest.raises(ImpossibleMove) as caught:
        told.lock("new", "user v1.0.0", moves=(move("old", "new", strategy="deactivate"),))

    assert caught.value.exit_code == 4
    assert caught.value.why == (f"{named('user')} v1.0.0 depends on {named('old')}, and is attached",)
    assert caught.value.next


@pytest.mark.parametrize("pin", [PinMode.TAG, PinMode.NATIVE])
def test_pins_are_not_left_out_while_there_is_an_alias(pin: PinMode) -> None:
    told = aliased()

    with pytest.raises(ImpossibleMove) as caught:
        told.lock("new", "user v1.0.0", pin=pin)

    assert caught.value.exit_code == 4
    assert caught.value.why[0].startswith("only pin: digest can put other bytes behind a source")
    assert caught.value.next[0] == "keep pin: digest and the tag while the alias is there"


def test_pins_are_left_out_in_the_lock_that_ends_the_alias() -> None:
    told = aliased()

    told.lock("new", "user v2.0.0", moves=(move("old", "new", strategy="deactivate"),), pin=PinMode.TAG)

    assert (told.pins(), states(told.current)["new"]) == ({}, "v1.5.0")


# Repoint.


def test_a_repointed_object_is_the_same_object_with_the_new_source() -> None:
    told = story()
    told.lock("old v1.0.0")

    told.lock(f"{AWAY}/old", moves=(move("old", f"{AWAY}/old"),))

    assert told.packages()["acme-old"]["spec"]["package"] == f"{AWAY}/old:v1.2.0"
    assert ([*told.packages()], told.current.deactivated) == (["acme-old"], {})


def test_under_the_name_that_the_new_source_derives_its_dependants_are_attached() -> None:
    told = story()
    told.lock("old v1.0.0")

    told.lock("third", moves=(move("old", f"{AWAY}/old"),))

    assert detached(told.current) == set()


def test_under_another_name_they_are_detached() -> None:
    told = story()
    told.lock(called("old v1.0.0", "my-old"))

    told.lock("third", moves=(move("old", f"{AWAY}/old"),))

    assert objects_of(told.current)[f"{AWAY}/old"] == "my-old"
    assert detached(told.current) == {"third"}


# Undoing them.


def test_the_opposite_entry_puts_the_bytes_of_the_old_source_behind_its_object_again() -> None:
    told = aliased()

    told.lock("old v1.0.0", "user v1.0.0", moves=(move("new", "old"),))

    assert told.packages()["acme-old"]["spec"]["package"] == f"{named('old')}:v1.0.0"
    assert told.pins()[f"{named('old')}:v1.0.0"] == f"{named('old')}@{digest_of('old v1.0.0')}"
    assert (detached(told.current), told.current.deactivated) == (set(), {})


def test_the_opposite_entry_gives_a_repointed_object_its_source_again() -> None:
    told = story()
    told.lock("old v1.0.0")
    told.lock(f"{AWAY}/old", moves=(move("old", f"{AWAY}/old"),))

    told.lock("old", moves=(move(f"{AWAY}/old", "old"),))

    assert told.packages()["acme-old"]["spec"]["package"] == f"{named('old')}:v1.0.0"
    assert objects_of(told.current) == {"old": "acme-old"}


# What somebody wrote into a lock.


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("    strategy: alias\n", "    strategy: swap\n", 'found the text "swap"'),
        ("    consent: moves\n", "    consent: none\n", 'found the text "none"'),
        (f"  installedAs: {HOME}/old\n", "", "is missing in LockDetails"),
        (
            f"  installedAs: {HOME}/old\n",
            f"  installedAs: {HOME}/old:v1\n",
            "LockDetails.packages[1].installedAs",
        ),
    ],
)
def test_an_alias_that_cannot_be_read_is_refused(
    old: str, new: str, problem: str, shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edited = edit_lock(shop, old, new)

    refused = refusal(capsys, "lock", str(shop))

    assert (refused.code, text_of(shop)) == (2, edited)
    assert refused.what == f"{shop / LOCK_FILE} is not a valid lock"
    assert problem in " ".join(refused.why)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "    strategy: alias\n",
            "    strategy: repoint\n",
            f"{HOME}/new is installedAs {HOME}/old, but it does not replace that as an alias",
        ),
        (
            f"  - source: {HOME}/old\n    strategy: alias\n",
            f"  - source: {HOME}/new\n    strategy: alias\n",
            f"{HOME}/app v1.0.0 needs {HOME}/old (^1), which is not in the lock",
        ),
    ],
)
def test_an_alias_that_contradicts_itself_is_out_of_date(
    old: str, new: str, problem: str, shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edited = edit_lock(shop, old, new)

    refused = refusal(capsys, "render", str(shop))

    assert (refused.code, text_of(shop)) == (3, edited)
    assert problem in refused.why


def test_what_is_recorded_of_an_alias_is_its_strategy(shop: Path) -> None:
    assert (
        f"  - source: {HOME}/old\n    strategy: {Strategy.ALIAS}\n    consent: moves\n"
        in text_of(shop).decode()
    )
