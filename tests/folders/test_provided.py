"""A folder that uses others: what they have locked is taken as it is, recorded, and never rendered twice."""

from dataclasses import replace
from typing import Any

import pytest
from rig.builders.catalogs import FakeCatalog, Packages, digest_of, named, short, written
from rig.builders.lock_story import Story, detached, move, states, wish

from render.folders.neighbours import gather_neighbours
from render.folders.provided import compare_provided
from render.lifecycle.claims import ImpossibleMove
from render.lifecycle.names import NameTaken
from render.lifecycle.other_folders import BelongsElsewhere, LosesProvided, OtherName
from render.lifecycle.ownership import RivalPackages
from render.lifecycle.update import is_current
from render.lock.freshness import check_closure
from render.lock.model import Lock
from render.packages import Kind
from render.resolve.conflict import NoSolution
from render.versions.requests import Root

PACKAGES: Packages = {
    "base v1.0.0": {"net": ">=v1"},
    "base v1.1.0": {"net": ">=v1"},
    "base v2.0.0": {"net": ">=v1"},
    "net v1.0.0": {},
    "app v1.0.0": {"base": "^1"},
    "app v2.0.0": {"base": ">=v2"},
    "tool v1.0.0": {"base": ">=v1"},
    "old v1.0.0": {},
    "legacy v1.0.0": {"old": "^1"},
    "other v1.0.0": {},
    "solo v1.0.0": {},
}


def platform(*roots: str | Root, catalog: FakeCatalog | None = None) -> Story:
    story = Story(catalog or FakeCatalog(PACKAGES))
    story.lock(*roots)
    return story


def using(*others: Story, catalog: FakeCatalog | None = None) -> Story:
    """A folder that uses others, which it calls ../platform, ../platform2 and so on."""
    story = Story(catalog or FakeCatalog(PACKAGES))
    return use(story, *others)


def use(story: Story, *others: Story) -> Story:
    names = ["../platform", *(f"../platform{i}" for i in range(2, len(others) + 1))]
    pairs = zip(names, others, strict=True)
    story.around = gather_neighbours([(name, other.current) for name, other in pairs])
    return story


def provided(lock: Lock) -> dict[str, str]:
    return {short(source): f"{package.version} {package.folder}" for source, package in lock.provided.items()}


def still_current(story: Story) -> bool:
    assert story.inputs is not None
    return is_current(story.current, story.inputs, story.around)


def test_what_a_used_folder_has_is_neither_fetched_nor_locked_again() -> None:
    catalog = FakeCatalog(PACKAGES)
    app = using(platform("base v1.0.0"), catalog=catalog)

    lock = app.lock("app v1.0.0")

    assert states(lock) == {"app": "v1.0.0"}
    assert provided(lock) == {"base": "v1.0.0 ../platform"}
    assert (set(catalog.fetched), catalog.listed) == ({"app v1.0.0"}, [])
    assert check_closure(lock) == []
    assert detached(lock) == set()
    rendered: list[Any] = app.rendered()
    assert [value["metadata"]["name"] for value in rendered if value["kind"] == "Configuration"] == [
        "acme-app"
    ]


def test_the_provided_version_counts_although_there_are_newer_ones() -> None:
    lock = using(platform("base v1.0.0")).lock("tool")

    assert provided(lock)["base"] == "v1.0.0 ../platform"


def test_only_what_something_here_depends_on_is_recorded() -> None:
    lock = using(platform("base v1.0.0", "other")).lock("app v1.0.0")

    assert provided(lock).keys() == {"base"}


def test_the_record_holds_all_that_a_dependant_has_to_know() -> None:
    base = platform("base v1.0.0").current.packages[named("base")]

    lock = using(platform("base v1.0.0")).lock("app v1.0.0")

    record = lock.provided[named("base")]
    assert (record.source, record.folder, record.version) == (named("base"), "../platform", "v1.0.0")
    assert (record.digest, record.kind, record.object_name) == (base.digest, base.kind, "acme-base")
    assert (record.tag, record.detached, record.installed_as, record.replaces) == (None, False, None, ())


