"""Merging two branches whose packages moved or left: the union of both, or a contradiction that shows both sides."""

import subprocess
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.builders.locks import deactivated, digest, lock, package, provided, replaced, source
from rig.builders.random_locks import any_locks
from rig.properties import examples

from render.errors import RenderError
from render.limits import Limits
from render.lock.merge import ContradictingLocks, MergedLock, merge_sides
from render.lock.model import KeptPin, Lock, LockedPackage, Provided, State, pin_places
from render.lock.text.format import format_lock
from render.lock.text.parse import DoubledLock, parse_lock
from render.references import Source

ACME = "xpkg.example.org/acme"
PLACE = "crossplane.lock.yaml"


def merge(ours: Lock, theirs: Lock) -> MergedLock:
    """Merge two locks of which Git found nothing alike."""
    data = f"<<<<<<< HEAD\n{format_lock(ours)}=======\n{format_lock(theirs)}>>>>>>> theirs\n"
    return merge_sides(data.encode(), Limits(), place=PLACE)


def merged(ours: Lock, theirs: Lock) -> Lock:
    """Merge two locks, in either order to the same end."""
    made, turned = merge(ours, theirs).lock, merge(theirs, ours).lock
    assert made == turned
    return made


def contradiction(ours: Lock, theirs: Lock) -> tuple[str, ...]:
    """Return why two locks cannot be put together, in whatever order."""
    why = []
    for sides in ((ours, theirs), (theirs, ours)):
        with pytest.raises(ContradictingLocks) as caught:
            merge(*sides)
        why.append(caught.value.why)
    assert why[0] == why[1]
    assert caught.value.exit_code == 4
    return why[0]


def one(item: LockedPackage) -> Lock:
    return Lock({item.source: item})


def git_merge(folder: Path, ours: Lock, base: Lock, theirs: Lock) -> bytes:
    names = ("ours", "base", "theirs")
    for name, made in zip(names, (ours, base, theirs), strict=True):
        (folder / name).write_text(format_lock(made))
    command = ["git", "merge-file", "-p", *names]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).stdout


# Packages that are leaving.

ORPHAN = package("mesh v1.0.0", state=State.ORPHANED)
NET = package("net v1.0.0", replaces=(replaced("old"),))
OFF = deactivated("old v1.0.0", "net")


def test_what_either_branch_lets_go_of_stays_until_it_is_retired(tmp_path: Path) -> None:
    base = [package("app v1.0.0"), replace(ORPHAN, state=State.WANTED), package("old v1.0.0")]
    ours = lock([package("app v1.1.0"), ORPHAN, base[2]])
    theirs = lock([package("app v1.2.0"), base[1], NET], deactivated=[OFF])

    data = git_merge(tmp_path, ours, lock(base), theirs)

    made = merge_sides(data, Limits(), place=PLACE).lock
    assert b"<<<<<<< " in data
    assert {item.source.name: item.state for item in made.installed()} == {
        "app": State.WANTED,
        "mesh": State.ORPHANED,
        "net": State.WANTED,
        "old": State.DEACTIVATED,
    }


def test_what_only_one_side_has_is_kept_whole() -> None:
    off = replace(OFF, released=True, kept_pins=(KeptPin("v0.9.0", digest("9")),), fields={"spec": {"a": 1}})

    made = merged(lock([NET], deactivated=[off]), lock([ORPHAN], provided=[provided("dns v1.0.0")]))

    assert made.deactivated == {source("old"): off}
    assert made.packages[source("mesh")] == ORPHAN
    assert made.packages[source("net")].replaces == NET.replaces
    assert made.provided == {source("dns"): provided("dns v1.0.0")}


@pytest.mark.parametrize(
    ("ours", "theirs", "after"),
    [
        (State.ORPHANED, State.ORPHANED, State.ORPHANED),
        (State.ORPHANED, State.WANTED, State.WANTED),
        (State.WANTED, State.WANTED, State.WANTED),
    ],
)
def test_what_one_side_still_wants_is_wanted(ours: State, theirs: State, after: State) -> None:
    made = merged(one(replace(ORPHAN, state=ours)), one(replace(ORPHAN, state=theirs)))

    assert made.packages[source("mesh")].state is after


@pytest.mark.parametrize("released", [(True, True), (True, False), (False, False)])
def test_a_guard_is_off_only_where_both_sides_took_it_off(released: tuple[bool, bool]) -> None:
    orphans = [one(replace(ORPHAN, released=flag)) for flag in released]
    off = [lock([NET], deactivated=[replace(OFF, released=flag)]) for flag in released]

    assert merged(*orphans).packages[source("mesh")].released is all(released)
    assert merged(*off).deactivated[source("old")].released is all(released)
    note = f"{ACME}/mesh: released on one side alone; its guard stays"
    assert merge(*orphans).notes == ((note,) if len(set(released)) > 1 else ())


