"""Random folders whose packages move, leave and come back: nothing is lost, doubled, renamed or taken over unasked.

Every step is one edit, one lock on top of the last one and one sync. What must hold is judged by the rendered objects,
by what packages say of themselves, and by a cluster in memory; never by the code that decided it.
"""

import random
from collections import Counter

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from rig.cluster.cluster import Cluster
from rig.edits.folders import EDITS, Life, ask, make_world, switch_guard
from rig.edits.invariants import Watch
from rig.properties import examples

from render.moves import Strategy

pytestmark = pytest.mark.property

BOTH = pytest.mark.parametrize("crossplane", ["v2.3.4", "v2.4.0"])
STRATEGIES = frozenset(map(str, Strategy))


def live(
    chance: random.Random,
    crossplane: str,
    *,
    steps: int,
    seed: int,
    guard: bool = False,
    lazy: bool = False,
    **cluster: bool,
) -> Counter[str]:
    """Make some edits; return how often each strategy was chosen, and how often each error was raised."""
    # Crossplane's resolver may install a new dependency before the next apply does.
    steady = chance.random() < 0.5
    world = make_world(chance, steady=steady)
    life = Life.begin(world, crossplane)
    watch = Watch(life, Cluster(world, crossplane=crossplane, seed=seed, in_order=not steady, **cluster))
    happened: Counter[str] = Counter()
    synced, retires = True, False
    for _ in range(steps):
        before = strategies(life)
        # A released package is often dropped in the next step.
        often = 0.6 if retires else 0.25
        retires = bool(life.lock.packages) and chance.random() < often and synced
        edits = (*EDITS, switch_guard) if guard else EDITS
        edit = chance.choice(edits) if life.lock.packages else ask
        error = life.retire(chance) if retires else life.edit(edit, chance)
        if error is not None:
            happened[type(error).__name__] += 1
            continue
        if life.lock.packages or life.lock.deactivated:
            synced = not lazy or retires or chance.random() < 0.5
            watch.look(retired=retires, sync=synced)
        happened.update(strategies(life) - before)
    return happened


def strategies(life: Life) -> Counter[str]:
    replaced = [(source, one) for source, package in life.lock.packages.items() for one in package.replaces]
    return Counter(str(one.strategy) for _, one in replaced)


@BOTH
@examples(120, derandomize=True)
@given(st.integers(0, 2**32), st.booleans())
def test_packages_move_and_leave_without_any_damage(crossplane: str, seed: int, keeps_fields: bool) -> None:
    happened = live(
        random.Random(seed), crossplane, steps=9, seed=seed, keeps_fields=keeps_fields, slow_deletion=True
    )

    for name in happened:
        event(name)


@BOTH
@examples(60, derandomize=True)
@given(st.integers(0, 2**32))
def test_a_cluster_may_miss_some_of_the_locks(crossplane: str, seed: int) -> None:
    live(random.Random(seed), crossplane, steps=9, seed=seed, lazy=True, slow_deletion=True)


@BOTH
@examples(60, derandomize=True)
@given(st.integers(0, 2**32))
def test_without_guards_a_deactivated_package_stays_all_the_same(crossplane: str, seed: int) -> None:
    live(random.Random(seed), crossplane, steps=9, seed=seed, guard=True)


def test_most_of_these_folders_move_packages_and_in_every_way() -> None:
    lives = [live(random.Random(seed), "v2.3.4", steps=9, seed=seed) for seed in range(60)]

    moved = [happened.keys() & STRATEGIES for happened in lives]
    assert sum(map(bool, moved)) > 40
    for strategy in STRATEGIES:
        assert sum(strategy in ways for ways in moved) > 6, strategy
