"""What became of every package between two locks."""

from rig.builders.catalogs import FakeCatalog, named, short
from rig.builders.lock_story import Story, move
from rig.builders.locks import digest, lock, package, provided

from render.lock.changes import Changes, find_changes
from render.lock.model import KeptPin, Lock, LockedPackage, State
from render.moves import Consent, Strategy
from render.packages import Kind
from render.settings import PinMode

PROVIDERS = ("old", "new", "more", "newest", "claimer")


def story() -> Story:
    """Return a project in a world where old can be replaced, and app and lib depend on things."""
    catalog = FakeCatalog(
        {
            "old v1.0.0": {},
            "old v1.1.0": {},
            "new v2.0.0": {},
            "more v2.0.0": {},
            "newest v3.0.0": {},
            "claimer v1.0.0": {},
            "lib v1.0.0": {},
            "app v1.0.0": {"old": ">=1.0.0"},
            "tool v1.0.0": {"lib": "*"},
        },
        kinds=dict.fromkeys(PROVIDERS, Kind.PROVIDER),
        replaces={"claimer": ["old"]},
    )
    return Story(catalog)


def told(changes: Changes) -> dict[str, list[str]]:
    """Return what became of which packages, by short names; only what happened."""
    pairs = {"updated": changes.updated, "returned": changes.returned}
    singles = {
        "added": changes.added,
        "off": changes.deactivated,
        "leaving": changes.leaving,
        "released": changes.released,
        "removed": changes.removed,
        "detached": changes.detached,
        "attached": changes.attached,
        "unpinned": [unpinned.package for unpinned in changes.unpinned],
        "held": [held.package for held in changes.held],
    }
    found = {word: [_short(one) for one in packages] for word, packages in singles.items()}
    found |= {word: [_short(new) for _, new in each] for word, each in pairs.items()}
    found["moved"] = [
        f"{short(one.replaced.source)} to {' '.join(map(_short, one.targets))} by {one.replaced.strategy}"
        for one in changes.moved
    ]
    return {word: names for word, names in found.items() if names}


def _short(one: LockedPackage) -> str:
    return short(one.cluster_source if one.state is State.DEACTIVATED else one.source)


def test_nothing_became_of_what_is_the_same() -> None:
    found = story().lock("app", "tool")

    changes = find_changes(found, found)

    assert (told(changes), changes.touched()) == ({}, set())


def test_what_comes_and_what_nobody_needs_any_more() -> None:
    project = story()
    before = project.lock("tool")

    after = project.lock("old v1.0.0")

    changes = find_changes(before, after)
    assert told(changes) == {"added": ["old"], "leaving": ["lib", "tool"]}
    assert changes.touched() == {named("old"), named("lib"), named("tool")}


def test_what_is_wanted_again_has_returned() -> None:
    project = story()
    project.lock("tool")
    before = project.lock("old")

    assert told(find_changes(before, project.lock("old", "tool"))) == {"returned": ["lib", "tool"]}


def test_without_a_guard_what_nobody_needs_is_gone() -> None:
    project = story()
    before = project.lock("tool", "old", guard=False)

    assert told(find_changes(before, project.lock("old"))) == {"removed": ["lib", "tool"]}


def test_an_alias_has_moved_and_nothing_else() -> None:
    project = story()
    before = project.lock("app", "old v1.0.0")

    changes = find_changes(before, project.lock("app", "new", moves=(move("old", "new"),)))

    (moved,) = changes.moved
    assert told(changes) == {"moved": ["old to new by alias"]}
    assert (moved.old and moved.old.version, moved.earlier) == ("v1.0.0", None)
    assert changes.touched() == {named("new")}


def test_of_a_move_that_goes_on_only_its_last_step_is_told() -> None:
    project = story()
    project.lock("app", "old")
    before = project.lock("app", "new", moves=(move("old", "new"),))

    after = project.lock("app", "newest", moves=(move("old", "new"), move("new", "newest")))

    assert after.packages[named("newest")].installed_as == named("old")
    assert told(find_changes(before, after)) == {"moved": ["new to newest by alias"]}


def test_an_alias_that_is_switched_off_for_another_package_is_told_by_its_real_source() -> None:
    project = story()
    project.lock("app", "old")
    before = project.lock("app", "new", moves=(move("old", "new"),))

    moves = (move("old", "new"), move("new", "newest", strategy="deactivate"))
    changes = find_changes(before, project.lock("app", "newest", moves=moves))

    assert told(changes) == {
        "added": ["newest"],
        "moved": ["new to newest by deactivate"],
        "off": ["old"],
        "detached": ["app"],
    }


def test_a_successor_that_moves_on_is_told_alone() -> None:
    project = story()
    project.lock("old")
    before = project.lock("new", moves=(move("old", "new"),))

    changes = find_changes(before, project.lock("newest", moves=(move("old", "new"), move("new", "newest"))))

    assert told(changes) == {"added": ["newest"], "moved": ["new to newest by deactivate"], "off": ["new"]}


def test_one_more_successor_is_told() -> None:
    project = story()
    project.lock("old")
    before = project.lock("new", moves=(move("old", "new"),))

    changes = find_changes(before, project.lock("new", "more", moves=(move("old", "new", "more"),)))

    assert told(changes) == {"added": ["more"], "moved": ["old to more new by deactivate"]}


