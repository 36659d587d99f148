"""Letting go of packages: first their guard, then they themselves, and never something that is needed."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rig.builders.catalogs import FakeCatalog, named, short
from rig.builders.lock_story import Story, move, states
from rig.builders.random_locks import small_locks

from render.folders.neighbours import gather_neighbours
from render.lifecycle.retiring.blockers import LockedFolder
from render.lifecycle.retiring.checks import NotInLock, StillNeeded
from render.lifecycle.retiring.retire import NotSynced, Retirement, require_synced, retire_packages
from render.limits import Limits
from render.lock.freshness import check_closure
from render.lock.model import Lock, LockedPackage, State
from render.lock.text.format import format_lock
from render.lock.text.parse import parse_lock
from render.packages import Kind
from render.settings import Detach
from render.versions.version import Version, parse_version

CRD = "CustomResourceDefinition tables.acme.example"
V2_3, V2_4 = parse_version("v2.3.4"), parse_version("v2.4.0")

# app needs net and fn; net needs dns; keep needs nothing; user needs old, which new has replaced.
CATALOG = FakeCatalog(
    {
        "app v1.0.0": {"net": ">=v1", "fn": "*"},
        "net v1.0.0": {"dns": "*"},
        "dns v1.0.0": {},
        "fn v1.0.0": {},
        "keep v1.0.0": {},
        "other v1.0.0": {"dns": "*"},
        "second v1.0.0": {"net": "*"},
        "old v1.0.0": {},
        "new v1.0.0": {},
        "user v1.0.0": {"old": ">=v1"},
        "user v1.1.0": {"new": ">=v1"},
    },
    kinds={"fn": Kind.FUNCTION, "old": Kind.PROVIDER, "new": Kind.PROVIDER},
    objects={"old": [CRD], "new": [CRD]},
)


# user needs tool, which has moved to another registry, where its object has the same name.
AWAY = "xpkg.example.com/acme/tool"
TOOLS = FakeCatalog(
    {
        "user v1.0.0": {"tool": "*"},
        "tool v1.0.0": {},
        f"{AWAY} v1.0.0": {},
        "other v1.0.0": {},
        "keep v1.0.0": {},
    },
    kinds=dict.fromkeys(("tool", AWAY, "other"), Kind.PROVIDER),
)


def folder(
    lock: Lock, name: str = ".", *, guard: bool = True, crossplane: Version | None = V2_3, **uses: str
) -> LockedFolder:
    paths = {f"../{text}": other for text, other in uses.items()}
    return LockedFolder(name, lock, guard, crossplane, paths)


def retire(lock: Lock, *names: str, guard: bool = True, crossplane: Version | None = V2_3) -> Retirement:
    """Take one step in one folder; what comes out holds together, and is what its file says."""
    [made] = retire_packages(names, [folder(lock, guard=guard, crossplane=crossplane)])
    assert check_closure(made.lock) == []
    assert parse_lock(format_lock(made.lock), Limits(), place="x") == made.lock
    return made


def shorts(packages: tuple[LockedPackage, ...]) -> list[str]:
    return [short(package.cluster_source) for package in packages]


def left_alone() -> Story:
    """A folder that asked for app and keep, and asks for keep alone now: app and all that it needs are leaving."""
    story = Story(CATALOG)
    story.lock("app", "keep")
    story.lock("keep")
    return story


def replaced(*, crossplane: Version = V2_3, user: str = "") -> Story:
    """A folder in which new has replaced old, which is deactivated."""
    story = Story(CATALOG)
    more = [user] if user else []
    story.lock("old", "keep", *more, crossplane_version=crossplane)
    story.lock("new", "keep", *more, moves=(move("old", "new", strategy="deactivate"),))
    assert states(story.current)["old"] == "v1.0.0 deactivated"
    return story


def test_the_first_step_takes_the_guard_off_and_changes_nothing_else() -> None:
    lock = left_alone().current

    made = retire(lock, "app")

    app = lock.packages[named("app")]
    assert (made.released, made.dropped, made.waiting) == ((app,), (), ())
    assert made.lock == replace(lock, packages={**lock.packages, app.source: replace(app, released=True)})


def test_the_second_step_drops_it_and_what_it_needed_knows_it_no_longer() -> None:
    lock = retire(left_alone().current, "app").lock

    made = retire(lock, "app")

    assert shorts(made.dropped) == ["app"]
    assert states(made.lock) == {
        "dns": "v1.0.0 orphaned",
        "fn": "v1.0.0 orphaned",
        "keep": "v1.0.0",
        "net": "v1.0.0 orphaned",
    }
    assert made.lock.packages[named("net")].required_by == ()
    assert made.lock.packages[named("dns")].required_by == (str(named("net")),)
    assert made.lock.inputs == lock.inputs


def test_locking_again_in_between_changes_nothing() -> None:
    story = left_alone()
    story.current = retire(story.current, "app").lock

    again = story.lock("keep")

    assert states(again)["app"] == "v1.0.0 orphaned released"


def test_what_is_asked_for_again_has_its_guard_back_and_goes_in_two_steps_once_more() -> None:
    story = left_alone()
    story.current = retire(story.current, "app").lock
    story.lock("app", "keep")
    story.lock("keep")

    made = retire(story.current, "app")

    assert (shorts(made.released), made.dropped) == (["app"], ())


@pytest.mark.parametrize("guarded", ["keep", "app", "fn"])
def test_every_kind_of_package_goes_in_two_steps(guarded: str) -> None:
    story = Story(CATALOG)
    story.lock(guarded, "other")
    lock = story.lock("other")

    made = retire(lock, guarded)

    assert shorts(made.released) == [guarded]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("keep", f"{named('keep')} v1.0.0 is asked for"),
        ("dns", f"{named('dns')} v1.0.0 is required by {named('other')}"),
    ],
)
def test_what_is_still_wanted_is_refused(name: str, why: str) -> None:
    story = Story(CATALOG)
    lock = story.lock("keep", "other")

    with pytest.raises(StillNeeded) as caught:
        retire(lock, name)

    assert caught.value.exit_code == 4
    assert caught.value.why == (why,)
    assert caught.value.next[0].endswith(": xplock lock")


def test_what_is_wanted_stays_refused_together_with_all_that_needs_it() -> None:
    story = Story(CATALOG)
    lock = story.lock("other")

    with pytest.raises(StillNeeded) as caught:
        retire(lock, "dns", "other")

    assert caught.value.why == (
        f"{named('dns')} v1.0.0 is required by {named('other')}",
        f"{named('other')} v1.0.0 is asked for",
    )


def test_a_package_that_others_need_is_refused_with_all_that_have_to_go_along() -> None:
    lock = left_alone().current

    with pytest.raises(StillNeeded) as caught:
        retire(lock, "dns")

    assert caught.value.exit_code == 4
    assert caught.value.why == (f"{named('net')} v1.0.0 needs {named('dns')} v1.0.0",)
    assert caught.value.next == (
        f"retire all of them: xplock retire {named('app')} {named('dns')} {named('net')}",
    )


def test_what_an_orphan_and_a_wanted_package_need_is_wanted() -> None:
    story = Story(CATALOG)
    story.lock("app", "other")
    lock = story.lock("other")

    with pytest.raises(StillNeeded) as caught:
        retire(lock, "dns", "net", "app")

    assert f"{named('dns')} v1.0.0 is required by {named('other')}" in caught.value.why


def test_several_are_released_together() -> None:
    made = retire(left_alone().current, "dns", "net", "app", "fn")

    assert shorts(made.released) == ["app", "dns", "fn", "net"]
    assert made.free == ()


def test_what_needs_a_released_package_may_be_released_before_it() -> None:
    lock = retire(left_alone().current, "app").lock

    made = retire(lock, "net")

    assert shorts(made.released) == ["net"]


def test_a_guard_stays_on_what_a_guarded_package_needs() -> None:
    lock = left_alone().current

    with pytest.raises(StillNeeded):
        retire(lock, "fn")


def test_of_several_that_are_dropped_the_dependants_go_one_sync_earlier() -> None:
    everything = ["app", "dns", "fn", "net"]
    lock = retire(left_alone().current, *everything).lock

    first = retire(lock, *everything)
    second = retire(first.lock, "dns", "fn", "net")
    third = retire(second.lock, "dns")

    assert (shorts(first.dropped), shorts(first.waiting)) == (["app"], ["dns", "fn", "net"])
    assert (shorts(second.dropped), shorts(second.waiting)) == (["fn", "net"], ["dns"])
    assert states(third.lock) == {"keep": "v1.0.0"}


def test_a_package_is_dropped_while_what_it_needs_is_released() -> None:
    lock = retire(left_alone().current, "app").lock

    made = retire(lock, "app", "net")

    assert (shorts(made.dropped), shorts(made.released)) == (["app"], ["net"])


def test_a_package_is_not_dropped_while_something_released_needs_it() -> None:
    lock = retire(left_alone().current, "app", "net").lock

    with pytest.raises(StillNeeded) as caught:
        retire(lock, "net")

    assert caught.value.why == (f"{named('app')} v1.0.0 needs {named('net')} v1.0.0",)


def test_a_dependant_without_an_entry_in_the_clusters_lock_goes_along_at_once() -> None:
    story = Story(CATALOG)
    story.lock("other", "keep", detach=Detach.ALL)
    lock = retire(story.lock("keep"), "other", "dns").lock

    made = retire(lock, "other", "dns")

    assert (shorts(made.dropped), made.waiting) == (["dns", "other"], ())


def test_a_dependant_that_left_its_entry_behind_goes_first() -> None:
    story = Story(CATALOG)
    story.lock("other", "keep")
    story.lock("other", "keep", detach=Detach.ALL)
    lock = retire(story.lock("keep"), "other", "dns").lock

    made = retire(lock, "other", "dns")
    newer = retire(lock, "other", "dns", crossplane=V2_4)

    assert (shorts(made.dropped), shorts(made.waiting)) == (["other"], ["dns"])
    assert shorts(newer.dropped) == ["dns", "other"]


def test_orphans_that_only_these_needed_can_be_let_go_of_next() -> None:
    lock = left_alone().current

    released = retire(lock, "app")
    dropped = retire(released.lock, "app")

    assert shorts(released.free) == ["dns", "fn", "net"]
    assert shorts(dropped.free) == ["dns", "fn", "net"]
    assert retire(dropped.lock, *shorts(dropped.free)).released == dropped.free


@pytest.mark.parametrize(("other", "free"), [("other", ["fn", "net"]), ("second", ["fn"])])
def test_orphans_that_others_need_as_well_are_not_free(other: str, free: list[str]) -> None:
    story = Story(CATALOG)
    story.lock("app", other, "keep")
    lock = story.lock("keep")

    made = retire(lock, "app")

    assert shorts(made.free) == free


def test_what_was_named_and_waits_is_not_offered_once_more() -> None:
    made = retire(left_alone().current, "app", "net", guard=False)

    assert (shorts(made.dropped), shorts(made.waiting), shorts(made.free)) == (["app"], ["net"], ["fn"])


def test_what_nobody_named_needs_is_not_offered() -> None:
    story = Story(CATALOG)
    story.lock("app", "new", "keep")
    lock = story.lock("keep")

    assert shorts(retire(lock, "new").free) == []


def test_without_guards_it_is_one_step() -> None:
    lock = replaced().current

    made = retire(lock, "old", guard=False)

    assert (made.released, shorts(made.dropped)) == ((), ["old"])
    assert made.unproven == ()


def test_a_deactivated_package_goes_in_two_steps_and_its_successor_remembers_it() -> None:
    story = replaced()
    before = story.current

    first = retire(before, "old")
    second = retire(first.lock, "old")

    assert states(first.lock)["old"] == "v1.0.0 deactivated released"
    assert second.lock.deactivated == {}
    assert second.lock.packages == before.packages
    story.current = second.lock
    assert story.lock("new", "keep") == second.lock


def test_a_successor_is_refused_while_what_it_replaced_is_there() -> None:
    story = replaced()
    story.lock("keep")

    with pytest.raises(StillNeeded) as caught:
        retire(story.current, "new")

    assert caught.value.why == (
        f"{named('old')} v1.0.0 is deactivated, and {named('new')} v1.0.0 has the objects that it installed",
    )
    assert caught.value.next == (f"retire all of them: xplock retire {named('new')} {named('old')}",)


def test_a_successor_goes_together_with_what_it_replaced() -> None:
    story = replaced()
    lock = story.lock("keep")

    first = retire(lock, "new", "old")
    second = retire(first.lock, "new", "old")

    assert shorts(first.released) == ["new", "old"]
    assert (shorts(second.dropped), second.waiting) == (["new", "old"], ())


@pytest.mark.parametrize("crossplane", [V2_3, None])
def test_a_package_that_a_stale_entry_names_is_refused_and_it_says_whose(crossplane: Version | None) -> None:
    story = replaced(user="user v1.0.0")

    with pytest.raises(StillNeeded) as caught:
        retire(story.current, "old", crossplane=crossplane)

    assert caught.value.exit_code == 4
    assert caught.value.why == (
        f"the cluster's Lock still names {named('old')} v1.0.0 for {named('user')} v1.0.0, "
        "and Crossplane would install it again",
    )
    assert f"xplock lock -P {named('user')}" in caught.value.next[0]


def test_no_entry_is_stale_from_crossplane_v2_4_on() -> None:
    story = replaced(user="user v1.0.0")

    made = retire(story.current, "old", crossplane=V2_4)

    assert shorts(made.released) == ["old"]


def test_an_upgrade_of_the_one_with_the_stale_entry_frees_the_package() -> None:
    story = replaced(user="user v1.0.0")
    story.lock("new", "keep", "user v1.1.0")

    made = retire(story.current, "old")

    assert shorts(made.released) == ["old"]


def repointed() -> Story:
    """A folder in which the tool that a stale entry names has moved, and its object is that of the new one."""
    story = Story(TOOLS)
    story.lock("user", "keep")
    story.lock("user", "keep", moves=(move("tool", AWAY, strategy="repoint"),))
    assert story.current.packages[named("user")].stale_entry == (str(named("tool")),)
    return story


def user_leaves() -> Lock:
    return repointed().lock("keep", moves=())


def test_what_stands_where_a_stale_entry_would_install_something_goes_one_sync_later() -> None:
    lock = retire(user_leaves(), "user", AWAY).lock

    second = retire(lock, "user", AWAY)
    third = retire(second.lock, AWAY)

    assert (shorts(second.dropped), shorts(second.waiting)) == (["user"], [AWAY])
    assert shorts(third.dropped) == [AWAY]


def test_from_crossplane_v2_4_on_nothing_stands_in_anybodys_place() -> None:
    lock = retire(user_leaves(), "user", AWAY, crossplane=V2_4).lock

    made = retire(lock, "user", AWAY, crossplane=V2_4)

    assert (shorts(made.dropped), made.waiting) == ([AWAY, "user"], ())


def test_what_stands_where_a_stale_entry_would_install_something_is_refused_alone() -> None:
    story = repointed()
    lock = story.lock("user", "keep", moves=(move("tool", "other"), move(AWAY, "other")))

    with pytest.raises(StillNeeded) as caught:
        retire(lock, AWAY)

    assert caught.value.why == (
        f"the cluster's Lock still has an entry of {named('user')} v1.0.0, "
        f"and Crossplane would install the package that it names in place of {AWAY} v1.0.0",
    )
    assert f"xplock lock -P {named('user')}" in caught.value.next[0]


def test_a_package_that_was_wanted_for_a_dropped_one_alone_is_an_orphan_afterwards() -> None:
    lock = retire(left_alone().current, "app").lock
    wanted = replace(lock.packages[named("fn")], state=State.WANTED)
    odd = replace(lock, packages={**lock.packages, wanted.source: wanted})

    made = retire(odd, "app")

    assert states(made.lock)["fn"] == "v1.0.0 orphaned"


@pytest.mark.parametrize(
    "name", ["old", "acme/old", "xpkg.example.org/acme/old"], ids=["name", "end", "source"]
)
def test_the_last_components_of_a_source_will_do(name: str) -> None:
    assert shorts(retire(replaced().current, name).released) == ["old"]


def test_a_short_name_means_what_is_leaving() -> None:
    old, new = "before.example/x/net", "after.example/y/net"
    story = Story(FakeCatalog({f"{old} v1.0.0": {}, f"{new} v2.0.0": {}}))
    story.lock(old)
    lock = story.lock(new, moves=(move(old, new, strategy="deactivate"),))

    made = retire(lock, "net")

    assert shorts(made.released) == [old]


def test_a_full_name_means_that_source_alone() -> None:
    wanted, leaving = "a.example/x/net", "b.example/a.example/x/net"
    story = Story(FakeCatalog({f"{wanted} v1.0.0": {}, f"{leaving} v1.0.0": {}}))
    story.lock(wanted, leaving)
    lock = story.lock(wanted)

    with pytest.raises(StillNeeded) as caught:
        retire(lock, wanted)

    assert caught.value.why == (f"{wanted} v1.0.0 is asked for",)


def test_a_name_of_several_packages_that_are_leaving_is_refused() -> None:
    story = Story(
        FakeCatalog({"a.example/x/net v1.0.0": {}, "b.example/y/net v2.0.0": {}, "keep v1.0.0": {}})
    )
    story.lock("a.example/x/net", "b.example/y/net", "keep")
    lock = story.lock("keep")

    with pytest.raises(NotInLock) as caught:
        retire(lock, "net")

    assert caught.value.exit_code == 2
    assert caught.value.why == ("a.example/x/net v1.0.0", "b.example/y/net v2.0.0")


def test_an_alias_has_two_names() -> None:
    story = Story(CATALOG)
    story.lock("old", "user v1.0.0", "keep")
    story.lock("new", "user v1.0.0", "keep", moves=(move("old", "new", strategy="alias"),))
    lock = story.lock("keep")

    by_old = retire(lock, "old", "user")
    by_new = retire(lock, "new", "user")

    assert by_old.lock == by_new.lock
    assert states(by_old.lock)["new"] == "v1.0.0 orphaned released"


def test_a_package_that_is_gone_already_is_told_the_way_back() -> None:
    lock = retire(retire(left_alone().current, "app").lock, "app").lock

    with pytest.raises(NotInLock) as caught:
        retire(lock, "app")

    assert caught.value.exit_code == 2
    assert caught.value.what == "app is not in the lock"
    assert "revert the commit that dropped it, sync, and retire it once more" in caught.value.next[-1]


def test_a_name_that_is_nearly_right_is_guessed() -> None:
    with pytest.raises(NotInLock) as caught:
        retire(left_alone().current, "apps")

    assert caught.value.why == (f"did you mean {named('app')}?",)


def test_whatever_is_wrong_nothing_is_let_go_of() -> None:
    with pytest.raises(NotInLock):
        retire(left_alone().current, "app", "nobody")


def test_a_package_that_is_named_twice_goes_one_step() -> None:
    made = retire(left_alone().current, "app", str(named("app")))

    assert (shorts(made.released), made.dropped) == (["app"], ())


def test_dropping_needs_a_sync_and_says_how_to_go_on() -> None:
    lock = retire(left_alone().current, "app").lock
    made = retire_packages(["app", "net"], [folder(lock, "shop")])

    with pytest.raises(NotSynced) as caught:
        require_synced(made, synced=False)

    assert caught.value.exit_code == 3
    assert caught.value.what.startswith(f"{named('app')} v1.0.0 ")
    assert f"then: xplock retire {named('app')} {named('net')} -C shop --synced" in caught.value.next


def test_a_long_command_is_told_on_lines_that_a_shell_takes() -> None:
    names = [f"package-{i}" for i in range(20)]
    story = Story(
        FakeCatalog(
            {**{f"{name} v1.0.0": {"last": "*"} for name in names}, "last v1.0.0": {}, "a v1.0.0": {}}
        )
    )
    story.lock(*names, "a")
    lock = story.lock("a")

    with pytest.raises(StillNeeded) as caught:
        retire(lock, "last")

    lines = [line.removesuffix("\\").strip() for line in caught.value.next]
    assert lines[:2] == ["retire all of them:", "xplock retire"]
    assert lines[2:] == sorted(str(named(name)) for name in [*names, "last"])
    assert [line.endswith(" \\") for line in caught.value.next] == [False, *[True] * 21, False]


@pytest.mark.parametrize("synced", [True, False])
def test_releasing_and_dropping_what_had_no_guard_needs_none(synced: bool) -> None:
    guarded = retire(left_alone().current, "app")
    unguarded = retire(replaced().current, "old", guard=False)

    require_synced([guarded], synced=synced)
    require_synced([unguarded], synced=synced)


def test_a_sync_that_is_promised_is_believed() -> None:
    lock = retire(left_alone().current, "app").lock

    require_synced([retire(lock, "app")], synced=True)


def shared(*, wanted: bool, detach: Detach = Detach.NEEDED) -> tuple[LockedFolder, LockedFolder]:
    """A platform that asks no longer for net, and a shop whose app needs it, and is wanted or leaving."""
    platform, shop = Story(CATALOG), Story(CATALOG)
    platform.lock("net", "keep", detach=detach)
    shop.around = gather_neighbours([("../platform", platform.current)])
    shop.lock("app", "fn")
    if not wanted:
        shop.lock("fn")
    platform.lock("keep")
    return folder(platform.current, "platform"), folder(shop.current, "shop", platform="platform")


def after(made: list[Retirement]) -> list[LockedFolder]:
    assert [check_closure(one.lock) for one in made] == [[]] * len(made)
    return [replace(one.folder, lock=one.lock) for one in made]


def test_a_package_that_a_folder_needs_which_uses_this_one_is_refused_and_it_is_named() -> None:
    platform, shop = shared(wanted=True)

    with pytest.raises(StillNeeded) as caught:
        retire_packages(["net"], [platform, shop])

    assert caught.value.why == (f"{named('app')} v1.0.0 in shop needs {named('net')} v1.0.0",)
    assert caught.value.next[0].startswith(f"remove {named('app')} from what you ask for in shop")


def test_a_package_that_leaves_such_a_folder_has_to_go_along() -> None:
    platform, shop = shared(wanted=False)

    with pytest.raises(StillNeeded) as caught:
        retire_packages(["net"], [platform, shop])

    assert caught.value.next == (
        f"retire all of them: xplock retire {named('app')} {named('net')} -C platform -C shop",
    )


def test_the_folder_of_a_package_that_has_to_go_along_is_named_even_if_it_was_not_given() -> None:
    platform, shop = shared(wanted=False)

    with pytest.raises(StillNeeded) as caught:
        retire_packages(["net"], [platform], [shop])

    assert caught.value.next == (
        f"retire all of them: xplock retire {named('app')} {named('net')} -C platform -C shop",
    )


def test_only_what_is_leaving_is_advised_to_go_along() -> None:
    platform, shop = Story(CATALOG), Story(CATALOG)
    platform.lock("second", "keep")
    shop.around = gather_neighbours([("../platform", platform.current)])
    shop.lock("app")
    platform.lock("keep")
    folders = [folder(platform.current, "platform"), folder(shop.current, "shop", platform="platform")]

    with pytest.raises(StillNeeded) as caught:
        retire_packages(["net"], folders)

    assert caught.value.why == (
        f"{named('app')} v1.0.0 in shop needs {named('net')} v1.0.0",
        f"{named('second')} v1.0.0 needs {named('net')} v1.0.0",
    )
    assert caught.value.next[-1] == (
        f"retire all of them: xplock retire {named('net')} {named('second')} -C platform -C shop"
    )


def test_a_folder_that_is_not_given_is_not_looked_at() -> None:
    platform, _ = shared(wanted=True)

    [made] = retire_packages(["net"], [platform])

    assert shorts(made.released) == ["net"]


def test_packages_of_two_folders_are_released_together_and_dropped_one_folder_after_the_other() -> None:
    first = retire_packages(["net", "app"], shared(wanted=False))
    second = retire_packages(["net", "app"], after(first))
    third = retire_packages(["net"], after(second))

    assert [shorts(one.released) for one in first] == [["net"], ["app"]]
    assert [shorts(one.dropped) for one in second] == [[], ["app"]]
    assert [shorts(one.waiting) for one in second] == [["net"], []]
    assert [shorts(one.dropped) for one in third] == [["net"], []]


def test_also_without_entries_in_the_clusters_lock_a_folder_waits_for_the_other_one() -> None:
    everything = ["net", "dns", "app"]
    first = retire_packages(everything, shared(wanted=False, detach=Detach.ALL))

    second = retire_packages(everything, after(first))

    assert [one.lock.packages[named("net")].detached != () for one in first[:1]] == [True]
    assert [shorts(one.dropped) for one in second] == [[], ["app"]]
    assert [shorts(one.waiting) for one in second] == [["dns", "net"], []]
    after(second)


def test_what_another_folder_provides_is_recorded_no_longer_when_nobody_needs_it() -> None:
    _, shop = shared(wanted=False)
    assert set(shop.lock.provided) == {named("net")}

    released = retire_packages(["app"], [shop])
    dropped = retire_packages(["app"], after(released))

    assert released[0].lock.provided == shop.lock.provided
    assert dropped[0].lock.provided == {}
    assert check_closure(dropped[0].lock) == []


def test_what_another_folder_provides_stays_recorded_as_the_successor_of_something_here() -> None:
    _, shop = shared(wanted=False)
    [released] = after(retire_packages(["app"], [shop]))
    net = replace(released.lock.provided[named("net")], replaces=(named("old"),))
    off = replace(
        released.lock.packages[named("fn")],
        source=named("old"),
        object_name="acme-old",
        kind=Kind.CONFIGURATION,
        state=State.DEACTIVATED,
        root=None,
        required_by=(),
        replaced_by=(net.source,),
    )
    lock = replace(released.lock, deactivated={off.source: off}, provided={net.source: net})

    made = retire_packages(["app"], [replace(released, lock=lock)])

    assert shorts(made[0].dropped) == ["app"]
    assert set(made[0].lock.provided) == {named("net")}
    after(made)


def test_what_another_folder_provides_is_retired_there() -> None:
    _, shop = shared(wanted=True)

    with pytest.raises(NotInLock) as caught:
        retire_packages(["net"], [shop])

    assert caught.value.exit_code == 2
    assert caught.value.why == ("../platform provides it",)


def test_a_stale_entry_of_a_folder_that_uses_this_one_counts() -> None:
    platform = Story(CATALOG)
    platform.lock("old", "keep", crossplane_version=V2_3)
    shop = Story(CATALOG, around=gather_neighbours([("../platform", platform.current)]))
    shop.lock("user v1.0.0")
    platform.lock("new", "keep", moves=(move("old", "new", strategy="deactivate"),))
    shop.around = gather_neighbours([("../platform", platform.current)])
    shop.lock("user v1.0.0")
    folders = [folder(platform.current, "platform"), folder(shop.current, "shop", platform="platform")]

    with pytest.raises(StillNeeded) as caught:
        retire_packages(["old"], folders)

    assert caught.value.why == (
        f"the cluster's Lock still names {named('old')} v1.0.0 for {named('user')} v1.0.0 in shop, "
        "and Crossplane would install it again",
    )


def test_folders_of_several_clusters_take_the_step_each_for_itself() -> None:
    leaving, absent = left_alone().current, Story(CATALOG).lock("keep")
    released = retire(leaving, "app").lock

    made = retire_packages(
        ["app"], [folder(leaving, "a"), folder(released, "b"), folder(absent, "c"), folder(leaving, "d")]
    )

    assert [shorts(one.released) for one in made] == [["app"], [], [], ["app"]]
    assert [shorts(one.dropped) for one in made] == [[], ["app"], [], []]
    assert made[2].lock is absent or made[2].lock == absent


def test_a_package_that_is_wanted_in_one_of_several_folders_is_let_go_of_in_none() -> None:
    wanted = Story(CATALOG).lock("app")

    with pytest.raises(StillNeeded) as caught:
        retire_packages(["app"], [folder(left_alone().current, "a"), folder(wanted, "b")])

    assert caught.value.why == (f"{named('app')} v1.0.0 is asked for in b",)


@st.composite
def leaving_locks(draw: st.DrawFn) -> Lock:
    """Draw a lock in which some of what was asked for is asked for no longer."""
    lock = draw(small_locks())
    roots = sorted(source for source, package in lock.packages.items() if package.root)
    dropped = draw(st.sets(st.sampled_from(roots)))
    waiting = [source for source in roots if source not in dropped]
    wanted = set(waiting)
    needs = {str(s): [t for t, p in lock.packages.items() if str(s) in p.required_by] for s in lock.packages}
    while waiting:
        fresh = set(needs[str(waiting.pop())]) - wanted
        wanted |= fresh
        waiting += fresh
    return replace(
        lock,
        packages={
            source: replace(package, root=None if source in dropped else package.root)
            if source in wanted
            else replace(package, root=None, state=State.ORPHANED)
            for source, package in lock.packages.items()
        },
    )


@settings(deadline=None)
@given(leaving_locks(), st.data())
def test_whatever_is_let_go_of_in_whatever_order_the_lock_holds_together(
    lock: Lock, data: st.DataObject
) -> None:
    wanted = {source for source, package in lock.packages.items() if package.state is State.WANTED}
    assert check_closure(lock) == []
    steps = 0

    while leaving := sorted(str(source) for source in lock.packages if source not in wanted):
        chosen = data.draw(st.sets(st.sampled_from(leaving), min_size=1)) if steps < 10 else leaving
        steps += 1
        try:
            lock = retire(lock, *sorted(chosen)).lock
        except StillNeeded as error:
            together = error.next[-1].partition("xplock retire ")[2].split()
            lock = retire(lock, *together).lock

    assert lock.packages.keys() == wanted
    assert steps <= 10 + 2 * 8