def test_of_what_is_switched_off_in_two_versions_the_higher_stays_and_the_other_ones_pin() -> None:
    def off(version: str) -> Lock:
        return lock([NET], deactivated=[deactivated(f"old {version}", "net")])

    found = merged(off("v1.9.0"), off("v1.10.0")).deactivated[source("old")]

    assert (found.version, found.state) == ("v1.10.0", State.DEACTIVATED)
    assert [pin.tag for pin in found.kept_pins] == ["v1.9.0"]


def test_a_package_that_is_active_on_one_side_and_switched_off_on_the_other_contradicts_itself() -> None:
    assert contradiction(lock([NET], deactivated=[OFF]), lock([package("old v1.1.0")])) == (
        f"{ACME}/old is active, and also deactivated and replaced by {ACME}/net",
    )


def test_an_alias_is_active_under_the_source_that_the_cluster_knows() -> None:
    alias = package(
        "other v1.0.0",
        installed_as=source("old"),
        object_name="acme-old",
        replaces=(replaced("old", "alias"),),
    )

    assert contradiction(lock([NET], deactivated=[OFF]), lock([alias])) == (
        f"{ACME}/old is active, and also deactivated and replaced by {ACME}/net",
        f"{ACME}/old is replaced by {ACME}/net (deactivate) and also by {ACME}/other (alias)",
    )


def test_an_alias_that_is_switched_off_may_go_by_the_source_that_another_package_is_fetched_from() -> None:
    off = deactivated("new v1.0.0", "net", installed_as=source("old"), object_name="first")
    back = package("old v1.1.0", installed_as=source("elsewhere"), object_name="second")

    both = merged(Lock(deactivated={off.cluster_source: off}), one(back))

    assert [item.object_name for item in both.installed()] == ["first", "second"]


def test_two_names_of_what_is_switched_off_contradict_each_other() -> None:
    named = replace(OFF, object_name="my-old")

    assert contradiction(lock([NET], deactivated=[OFF]), lock([NET], deactivated=[named])) == (
        f"{ACME}/old is the object acme-old and also my-old",
    )


def test_one_object_of_two_packages_contradicts_itself() -> None:
    ours, theirs = (one(package(f"{name} v1.0.0", object_name="net")) for name in ("a", "b"))

    assert contradiction(ours, theirs) == (f"the Provider net is that of {ACME}/a and also of {ACME}/b",)


# Moves.


def test_moves_of_both_sides_are_known_and_the_users_consent_counts_more() -> None:
    ours = package("net v1.0.0", replaces=(replaced("a", "plain"), replaced("both", "plain", "claim")))
    theirs = package("net v1.0.0", replaces=(replaced("both", "plain"), replaced("c", "plain", "claim")))

    assert merged(one(ours), one(theirs)).packages[source("net")].replaces == (
        replaced("a", "plain"),
        replaced("both", "plain"),
        replaced("c", "plain", "claim"),
    )


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [("deactivate", "plain"), ("alias", "repoint"), ("repoint", "deactivate")],
)
def test_two_strategies_for_one_source_contradict_each_other(ours: str, theirs: str) -> None:
    sides = [one(package("net v1.0.0", replaces=(replaced("old", strategy),))) for strategy in (ours, theirs)]
    shown = sorted(f"{ACME}/net ({strategy})" for strategy in (ours, theirs))

    assert contradiction(*sides) == (f"{ACME}/old is replaced by {' and also by '.join(shown)}",)


@pytest.mark.parametrize("strategy", ["deactivate", "repoint", "plain"])
def test_two_successors_of_one_source_contradict_each_other(strategy: str) -> None:
    sides = [one(package(f"{name} v1.0.0", replaces=(replaced("old", strategy),))) for name in ("a", "b")]

    assert contradiction(*sides) == (
        f"{ACME}/old is replaced by {ACME}/a ({strategy}) and also by {ACME}/b ({strategy})",
    )


@pytest.mark.parametrize(("one_way", "other_way"), [("deactivate", "plain"), ("repoint", "repoint")])
def test_a_side_that_contradicts_itself_is_no_better_for_the_other_one(one_way: str, other_way: str) -> None:
    parts = [package("a v1.0.0", replaces=(replaced("old", one_way),))]
    both = [*parts, package("b v1.0.0", replaces=(replaced("old", other_way),))]

    assert contradiction(lock(parts), lock(both)) == (
        f"{ACME}/old is replaced by {ACME}/a ({one_way}) and also by {ACME}/b ({other_way})",
    )