def test_a_constraint_that_the_provided_version_does_not_meet_is_told_with_the_folder_to_change() -> None:
    app = using(platform("base v1.0.0"))

    with pytest.raises(NoSolution) as caught:
        app.lock("app v2.0.0")

    assert caught.value.exit_code == 4
    assert f"{named('app')} v2.0.0 accepts {named('base')} >=v2" in caught.value.why
    assert "../platform provides v1.0.0" in caught.value.why
    assert caught.value.next == (
        f"ask for {named('app')} v1.0.0 instead, which suits everyone (app.yaml)",
        f"or lock {named('base')} v2.0.0 in ../platform first, which suits everyone here",
    )


def test_a_root_chooses_the_version_that_suits_what_is_provided() -> None:
    lock = using(platform("base v1.0.0")).lock("app")

    assert states(lock) == {"app": "v1.0.0"}


def test_a_root_that_a_used_folder_provides_is_refused_with_the_object_it_has_there() -> None:
    app = using(platform("base v1.0.0"))

    with pytest.raises(BelongsElsewhere) as caught:
        app.lock("app v1.0.0", "base v1.0.0")

    assert caught.value.exit_code == 4
    assert caught.value.why[0] == (
        f"base.yaml asks for {named('base')}; ../platform provides it as Configuration acme-base"
    )
    assert "drop one of them" in caught.value.next[0]


def test_every_root_that_is_provided_is_named_at_once() -> None:
    app = using(platform("base v1.0.0", "other"))

    with pytest.raises(BelongsElsewhere, match="3 packages are asked for here") as caught:
        app.lock("base", "net", "other", "tool")

    assert [line.partition(" ")[0] for line in caught.value.why[:3]] == [
        "base.yaml",
        "net.yaml",
        "other.yaml",
    ]


def test_a_provided_package_with_a_name_of_the_users_detaches_who_needs_it_here() -> None:
    named_there = platform(wish("base v1.0.0", name="my-base", kind=Kind.CONFIGURATION))

    lock = using(named_there).lock("app v1.0.0", "other")

    assert lock.packages[named("app")].detached == (
        f"it needs {named('base')}, whose object is named my-base",
    )
    assert detached(lock) == {"app"}


def test_a_provided_package_that_is_detached_detaches_who_needs_it_here_and_their_dependants() -> None:
    packages = {**PACKAGES, "shop v1.0.0": {"app": "*"}}
    catalog = FakeCatalog({**packages, "base v1.0.0": {"net": written("acme/net", ">=v1")}})

    lock = using(platform("base v1.0.0", catalog=catalog), catalog=catalog).lock("shop v1.0.0")

    assert lock.provided[named("base")].detached
    assert detached(lock) == {"app", "shop"}
    assert lock.packages[named("app")].detached == (
        f"it needs {named('base')}, which is detached in ../platform",
    )


def test_a_dependency_on_what_was_replaced_there_is_served_by_its_successor() -> None:
    there = platform("old v1.0.0")
    there.lock("other", moves=(move("old", "other"),))

    lock = using(there).lock("legacy v1.0.0")

    assert states(lock) == {"legacy": "v1.0.0"}
    assert provided(lock) == {"other": "v1.0.0 ../platform"}
    assert lock.provided[named("other")].replaces == (named("old"),)
    assert lock.packages[named("legacy")].detached == (
        f"it needs {named('old')}, which the cluster knows as {named('other')}",
    )
    assert check_closure(lock) == []


def test_behind_an_alias_a_dependant_of_the_old_source_stays_attached() -> None:
    catalog = FakeCatalog({**PACKAGES, "user v1.0.0": {"old": "^1"}, "second v1.0.0": {"other": "*"}})
    there = platform("user v1.0.0", catalog=catalog)
    there.lock("user v1.0.0", "other", moves=(move("old", "other"),))

    lock = using(there, catalog=catalog).lock("legacy v1.0.0", "second v1.0.0")

    assert there.current.packages[named("other")].installed_as == named("old")
    assert lock.provided[named("other")].installed_as == named("old")
    assert detached(lock) == {"second"}


def test_a_root_for_what_was_replaced_there_is_refused() -> None:
    there = platform("old v1.0.0")
    there.lock("other", moves=(move("old", "other"),))

    with pytest.raises(BelongsElsewhere) as caught:
        using(there).lock("old v1.0.0")

    assert caught.value.why[0] == (
        f"old.yaml asks for {named('old')}; the lock of ../platform has replaced it by {named('other')}"
    )