def test_an_alias_that_ends_is_told_with_what_it_was() -> None:
    project = story()
    project.lock("app", "old", guard=False)
    before = project.lock("app", "new", moves=(move("old", "new"),))

    ended = project.lock("new", moves=(move("old", "new", strategy="deactivate"),))

    changes = find_changes(before, ended)

    assert told(changes) == {
        "added": ["new"],
        "moved": ["old to new by deactivate"],
        "off": ["old"],
        "removed": ["app"],
    }
    assert changes.moved[0].earlier is Strategy.ALIAS


def test_a_deactivation_adds_the_new_one_and_switches_the_old_one_off() -> None:
    project = story()
    before = project.lock("old")

    changes = find_changes(before, project.lock("new", "more", moves=(move("old", "new", "more"),)))

    assert told(changes) == {
        "added": ["more", "new"],
        "moved": ["old to more new by deactivate"],
        "off": ["old"],
    }


def test_a_move_that_is_undone_brings_the_old_one_back() -> None:
    project = story()
    project.lock("old")
    before = project.lock("new", moves=(move("old", "new"),))

    changes = find_changes(before, project.lock("old", moves=(move("new", "old"),)))

    assert told(changes) == {"moved": ["new to old by deactivate"], "off": ["new"], "returned": ["old"]}


def test_a_claim_is_told_as_one() -> None:
    project = story()
    before = project.lock("old")

    (moved,) = find_changes(before, project.lock("claimer")).moved

    assert (moved.replaced.consent, moved.replaced.strategy) == (Consent.CLAIM, Strategy.DEACTIVATE)


def test_what_was_never_installed_moves_without_a_version() -> None:
    changes = find_changes(Lock(), story().lock("app", moves=(move("old", "new"),)))

    assert told(changes) == {
        "added": ["app", "new"],
        "moved": ["old to new by plain"],
        "detached": ["app"],
    }
    assert changes.moved[0].old is None


def test_the_first_step_of_retiring_is_told_once() -> None:
    before = lock([package("app v1.0.0", state=State.ORPHANED)])
    after = lock([package("app v1.0.0", state=State.ORPHANED, released=True)])

    assert told(find_changes(before, after)) == {"released": ["app"]}
    assert told(find_changes(after, after)) == {}


def test_being_attached_again_is_told() -> None:
    before = lock([package("app v1.0.0", detached=("it needs net",))])

    assert told(find_changes(before, lock([package("app v1.0.0")]))) == {"attached": ["app"]}


def test_pins_that_go_with_the_way_of_pinning_are_told_and_others_are_not() -> None:
    project = story()
    first = project.lock("old v1.0.0")
    second = project.lock("old v1.1.0")

    changes = find_changes(second, project.lock("old v1.1.0", pin=PinMode.TAG))

    (unpinned,) = changes.unpinned
    assert [pin.tag for pin in unpinned.pins] == ["v1.0.0"]
    assert told(find_changes(first, second)) == {"updated": ["old"]}


def test_a_pin_that_became_the_package_itself_is_not_gone() -> None:
    kept = (KeptPin("v1.0.0", digest("1a0a0")),)
    before = lock([package(f"app {digest('ab')}", kept_pins=kept)])

    assert told(find_changes(before, lock([package("app v1.0.0")]))) == {"updated": ["app"]}


def test_a_version_is_held_while_a_stale_entry_names_it_and_in_the_lock_that_ends_it() -> None:
    entry = {"detached": ("it needs net",), "stale_entry": (str(named("net")),)}
    stale = lock([package("app v1.0.0", "net *", **entry), package("net v1.0.0", object_name="my-net")])
    upgraded = lock(
        [
            package("app v2.0.0", "net *", detached=("it needs net",)),
            package("net v1.0.0", object_name="my-net"),
        ]
    )

    still, last, free = (
        find_changes(before, after).held
        for before, after in ((stale, stale), (stale, upgraded), (upgraded, upgraded))
    )

    assert [(held.package.source, [one.source for one in held.holders]) for held in still] == [
        (named("net"), [named("app")])
    ]
    assert [(held.package.source, held.holders) for held in last] == [(named("net"), ())]
    assert free == []


def test_a_version_under_a_derived_name_is_never_held() -> None:
    entry = {"detached": ("it needs net",), "stale_entry": (str(named("net")),)}
    stale = lock([package("app v1.0.0", "net *", **entry), package("net v1.0.0")])

    assert find_changes(stale, stale).held == []


def test_what_other_folders_provide_is_told_when_it_changes() -> None:
    app = package("app v1.0.0", "dns *")
    none, one, two = (
        lock([app], provided=[provided(text)] if text else []) for text in ("", "dns v1.0.0", "dns v1.1.0")
    )

    assert [
        [(old and old.version, new.version) for old, new in find_changes(before, after).provided]
        for before, after in ((none, one), (one, two), (two, two))
    ] == [[(None, "v1.0.0")], [("v1.0.0", "v1.1.0")], []]


def test_what_another_folder_takes_over_is_told_once() -> None:
    before = lock([package("app v1.0.0", "dns *"), package("dns v1.0.0")])
    after = lock([package("app v1.0.0", "dns *")], provided=[provided("dns v1.0.0")])

    changes = find_changes(before, after)

    assert (told(changes), changes.provided) == ({"removed": ["dns"]}, [])


def test_an_object_that_changes_hands_without_a_record_is_told_as_both() -> None:
    before = lock([package("old v1.0.0", object_name="same")])
    after = lock([package("new v2.0.0", object_name="same")])

    assert told(find_changes(before, after)) == {"removed": ["old"], "added": ["new"]}