def test_of_a_package_that_became_many_one_side_may_know_fewer() -> None:
    parts = [package(f"{name} v1.0.0", replaces=(replaced("old"),)) for name in ("a", "b")]
    ours = lock(parts[:1], deactivated=[deactivated("old v1.0.0", "a")])
    theirs = lock(parts, deactivated=[deactivated("old v1.0.0", "b", "a")])

    assert merged(ours, theirs).deactivated[source("old")].replaced_by == (source("a"), source("b"))


def test_packages_that_replaced_each_other_contradict_each_other() -> None:
    there = lock([NET], deactivated=[OFF])
    back = lock(
        [package("old v1.0.0", replaces=(replaced("net"),))], deactivated=[deactivated("net v1.0.0", "old")]
    )

    why = contradiction(there, back)

    assert f"packages have replaced each other: {ACME}/net -> {ACME}/old -> {ACME}/net" in why
    assert f"{ACME}/old is active, and also deactivated and replaced by {ACME}/net" in why


def test_an_alias_on_one_side_stays_whatever_the_other_locked_under_its_name() -> None:
    old = package("old v1.9.0", replaces=(replaced("first", "plain"),))
    alias = package(
        "net v1.2.0",
        installed_as=source("old"),
        object_name="acme-old",
        replaces=(replaced("old", "alias"),),
        kept_pins=(KeptPin("v1.1.0", digest("11"), source("old")),),
    )

    made = merged(one(alias), one(old))

    assert list(made.packages) == [source("net")]
    net = made.packages[source("net")]
    assert (net.version, net.installed_as, net.object_name) == ("v1.2.0", source("old"), "acme-old")
    # Its pin is for the same object, and its bytes are where they were.
    assert net.kept_pins == (*alias.kept_pins, KeptPin("v1.9.0", old.digest, source("old")))
    assert net.replaces == (replaced("first", "plain"), replaced("old", "alias"))


def test_an_object_that_one_side_repointed_is_one_object() -> None:
    old = package("old v1.9.0", object_name="net", kept_pins=(KeptPin("v1.8.0", digest("18")),))
    new = package("net v2.0.0", object_name="net", replaces=(replaced("old", "repoint"),))

    made = merged(one(new), one(old))

    assert list(made.packages) == [source("net")]
    assert made.packages[source("net")].kept_pins == (
        KeptPin("v1.9.0", old.digest, source("old")),
        KeptPin("v1.8.0", digest("18"), source("old")),
    )


def test_of_an_object_that_was_repointed_git_may_leave_the_old_source_on_both_sides() -> None:
    new = package("net v2.0.0", object_name="net", replaces=(replaced("old", "repoint"),))
    olds = [package(f"old {version}", object_name="net") for version in ("v1.8.0", "v1.9.0")]

    made = merged(lock([new, olds[0]]), lock([olds[1]]))

    assert list(made.packages) == [source("net")]
    assert [pin.tag for pin in made.packages[source("net")].kept_pins] == ["v1.9.0", "v1.8.0"]


def test_what_was_never_installed_on_one_side_may_be_on_the_other() -> None:
    plain = package("net v1.0.0", replaces=(replaced("old", "plain"),))

    made = merged(one(plain), one(package("old v1.0.0")))

    # Both are there now, and the next lock decides how one makes room for the other.
    assert set(made.packages) == {source("net"), source("old")}


def test_a_package_by_itself_and_as_an_alias_contradicts_itself() -> None:
    alias = package(
        "net v1.0.0", installed_as=source("old"), object_name="acme-old", replaces=(replaced("old", "alias"),)
    )

    assert contradiction(one(alias), one(package("net v1.0.0"))) == (
        f"{ACME}/net is installed as {ACME}/net and also as {ACME}/old",
    )


# What is left in the cluster.


def test_pins_of_whatever_either_side_may_have_running_stay() -> None:
    def side(version: str, *tags: str) -> Lock:
        pins = tuple(KeptPin(tag, package(f"net {tag}").digest) for tag in tags)
        return one(package(f"net {version}", kept_pins=pins))

    made = merged(side("v1.4.0", "v1.3.0", "v1.2.0"), side("v1.5.0", "v1.2.0", "v1.1.0"))

    net = made.packages[source("net")]
    assert net.version == "v1.5.0"
    assert [pin.tag for pin in net.kept_pins] == ["v1.2.0", "v1.1.0", "v1.4.0", "v1.3.0"]


def test_stale_entries_of_both_sides_are_known() -> None:
    ours, theirs = (
        one(package("net v1.0.0", detached=("a",), stale_entry=names)) for names in (("x", "y"), ("a", "y"))
    )

    assert merged(ours, theirs).packages[source("net")].stale_entry == ("a", "x", "y")


