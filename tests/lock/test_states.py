"""States and moves of a lock fit together, also after a hand or a merge has been at them."""

from dataclasses import replace

import pytest
from rig.builders.locks import deactivated, lock, package, provided, replaced, rich_lock, source

from render.lock.freshness import check_closure, check_states
from render.lock.graph import LockGraph
from render.lock.model import Lock, LockedPackage, State

ACME = "xpkg.example.org/acme"


def problems(made: Lock) -> list[str]:
    return check_states(LockGraph(made))


def test_a_lock_with_a_bit_of_everything_has_no_problems() -> None:
    assert problems(rich_lock()) == []
    assert problems(Lock()) == []


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        (package("net v1.0.0", released=True), "is released, but it is not leaving"),
        (package("net v1.0.0", stale_entry=("old",)), "has a staleEntry, but it is not detached"),
        (
            package("net v1.0.0", installed_as=source("old")),
            f"is installedAs {ACME}/old, but it does not replace that as an alias",
        ),
        (
            package("net v1.0.0", installed_as=source("old"), replaces=(replaced("old", "repoint"),)),
            f"is installedAs {ACME}/old, but it does not replace that as an alias",
        ),
        (
            package("net v1.0.0", installed_as=source("old"), replaces=(replaced("other", "alias"),)),
            f"is installedAs {ACME}/old, but it does not replace that as an alias",
        ),
        (
            package("net v1.0.0", state=State.ORPHANED, root=">=v1"),
            "is orphaned, but it is asked for: >=v1",
        ),
    ],
)
def test_a_package_whose_fields_contradict_each_other_is_told(item: LockedPackage, problem: str) -> None:
    assert problems(lock([item])) == [f"{ACME}/net {problem}"]


@pytest.mark.parametrize(
    "item",
    [
        package("net v1.0.0", state=State.ORPHANED, released=True),
        package("net v1.0.0", detached=("a",), stale_entry=("old",)),
        package("net v1.0.0", installed_as=source("old"), replaces=(replaced("old", "alias"),)),
        # An alias that has moved on: the object names the first source, and both were replaced.
        package(
            "net v1.0.0",
            installed_as=source("old"),
            replaces=(replaced("middle", "alias"), replaced("old", "alias")),
        ),
    ],
)
def test_the_same_fields_in_their_place_are_fine(item: LockedPackage) -> None:
    assert problems(lock([item])) == []


def test_what_a_wanted_package_needs_is_not_orphaned() -> None:
    net = package("net v1.0.0", state=State.ORPHANED)
    mesh = package("mesh v1.0.0", "net *", state=State.ORPHANED)

    needed = lock([package("app v1.0.0", "net *"), mesh, net])

    assert problems(needed) == [f"{ACME}/net is orphaned, but {ACME}/app needs it"]
    assert problems(lock([mesh, net])) == []


def test_what_was_replaced_is_no_longer_active() -> None:
    new = package("net v1.0.0", replaces=(replaced("old"),))

    assert problems(lock([new, package("old v1.0.0")])) == [
        f"{ACME}/old is active, but it is replaced by {ACME}/net (deactivate)"
    ]
    # What an orphan once replaced may have returned.
    assert problems(lock([replace(new, state=State.ORPHANED), package("old v1.0.0")])) == []
    # Other folders may have replaced what is needed here.
    other = provided("dns v1.0.0", replaces=(source("old"),))
    assert problems(lock([package("old v1.0.0")], provided=[other])) == []


@pytest.mark.parametrize(
    ("one", "other", "contradict"),
    [
        ("deactivate", "deactivate", False),
        ("plain", "plain", False),
        ("deactivate", "plain", True),
        ("alias", "repoint", True),
        # One object can be only one of them.
        ("repoint", "repoint", True),
        ("alias", "alias", True),
    ],
)
def test_a_source_is_replaced_in_one_way(one: str, other: str, contradict: bool) -> None:
    made = lock(
        [
            package(f"{name} v1.0.0", replaces=(replaced("old", strategy),))
            for name, strategy in (("a", one), ("b", other))
        ]
    )

    problem = f"{ACME}/old is replaced in two ways: by {ACME}/a ({one}) and by {ACME}/b ({other})"
    assert problems(made) == ([problem] if contradict else [])


def switched_off(*successors: str) -> Lock:
    new = [package(f"{name} v1.0.0", replaces=(replaced("old"),)) for name in ("a", "b")]
    return lock(new, deactivated=[deactivated("old v1.0.0", *successors)])


def test_what_is_switched_off_names_all_of_its_successors() -> None:
    assert problems(switched_off("a", "b")) == []
    assert problems(switched_off("b")) == [f"{ACME}/a replaces {ACME}/old, whose replacedBy does not say so"]
    assert problems(switched_off("a", "b", "c")) == [
        f"{ACME}/old is replacedBy {ACME}/c, which does not replace it"
    ]


def test_what_is_switched_off_without_a_successor_makes_a_lock_stale() -> None:
    alone = replace(switched_off("a"), packages={})

    assert check_closure(alone) == [f"{ACME}/old is replacedBy {ACME}/a, which does not replace it"]


def test_a_successor_in_another_folder_counts() -> None:
    other = provided("a v1.0.0", replaces=(source("old"),))

    assert problems(lock([], deactivated=[deactivated("old v1.0.0", "a")], provided=[other])) == []