def test_a_digest_is_satisfied_by_a_tag_that_carries_it_and_detaches() -> None:
    packages = {**PACKAGES, "exact v1.0.0": {"base": digest_of("base v1.0.0")}}

    lock = using(platform("base v1.0.0"), catalog=FakeCatalog(packages)).lock("exact v1.0.0")

    assert provided(lock) == {"base": "v1.0.0 ../platform"}
    assert detached(lock) == {"exact"}


def test_a_package_that_a_used_folder_provides_now_is_dropped_at_once() -> None:
    app = Story(FakeCatalog(PACKAGES))
    app.lock("app v1.0.0", "base v1.1.0")
    use(app, platform("base v1.0.0"))

    lock = app.lock("app v1.0.0")

    assert states(lock) == {"app": "v1.0.0"}
    assert provided(lock) == {"base": "v1.0.0 ../platform"}


def test_a_package_that_a_used_folder_calls_otherwise_is_not_dropped() -> None:
    app = Story(FakeCatalog(PACKAGES))
    app.lock("app v1.0.0", wish("base v1.1.0", name="my-base", kind=Kind.CONFIGURATION))
    use(app, platform("base v1.0.0"))

    with pytest.raises(OtherName) as caught:
        app.lock("app v1.0.0")

    assert caught.value.what == f"{named('base')} is installed as my-base, and ../platform calls it acme-base"
    assert caught.value.next == ("name it my-base in ../platform",)


def test_an_orphan_keeps_what_it_needs_of_others() -> None:
    app = Story(FakeCatalog(PACKAGES))
    app.lock("app v1.0.0", "other")
    use(app, platform("base v1.0.0"))

    lock = app.lock("other")

    assert states(lock) == {"app": "v1.0.0 orphaned", "other": "v1.0.0"}
    assert provided(lock) == {"base": "v1.0.0 ../platform"}
    assert check_closure(lock) == []


def test_an_orphan_whose_constraint_does_not_hold_any_more_has_to_be_retired_first() -> None:
    app = Story(FakeCatalog(PACKAGES))
    app.lock("app v1.0.0", "other")
    use(app, platform("base v2.0.0"))

    with pytest.raises(LosesProvided) as caught:
        app.lock("other")

    assert caught.value.exit_code == 4
    assert caught.value.why == (
        f"{named('app')} v1.0.0 accepts ^1 of {named('base')}; ../platform provides v2.0.0",
    )


def test_what_is_about_to_be_dropped_there_cannot_be_relied_on() -> None:
    there = platform("base v1.0.0", "other")
    there.lock("other")
    released = replace(there.current.packages[named("base")], released=True)
    there.current = replace(there.current, packages={**there.current.packages, named("base"): released})

    with pytest.raises(LosesProvided, match=r"\.\./platform is about to drop it"):
        using(there).lock("app v1.0.0")


def test_a_name_that_another_folder_has_taken_is_refused() -> None:
    elsewhere = "registry.example/acme/base"
    catalog = FakeCatalog({**PACKAGES, f"{elsewhere} v1.0.0": {}})

    with pytest.raises(NameTaken) as caught:
        using(platform("base v1.0.0"), catalog=catalog).lock(f"{elsewhere} v1.0.0")

    assert f"{named('base')} v1.0.0 has it in ../platform" in caught.value.why


def test_a_name_that_another_folder_has_switched_off_is_taken_too() -> None:
    elsewhere = "registry.example/acme/old"
    catalog = FakeCatalog({**PACKAGES, f"{elsewhere} v1.0.0": {}})
    there = platform("old v1.0.0", catalog=catalog)
    there.lock("other", moves=(move("old", "other"),))

    with pytest.raises(NameTaken, match="would be one Configuration named acme-old"):
        using(there, catalog=catalog).lock(f"{elsewhere} v1.0.0")


def test_what_another_folder_takes_over_is_no_handover_but_may_have_a_rival() -> None:
    objects = {name: ["CustomResourceDefinition tables.acme.example"] for name in ("base", "solo")}
    catalog = FakeCatalog(PACKAGES, objects=objects)
    app = Story(catalog)
    app.lock("base v1.0.0")
    use(app, platform("base v1.0.0", catalog=catalog))

    with pytest.raises(RivalPackages):
        app.lock("solo")


