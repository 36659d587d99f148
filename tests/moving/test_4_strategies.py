"""Moving, section 4: the table of strategies, first match wins; and what is asked for is done, or refused with the reason."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from rig.builders.catalogs import FakeCatalog, Packages, digest_of, named, root
from rig.builders.lock_story import Story, detached, move, objects_of, states, wish
from rig.builders.projects import HOME, World, moves, text_of
from rig.commands.refusals import refusal

from render.cli.run import run
from render.lean import replace
from render.lifecycle.claims import ImpossibleMove, MoveWithoutConsent
from render.lifecycle.names import NameTaken
from render.lock.model import Lock
from render.moves import Move, Strategy
from render.packages import Kind
from render.resolve.conflict import NoSolution
from render.settings import Detach, PinMode
from render.versions.requests import Root

AWAY = "xpkg.example.com/acme"
PACKAGES: Packages = {
    "old v1.0.0": {},
    "old v1.1.0": {},
    "new v1.5.0": {},
    "new v2.0.0": {},
    f"{AWAY}/old v1.2.0": {},
    "part-a v1.0.0": {},
    "part-b v1.0.0": {},
    "user v1.0.0": {"old": "^1"},
    "user v2.0.0": {"new": ">=v2"},
    "fn v1.0.0": {},
    "fn-two v1.0.0": {},
    "fn-three v1.0.0": {},
    f"{AWAY}/fn v1.1.0": {},
    "flow v1.0.0": {"fn": "*"},
    "flow v2.0.0": {"fn-two": "*"},
    "other v1.0.0": {},
}
FUNCTIONS = ("fn", "fn-two", "fn-three", f"{AWAY}/fn")
PROVIDERS = ("old", "new", f"{AWAY}/old", "part-a", "part-b")
KINDS = {**dict.fromkeys(PROVIDERS, Kind.PROVIDER), **dict.fromkeys(FUNCTIONS, Kind.FUNCTION)}


def story(*roots: str | Root) -> Story:
    told = Story(FakeCatalog(PACKAGES, kinds=KINDS))
    if roots:
        told.lock(*roots)
    return told


def called(text: str, name: str) -> Root:
    return replace(wish(text), name=name)


def strategies(lock: Lock) -> Mapping[str, Strategy]:
    """How each source was replaced, by its last component."""
    found = [one for package in lock.packages.values() for one in package.replaces]
    return {one.source.name: one.strategy for one in found}


# Row 0: a Function.


def test_a_function_that_keeps_its_derived_name_is_repointed() -> None:
    told = story("flow v1.0.0")

    told.lock("flow v1.0.0", moves=(move("fn", f"{AWAY}/fn"),))

    assert strategies(told.current) == {"fn": Strategy.REPOINT}
    assert objects_of(told.current) == {"flow": "acme-flow", f"{AWAY}/fn": "acme-fn"}
    assert told.packages()["acme-fn"]["spec"]["package"] == f"{AWAY}/fn:v1.1.0"


def test_otherwise_both_functions_stay_active_under_their_own_names() -> None:
    told = story("flow v1.0.0")

    told.lock("flow v1.0.0", "fn-two", moves=(move("fn", "fn-two"),))

    assert states(told.current) == {"flow": "v1.0.0", "fn": "v1.0.0", "fn-two": "v1.0.0"}
    assert objects_of(told.current) == {"flow": "acme-flow", "fn": "acme-fn", "fn-two": "acme-fn-two"}


def test_nothing_is_handed_over_and_who_depends_on_the_old_function_stays_attached() -> None:
    told = story("flow v1.0.0")

    told.lock("flow v1.0.0", "fn-two", moves=(move("fn", "fn-two"),))

    assert (strategies(told.current), told.current.deactivated, detached(told.current)) == ({}, {}, set())
    assert not any("revisionActivationPolicy" in value["spec"] for value in told.packages().values())


def test_the_old_function_is_orphaned_when_nobody_depends_on_it() -> None:
    told = story("flow v1.0.0")
    told.lock("flow v1.0.0", "fn-two", moves=(move("fn", "fn-two"),))

    told.lock("flow v2.0.0")

    assert states(told.current) == {"flow": "v2.0.0", "fn": "v1.0.0 orphaned", "fn-two": "v1.0.0"}


def test_a_function_that_became_several_stays_beside_them() -> None:
    told = story("flow v1.0.0")

    told.lock("flow v1.0.0", "fn-two", "fn-three", moves=(move("fn", "fn-two", "fn-three"),))

    assert states(told.current) == dict.fromkeys(["flow", "fn", "fn-two", "fn-three"], "v1.0.0")


def test_a_function_that_moves_to_one_that_nothing_asks_for_is_refused() -> None:
    told = story("flow v1.0.0")

    with pytest.raises(ImpossibleMove) as caught:
        told.lock("flow v1.0.0", moves=(move("fn", "fn-two"),))

    assert caught.value.exit_code == 4
    assert caught.value.what == f"{named('fn')} moves to {named('fn-two')}, which nothing asks for"


@pytest.mark.parametrize("new", ["fn-two", f"{AWAY}/fn"])
@pytest.mark.parametrize("strategy", ["alias", "deactivate"])
def test_a_function_is_neither_an_alias_nor_switched_off(new: str, strategy: str) -> None:
    told = story("flow v1.0.0")
    before = told.current

    with pytest.raises(ImpossibleMove) as caught:
        told.lock("flow v1.0.0", new, moves=(move("fn", new, strategy=strategy),))

    assert caught.value.exit_code == 4
    assert caught.value.what == f"cannot move {named('fn')} to {named(new)} with strategy {strategy}"
    assert "it is a Function" in caught.value.why[0]
    assert told.current == before


# Row 1: the old source is not installed.


def test_what_was_never_installed_is_not_moved_the_new_package_is_rendered_plainly() -> None:
    told = story()

    told.lock("user v1.0.0", "new", moves=(move("old", "new"),))

    assert strategies(told.current) == {"old": Strategy.PLAIN}
    assert states(told.current) == {"new": "v1.5.0", "user": "v1.0.0"}
    assert told.packages()["acme-new"]["spec"] == {"package": f"{named('new')}:v1.5.0"}


def test_dependants_of_what_was_never_installed_are_detached() -> None:
    told = story()

    told.lock("user v1.0.0", "new", moves=(move("old", "new"),))

    assert detached(told.current) == {"user"}


# Row 2: both are installed, or one becomes several.


def test_where_both_are_installed_the_old_one_is_deactivated_though_a_dependant_stays() -> None:
    told = story("old v1.0.0", "new v1.5.0", "user v1.0.0")

    told.lock("new v1.5.0", "user v1.0.0", moves=(move("old", "new"),))

    assert strategies(told.current) == {"old": Strategy.DEACTIVATE}
    assert objects_of(told.current) == {"new": "acme-new", "old": "acme-old", "user": "acme-user"}


def test_where_both_are_installed_the_old_one_is_deactivated_though_both_derive_one_name() -> None:
    told = story(called("old v1.0.0", "my-old"), f"{AWAY}/old")

    told.lock(f"{AWAY}/old", moves=(move("old", f"{AWAY}/old"),))

    assert strategies(told.current) == {"old": Strategy.DEACTIVATE}
    assert objects_of(told.current) == {f"{AWAY}/old": "acme-old", "old": "my-old"}


def test_what_becomes_several_is_deactivated_though_a_dependant_stays() -> None:
    told = story("old v1.0.0", "user v1.0.0")

    told.lock("user v1.0.0", moves=(move("old", "part-a", "part-b"),))

    assert states(told.current)["old"] == "v1.0.0 deactivated"
    assert {*strategies(told.current).values()} == {Strategy.DEACTIVATE}


# Row 3: a dependant of the old source stays attached.


def test_an_attached_dependant_that_stays_makes_it_an_alias() -> None:
    told = story("old v1.0.0", "user v1.0.0")

    told.lock("new", "user v1.0.0", moves=(move("old", "new"),))

    assert strategies(told.current) == {"old": Strategy.ALIAS}


def test_an_alias_comes_before_a_repoint() -> None:
    told = story("old v1.0.0", "user v1.0.0")

    told.lock(f"{AWAY}/old", "user v1.0.0", moves=(move("old", f"{AWAY}/old"),))

    assert strategies(told.current) == {"old": Strategy.ALIAS}


def test_a_dependant_that_does_not_stay_makes_no_alias() -> None:
    told = story("old v1.0.0", "user v1.0.0")

    told.lock("new", "user v2.0.0", moves=(move("old", "new"),))

    assert strategies(told.current) == {"old": Strategy.DEACTIVATE}


def test_a_dependant_that_is_detached_makes_no_alias() -> None:
    told = story("old v1.0.0", "user v1.0.0")

    told.lock("new", "user v1.0.0", moves=(move("old", "new"),), detach=Detach.ALL)

    assert strategies(told.current) == {"old": Strategy.DEACTIVATE}


def test_an_object_with_a_name_of_the_users_makes_no_alias() -> None:
    told = story(called("old v1.0.0", "my-old"), "user v1.0.0")

    told.lock("new", "user v1.0.0", moves=(move("old", "new"),))

    assert strategies(told.current) == {"old": Strategy.DEACTIVATE}


@pytest.mark.parametrize("pin", [PinMode.TAG, PinMode.NATIVE])
def test_without_pins_there_is_no_alias(pin: PinMode) -> None:
    told = Story(FakeCatalog(PACKAGES, kinds=KINDS))
    told.lock("old v1.0.0", "user v1.0.0", pin=pin)

    told.lock("new v1.5.0", "user v1.0.0", moves=(move("old", "new"),))

    assert strategies(told.current) == {"old": Strategy.DEACTIVATE}


def test_the_new_tag_is_one_that_the_dependants_of_the_old_source_accept() -> None:
    told = story("old v1.0.0", "user v1.0.0")

    told.lock("new", "user v1.0.0", moves=(move("old", "new"),))

    assert states(told.current)["new"] == "v1.5.0"


def test_a_new_tag_that_they_do_not_accept_is_refused() -> None:
    told = story("old v1.0.0", "user v1.0.0")

    with pytest.raises(NoSolution) as caught:
        told.lock("new v2.0.0", "user v1.0.0", moves=(move("old", "new"),))

    assert caught.value.exit_code == 4
    assert f"{named('user')} v1.0.0 accepts {named('new')} ^1 (instead of {named('old')})" in caught.value.why


def test_where_the_new_package_has_no_tag_to_show_there_is_no_alias() -> None:
    told = story("old v1.0.0", "user v1.0.0")

    told.lock(root("new", digest=digest_of("new v1.5.0")), "user v1.0.0", moves=(move("old", "new"),))

    assert strategies(told.current) == {"old": Strategy.DEACTIVATE}


# Row 4: one derived name. Row 5: otherwise.


def test_where_both_derive_one_name_the_object_is_repointed() -> None:
    told = story("old v1.0.0")

    told.lock(f"{AWAY}/old", moves=(move("old", f"{AWAY}/old"),))

    assert strategies(told.current) == {"old": Strategy.REPOINT}
    assert objects_of(told.current) == {f"{AWAY}/old": "acme-old"}


def test_otherwise_the_old_package_is_deactivated() -> None:
    told = story("old v1.0.0")

    told.lock("new", moves=(move("old", "new"),))

    assert strategies(told.current) == {"old": Strategy.DEACTIVATE}
    assert states(told.current) == {"new": "v2.0.0", "old": "v1.0.0 deactivated"}


# What is asked for.


@pytest.mark.parametrize(
    ("strategy", "new"), [("alias", "new"), ("repoint", f"{AWAY}/old"), ("deactivate", "new")]
)
def test_the_strategy_that_is_asked_for_is_taken(strategy: str, new: str) -> None:
    told = story("old v1.0.0", "user v1.0.0")

    told.lock(new, "user v1.0.0", moves=(move("old", new, strategy=strategy),))

    assert strategies(told.current) == {"old": strategy}


@pytest.mark.parametrize(
    ("first", "then", "entry", "condition"),
    [
        (["old"], ["new"], move("old", "new", strategy="repoint"), "Crossplane would name it acme-new"),
        (
            [called("old", "my-old")],
            ["new"],
            move("old", "new", strategy="alias"),
            "its object is named my-old, not acme-old as Crossplane would",
        ),
        (
            ["old"],
            [root("new", digest=digest_of("new v1.5.0"))],
            move("old", "new", strategy="alias"),
            f"{named('new')} is asked for by its digest, so there is no tag to show",
        ),
        (
            ["old"],
            ["part-a", "part-b"],
            move("old", "part-a", "part-b", strategy="alias"),
            "it became several packages, and one object can hold the bytes of one",
        ),
        (
            ["old"],
            ["part-a", "part-b"],
            move("old", "part-a", "part-b", strategy="repoint"),
            "it became several packages, and one object can be one of them",
        ),
        (
            ["old", "new"],
            ["new"],
            move("old", "new", strategy="alias"),
            f"{named('new')} has an object of its own already, acme-new",
        ),
        (
            [called("old", "my-old"), f"{AWAY}/old"],
            [f"{AWAY}/old"],
            move("old", f"{AWAY}/old", strategy="repoint"),
            f"{AWAY}/old has an object of its own already, acme-old",
        ),
    ],
    ids=[
        "repoint-name",
        "alias-name",
        "alias-digest",
        "alias-several",
        "repoint-several",
        "alias-both",
        "repoint-both",
    ],
)
def test_a_strategy_whose_condition_fails_is_refused_with_the_condition_and_nothing_else_is_done(
    first: list[str | Root], then: list[str | Root], entry: Move, condition: str
) -> None:
    told = story(*first)
    before = told.current

    with pytest.raises(ImpossibleMove) as caught:
        told.lock(*then, moves=(entry,))

    assert caught.value.exit_code == 4
    assert any(line.startswith(condition) for line in caught.value.why)
    assert caught.value.next
    assert told.current == before


@pytest.mark.parametrize("pin", [PinMode.TAG, PinMode.NATIVE])
def test_an_alias_that_is_asked_for_without_pins_is_refused(pin: PinMode) -> None:
    told = story("old v1.0.0")

    with pytest.raises(ImpossibleMove) as caught:
        told.lock("new v1.5.0", moves=(move("old", "new", strategy="alias"),), pin=pin)

    assert f"only pin: digest can put other bytes behind a source, and pin is {pin}" in caught.value.why


def test_a_package_is_not_switched_off_for_one_that_derives_its_name_unless_that_has_another() -> None:
    told = story("old v1.0.0")
    entry = move("old", f"{AWAY}/old", strategy="deactivate")

    with pytest.raises(NameTaken) as caught:
        told.lock(f"{AWAY}/old", moves=(entry,))
    told.lock(called(f"{AWAY}/old", "the-new-one"), moves=(entry,))

    assert caught.value.exit_code == 4
    assert caught.value.next == (
        "the old one keeps its object, deactivated; give the new one a name of its own in a manifest",
    )
    assert objects_of(told.current) == {f"{AWAY}/old": "the-new-one", "old": "acme-old"}


def test_a_root_for_the_new_source_under_another_name_than_the_objects_is_refused_with_both_edits() -> None:
    told = story("old v1.0.0", "user v1.0.0")

    with pytest.raises(ImpossibleMove) as caught:
        told.lock(called("new", "acme-new"), "user v1.0.0", moves=(move("old", "new"),))

    assert caught.value.exit_code == 4
    assert caught.value.what.startswith(f"{named('new')} takes over the object acme-old of {named('old')}")
    assert caught.value.next == ("name it acme-old", "or move it with strategy: deactivate")


@pytest.mark.parametrize("edit", ["name", "strategy"])
def test_each_of_both_edits_helps(edit: str) -> None:
    told = story("old v1.0.0", "user v1.0.0")
    name, strategy = ("acme-old", None) if edit == "name" else ("acme-new", "deactivate")

    told.lock(called("new", name), "user v1.0.0", moves=(move("old", "new", strategy=strategy),))

    assert objects_of(told.current)["old"] == "acme-old"


MOVED = pytest.mark.parametrize(
    ("first", "new", "strategy"),
    [
        (["old v1.0.0", "user v1.0.0"], "new", Strategy.ALIAS),
        (["old v1.0.0"], f"{AWAY}/old", Strategy.REPOINT),
        (["old v1.0.0"], "new", Strategy.DEACTIVATE),
    ],
)


@MOVED
def test_the_recorded_strategy_stays_whichever_packages_depend_on_it(
    first: list[str], new: str, strategy: Strategy
) -> None:
    told = story(*first)
    told.lock(*first[1:], new, moves=(move("old", new),))
    found = [strategies(told.current)["old"]]

    told.lock(new, "user v2.0.0") if new == "new" else told.lock(new)
    found.append(strategies(told.current)["old"])

    assert found == [strategy] * 2


@MOVED
def test_an_entry_stays_while_its_move_is_needed(first: list[str], new: str, strategy: Strategy) -> None:
    told = story(*first)
    told.lock(*first[1:], new, moves=(move("old", new),))

    with pytest.raises(MoveWithoutConsent) as caught:
        told.lock(*first[1:], new, moves=())

    assert strategies(told.current)["old"] == strategy
    assert caught.value.exit_code == 4
    assert caught.value.next[1:4] == ("  moves:", f"    - from: {named('old')}", f"      to: {named(new)}")


def test_an_entry_can_be_removed_once_nothing_needs_its_move() -> None:
    away = f"{AWAY}/old"
    told = story("old v1.0.0")
    told.lock(away, moves=(move("old", away),), pin=PinMode.TAG)

    told.lock(away, moves=())

    assert told.current.packages[named(away)].replaces == ()


def test_an_entry_stays_while_a_package_depends_on_the_replaced_source() -> None:
    away = f"{AWAY}/old"
    told = story("old v1.0.0", "user v1.0.0")
    told.lock(away, "user v1.0.0", moves=(move("old", away, strategy="repoint"),))

    with pytest.raises(MoveWithoutConsent, match=f"{away} replaces {named('old')} in the lock"):
        told.lock(away, "user v1.0.0", moves=())


def test_an_entry_can_be_removed_with_the_packages_that_it_moved() -> None:
    told = story("old v1.0.0", "user v1.0.0", "other")
    told.lock("new", "user v1.0.0", "other", moves=(move("old", "new"),))

    told.lock("other", moves=())

    assert states(told.current)["new"] == "v1.5.0 orphaned"


def test_the_user_changes_a_recorded_strategy() -> None:
    told = story("old v1.0.0", "user v1.0.0")
    told.lock("new", "user v1.0.0", moves=(move("old", "new"),))
    first = strategies(told.current)["old"]

    told.lock("new", "user v2.0.0", moves=(move("old", "new", strategy="deactivate"),))

    assert (first, strategies(told.current)["old"]) == (Strategy.ALIAS, Strategy.DEACTIVATE)


def test_what_cannot_be_done_leaves_the_file_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(tmp_path)
    for name in ("old", "new"):
        world.publish(f"{name} v1.0.0", kind="Provider")
    project = world.project("shop", "old")
    run(["lock", str(project)])
    before = text_of(project)
    world.project("shop", "new", more=moves("old", "new", strategy="repoint"))

    refused = refusal(capsys, "lock", str(project))

    assert (refused.code, text_of(project)) == (4, before)
    assert refused.what == f"cannot move {HOME}/old to {HOME}/new with strategy repoint"
    assert refused.why == [
        "Crossplane would name it acme-new, and the object is acme-old: it would create that one as well"
    ]
    assert refused.next == ["leave out the strategy, or give another one"]
