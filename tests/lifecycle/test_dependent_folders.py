"""Folders that use another one are dependants of what it has."""

from dataclasses import replace

import pytest
from rig.builders.catalogs import FakeCatalog, Packages, named
from rig.builders.lock_story import Story, move, states, wish
from rig.builders.locks import lock, package, source

from render.folders.neighbours import gather_neighbours
from render.lifecycle.claims import ImpossibleMove, UnneededMove
from render.lifecycle.other_folders import NeededByUser
from render.lifecycle.update import LockOptions
from render.packages import Kind
from render.resolve.conflict import NoSolution
from render.versions.requests import Root

PACKAGES: Packages = {
    "base v1.0.0": {},
    "base v1.1.0": {},
    "base v2.0.0": {},
    "app v1.0.0": {"base": "^1"},
    "app v2.0.0": {"base": ">=v2"},
    "old v1.0.0": {},
    "new v1.5.0": {},
    "new v2.0.0": {},
    "legacy v1.0.0": {"old": "^1"},
}


def platform(*roots: str | Root) -> Story:
    story = Story(FakeCatalog(PACKAGES))
    story.lock(*roots)
    return story


def used_by(story: Story, *users: Story) -> Story:
    """Let folders use one that is locked after they were."""
    named_users = [(f"clusters/app{i}", user.current) for i, user in enumerate(users, start=1)]
    story.around = gather_neighbours([], named_users)
    return story


def user(there: Story, *roots: str) -> Story:
    story = Story(FakeCatalog(PACKAGES), around=gather_neighbours([("../platform", there.current)]))
    story.lock(*roots)
    return story


UPGRADE = LockOptions(upgrade_everything=True)


def test_folders_that_use_one_bind_its_versions() -> None:
    there = platform("base")
    there.lock("base v1.0.0")
    used_by(there, user(there, "app v1.0.0"))

    lock = there.lock("base", options=UPGRADE)

    assert states(lock) == {"base": "v1.1.0"}


def test_a_version_that_a_using_folder_forbids_is_an_error_with_both_ways_out() -> None:
    there = platform("base v1.0.0")
    used_by(there, user(there, "app v1.0.0"))

    with pytest.raises(NoSolution) as caught:
        there.lock("base v2.0.0")

    assert f"{named('app')} v1.0.0 accepts {named('base')} ^1 (in clusters/app1)" in caught.value.why
    commands = [line.strip() for line in caught.value.next if line.startswith("  ")]
    assert [command.partition("  #")[0] for command in commands] == [
        "xplock lock clusters/app1",
        f"xplock retire {named('app')} -C clusters/app1",
        f"xplock retire {named('app')} -C clusters/app1 --synced",
        "xplock lock project",
        "xplock lock project",
        "xplock lock clusters/app1",
    ]


def test_what_does_not_suit_a_using_folder_today_is_not_taken_back_for_it() -> None:
    there = platform("base v1.0.0")
    late = user(there, "app v1.0.0")
    there.lock("base v2.0.0")
    used_by(there, late)

    lock = there.lock("base")

    assert states(lock) == {"base": "v2.0.0"}


def test_a_package_that_is_to_leave_a_using_folder_binds_nobody() -> None:
    alone = Story(FakeCatalog({**PACKAGES, "base v2.0.0": {"new": ">=v2"}, "base v1.0.0": {"new": "<v2"}}))
    alone.lock("base v1.0.0")
    there = used_by(Story(alone.catalog), alone)

    lock = there.lock("base v2.0.0")

    assert states(lock) == {"base": "v2.0.0", "new": "v2.0.0"}


def test_an_attached_dependant_in_a_using_folder_makes_a_move_an_alias() -> None:
    there = platform("old v1.0.0")
    used_by(there, user(there, "legacy v1.0.0"))

    lock = there.lock("new", moves=(move("old", "new"),))

    assert lock.packages[named("new")].installed_as == named("old")
    # It has to suit that dependant, too.
    assert states(lock) == {"new": "v1.5.0"}


def test_without_a_using_folder_the_same_move_switches_the_old_package_off() -> None:
    there = platform("old v1.0.0")

    lock = there.lock("new", moves=(move("old", "new"),))

    assert states(lock) == {"new": "v2.0.0", "old": "v1.0.0 deactivated"}


def test_a_move_of_what_only_a_using_folder_has_is_needed() -> None:
    alone = platform("legacy v1.0.0")

    lock = used_by(Story(FakeCatalog(PACKAGES)), alone).lock("new", moves=(move("old", "new"),))

    assert states(lock) == {"new": "v1.5.0"}
    with pytest.raises(UnneededMove):
        Story(FakeCatalog(PACKAGES)).lock("new", moves=(move("old", "new"),))


def test_without_a_guard_a_package_that_a_using_folder_needs_is_not_dropped() -> None:
    there = platform("base v1.0.0", "old v1.0.0")
    used_by(there, user(there, "app v1.0.0"))

    there.lock("base v1.0.0", "old v1.0.0", guard=False)

    with pytest.raises(NeededByUser) as caught:
        there.lock("old v1.0.0")

    assert caught.value.exit_code == 4
    assert caught.value.what == f"{named('base')} would be dropped, and clusters/app1 needs it"


def test_a_package_that_no_using_folder_needs_goes_without_a_guard() -> None:
    there = platform("base v1.0.0", "old v1.0.0")
    used_by(there, user(there, "app v1.0.0"))

    there.lock("base v1.0.0", "old v1.0.0", guard=False)

    lock = there.lock("base v1.0.0")

    assert states(lock) == {"base": "v1.0.0"}


def test_what_a_package_of_a_using_folder_names_is_needed() -> None:
    elsewhere = lock([package("legacy v1.0.0", "old *")])

    assert gather_neighbours((), [("app", elsewhere)]).needed_by_using == {source("legacy"), source("old")}


def test_a_stale_entry_of_a_using_folder_keeps_a_package_from_being_switched_off() -> None:
    there = platform(wish("old v1.0.0", name="my-old", kind=Kind.CONFIGURATION))
    holder = user(there, "legacy v1.0.0")
    stale = replace(holder.current.packages[named("legacy")], stale_entry=(str(named("old")),))
    holder.current = replace(holder.current, packages={named("legacy"): stale})
    used_by(there, holder)

    with pytest.raises(ImpossibleMove) as caught:
        there.lock("new v1.5.0", moves=(move("old", "new"),))

    assert f"still names it for {named('legacy')}" in caught.value.why[0]


def test_a_stale_entry_of_a_using_folder_keeps_a_version_here() -> None:
    there = platform(wish("base v1.0.0", name="my-base", kind=Kind.CONFIGURATION))
    holder = user(there, "app v1.0.0")
    stale = replace(holder.current.packages[named("app")], stale_entry=(str(named("base")),))
    holder.current = replace(holder.current, packages={named("app"): stale})
    used_by(there, holder)

    lock = there.lock(wish("base", name="my-base", kind=Kind.CONFIGURATION), options=UPGRADE)

    assert states(lock) == {"base": "v1.0.0"}