def test_a_claim_on_what_another_folder_provides_has_no_effect() -> None:
    packages: Packages = {**PACKAGES, "fork v1.0.0": {}}
    catalog = FakeCatalog(packages, replaces={"fork": ["base"]})
    app = using(platform("base v1.0.0"), catalog=catalog)

    lock = app.lock("app v1.0.0", "fork v1.0.0")

    assert provided(lock) == {"base": "v1.0.0 ../platform"}
    assert app.notes == (
        f"{named('fork')} says that it replaces {named('base')}, without effect: ../platform provides that one",
    )


def test_a_move_of_what_another_folder_provides_belongs_there() -> None:
    app = using(platform("base v1.0.0"))

    with pytest.raises(BelongsElsewhere, match=r"moves here, and \.\./platform provides it") as caught:
        app.lock("app v1.0.0", "other", moves=(move("base", "other"),))

    assert caught.value.next == ("make the move where the package is: in ../platform",)


def test_what_has_moved_here_cannot_be_provided_by_another_folder() -> None:
    app = Story(FakeCatalog(PACKAGES))
    app.lock("old v1.0.0")
    app.lock("other", moves=(move("old", "other"),))
    use(app, platform("old v1.0.0"))

    with pytest.raises(BelongsElsewhere) as caught:
        app.lock("other", moves=())

    assert caught.value.why == (f"the lock has replaced it by {named('other')}",)


def test_a_move_that_was_taken_back_there_is_taken_back_here() -> None:
    there = platform("old v1.0.0", "solo")
    app = using(there)
    app.lock("legacy v1.0.0")
    there.lock("other", "solo", moves=(move("old", "other"),))
    forth = use(app, there).lock("legacy v1.0.0")
    there.lock("old", "solo", moves=(move("other", "old"),))

    back = use(app, there).lock("legacy v1.0.0")

    assert (provided(forth), detached(forth)) == ({"other": "v1.0.0 ../platform"}, {"legacy"})
    assert (provided(back), detached(back)) == ({"old": "v1.0.0 ../platform"}, set())


def test_a_move_to_what_another_folder_provides_serves_who_needs_the_old_source() -> None:
    app = using(platform("other"))

    lock = app.lock("legacy v1.0.0", moves=(move("old", "other"),))

    assert states(lock) == {"legacy": "v1.0.0"}
    assert lock.provided[named("other")].replaces == (named("old"),)
    assert detached(lock) == {"legacy"}
    assert (check_closure(lock), still_current(app)) == ([], True)


def test_what_moves_to_a_package_of_another_folder_is_switched_off_here_for_good() -> None:
    app = Story(FakeCatalog(PACKAGES))
    app.lock("old v1.0.0", "net")
    use(app, platform("other"))

    first = app.lock("net", moves=(move("old", "other"),))
    second = app.lock("net", moves=())

    assert states(first) == states(second) == {"net": "v1.0.0", "old": "v1.0.0 deactivated"}
    assert provided(first) == provided(second) == {"other": "v1.0.0 ../platform"}
    assert check_closure(second) == []


def test_what_has_moved_to_a_package_of_another_folder_comes_back_once_that_is_gone() -> None:
    app = Story(FakeCatalog(PACKAGES))
    app.lock("old v1.0.0", "net")
    use(app, platform("other"))
    app.lock("net", moves=(move("old", "other"),))
    use(app, platform("solo"))

    lock = app.lock("net", "old", moves=(move("other", "old"),))

    assert states(lock) == {"net": "v1.0.0", "old": "v1.0.0"}


@pytest.mark.parametrize("strategy", ["alias", "repoint"])
def test_an_object_here_cannot_become_one_in_another_folder(strategy: str) -> None:
    app = Story(FakeCatalog(PACKAGES))
    app.lock("old v1.0.0", "net")
    use(app, platform("other"))

    with pytest.raises(ImpossibleMove) as caught:
        app.lock("net", moves=(move("old", "other", strategy=strategy),))

    assert (
        f"{named('other')} is in ../platform, and an object here cannot become one there" in caught.value.why
    )


def test_an_object_that_goes_on_in_another_folder_is_dropped_and_not_switched_off() -> None:
    elsewhere = "registry.example/acme/old"
    catalog = FakeCatalog({**PACKAGES, f"{elsewhere} v2.0.0": {}})
    app = Story(catalog)
    app.lock("old v1.0.0", "net")
    use(app, platform(elsewhere, catalog=catalog))

    lock = app.lock("net", moves=(move("old", elsewhere),))

    assert states(lock) == {"net": "v1.0.0"}