@pytest.mark.parametrize(
    ("other", "detached"),
    [
        # The same bytes, attached there: the cluster's Lock may have an entry for them.
        (package("net v1.1.0"), ()),
        (package("net v1.1.0", detached=("b",)), ("a",)),
        # Bytes that change take their entry along.
        (package("net v1.0.0"), ("a",)),
    ],
)
def test_a_package_counts_as_attached_if_its_bytes_were(
    other: LockedPackage, detached: tuple[str, ...]
) -> None:
    ours = package("net v1.1.0", detached=("a",))

    assert merge(one(ours), one(other)).lock.packages[source("net")].detached == detached


def test_of_what_another_folder_provides_the_higher_version_is_remembered() -> None:
    ours, theirs = (lock([], provided=[provided(f"dns {version}")]) for version in ("v1.9.0", "v1.10.0"))

    assert merged(ours, theirs).provided == theirs.provided


# What Git merges without asking.


def test_what_git_switched_off_twice_is_refused_and_can_be_read_all_the_same(tmp_path: Path) -> None:
    new = [package("net v1.0.0", replaces=(replaced("a"), replaced("b")))]
    off = {name: deactivated(f"{name} v1.0.0", "net") for name in ("a", "b")}
    base, ours, theirs = (lock(new, deactivated=[off[name] for name in names]) for names in ("a", "ab", "b"))

    data = git_merge(tmp_path, ours, base, theirs)

    assert b"<<<<<<< " not in data
    with pytest.raises(DoubledLock, match="acme/b is listed a second time"):
        parse_lock(data, Limits(), place=PLACE)
    assert merge_sides(data, Limits(), place=PLACE).lock.deactivated == {source("b"): off["b"]}


def test_what_git_left_active_and_switched_off_is_refused_with_both_shown(tmp_path: Path) -> None:
    base = lock([package("app v1.0.0"), package("zoo v1.0.0")])
    ours = lock([package("app v1.0.0"), package("old v1.0.0"), package("zoo v1.0.0")])
    theirs = lock(
        [package("app v1.0.0", replaces=(replaced("old"),)), package("zoo v1.0.0")],
        deactivated=[deactivated("old v1.0.0", "app")],
    )

    data = git_merge(tmp_path, ours, base, theirs)

    assert b"<<<<<<< " not in data
    with pytest.raises(DoubledLock, match="acme/old is listed a second time"):
        parse_lock(data, Limits(), place=PLACE)
    with pytest.raises(ContradictingLocks, match="acme/old is active, and also deactivated"):
        merge_sides(data, Limits(), place=PLACE)


@st.composite
def two_sides(draw: st.DrawFn) -> tuple[Lock, Lock]:
    """Two locks that came from one, and went their ways."""
    ours, more = draw(any_locks()), draw(any_locks())
    packages = {
        key: replace(item, version="v99.0.0", digest=digest("99"), tag=None) if draw(st.booleans()) else item
        for key, item in ours.packages.items()
        if draw(st.booleans())
    }
    off = {key: item for key, item in ours.deactivated.items() if draw(st.booleans())}
    return ours, replace(
        more,
        packages={**more.packages, **packages},
        deactivated={**more.deactivated, **off},
    )


def references(made: Lock) -> set[tuple[str, Source, str]]:
    """Return every reference that is pinned, with the object that it is for."""
    found = set()
    for item in made.installed():
        if not item.by_digest:
            found.add((item.object_name, item.cluster_source, item.version))
        found |= {(item.object_name, pin_places(item, pin)[0], pin.tag) for pin in item.kept_pins}
    return found


def known(made: Iterable[LockedPackage | Provided]) -> set[tuple[str, str]]:
    return {(item.kind, item.object_name) for item in made}


@examples(60)
@given(two_sides())
def test_whatever_two_branches_did_no_object_and_no_pin_of_either_is_lost(sides: tuple[Lock, Lock]) -> None:
    try:
        made = merge(*sides).lock
    except RenderError as error:
        # Two locks at random may well contradict each other; a lock that is no lock is nobody's fault but ours.
        assert isinstance(error, ContradictingLocks)
        return

    for side in sides:
        assert references(side) <= references(made)
        assert known(side.installed()) <= known(made.installed())
        assert {text for item in side.packages.values() for text in item.stale_entry} <= {
            text for item in made.packages.values() for text in item.stale_entry
        }
        assert side.provided.keys() <= made.provided.keys()
        assert replaced_in(side) <= replaced_in(made)


def replaced_in(made: Lock) -> set[Source]:
    return {one.source for item in made.packages.values() for one in item.replaces}