def test_under_another_name_it_is_switched_off_although_crossplane_would_give_both_one_name() -> None:
    elsewhere = "registry.example/acme/old"
    catalog = FakeCatalog({**PACKAGES, f"{elsewhere} v2.0.0": {}})
    app = Story(catalog)
    app.lock(wish("old v1.0.0", name="my-old", kind=Kind.CONFIGURATION), "net")
    use(app, platform(elsewhere, catalog=catalog))

    lock = app.lock("net", moves=(move("old", elsewhere),))

    assert states(lock) == {"net": "v1.0.0", "old": "v1.0.0 deactivated"}


def test_a_successor_that_its_folder_no_longer_has_is_missed() -> None:
    app = Story(FakeCatalog(PACKAGES))
    app.lock("old v1.0.0", "net")
    use(app, platform("other"))
    app.lock("net", moves=(move("old", "other"),))
    use(app, platform("solo"))

    with pytest.raises(LosesProvided) as caught:
        app.lock("net", moves=())

    assert caught.value.why == (
        f"{named('old')} is deactivated for {named('other')}, which is neither here nor provided",
    )


def test_a_lock_stays_while_the_folders_that_it_uses_stay() -> None:
    app = using(platform("base v1.0.0"))
    app.lock("app v1.0.0")

    use(app, platform("base v1.0.0", "other"))

    assert still_current(app)


@pytest.mark.parametrize(
    ("there", "change"),
    [
        (("base v1.1.0",), "../platform provides xpkg.example.org/acme/base v1.1.0, and not v1.0.0"),
        (("other",), "../platform no longer provides xpkg.example.org/acme/base"),
        (("base v1.0.0", "app v1.0.0"), "../platform provides xpkg.example.org/acme/app"),
    ],
)
def test_a_lock_is_out_of_date_once_others_provide_something_else(
    there: tuple[str, ...], change: str
) -> None:
    app = using(platform("base v1.0.0"))
    app.lock("app v1.0.0")

    use(app, platform(*there))

    assert compare_provided(app.current, app.around) == [change]
    assert not still_current(app)


def test_a_lock_is_out_of_date_once_what_it_needs_is_to_be_dropped_there() -> None:
    there = platform("base v1.0.0")
    app = using(there)
    app.lock("app v1.0.0")

    there.lock("solo")
    released = replace(there.current.packages[named("base")], released=True)
    there.current = replace(there.current, packages={**there.current.packages, named("base"): released})
    use(app, there)

    assert compare_provided(app.current, app.around) == [f"../platform is about to drop {named('base')}"]


def test_a_lock_is_out_of_date_once_another_folder_has_one_of_its_names() -> None:
    elsewhere = "registry.example/acme/app"
    catalog = FakeCatalog({**PACKAGES, f"{elsewhere} v1.0.0": {}})
    app = Story(catalog)
    app.lock("app v1.0.0")

    use(app, platform(elsewhere, catalog=catalog))

    assert compare_provided(app.current, app.around) == ["../platform has a Configuration acme-app"]


def test_what_is_dropped_is_told_unless_the_record_tells_it() -> None:
    app = Story(FakeCatalog(PACKAGES))
    app.lock("app v1.0.0", "solo")
    use(app, platform("base v1.0.0", "solo"))

    app.lock("app v1.0.0")

    assert app.notes == tuple(
        f"{named(name)} is dropped here; ../platform provides it from now on" for name in ("net", "solo")
    )


def test_other_bytes_behind_the_same_version_are_a_change() -> None:
    app = using(platform("base v1.0.0"))
    app.lock("app v1.0.0")
    moved_tag = FakeCatalog(PACKAGES, digests={"base v1.0.0": digest_of("something else")})

    use(app, platform("base v1.0.0", catalog=moved_tag))

    assert compare_provided(app.current, app.around) == [
        f"../platform provides {named('base')} with another digest"
    ]


def test_a_move_there_of_what_is_locked_here_makes_the_lock_out_of_date() -> None:
    there = platform("other")
    app = using(there)
    app.lock("legacy v1.0.0")

    there.lock("other", "legacy v1.0.0", moves=(move("old", "other"),))
    use(app, there)

    assert compare_provided(app.current, app.around) == [
        f"../platform provides {named('legacy')}",
        f"the lock of ../platform has replaced {named('old')}",
    ]
